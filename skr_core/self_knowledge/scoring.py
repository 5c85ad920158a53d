"""Scoring an answer for collection: the metric E of SKR equation 4."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal, get_args

from skr_core.answering import generate
from skr_core.errors import InputError, ModelError
from skr_core.flow import Flow
from skr_core.metrics.match import contains_gold, exact_match, token_f1
from skr_core.ports import LanguageModel
from skr_core.prompts.routing import ask_is_right
from skr_core.texts import normalise
from skr_core.types import NO_USAGE, Usage

Metric = Literal["contains", "exact_match", "f1", "choice"]
METRICS: tuple[Metric, ...] = get_args(Metric)


class Judge:
    """A metric for answers whose words differ from the gold: a model says right or wrong.

    Args:
        model: The judge, preferably another than the one that is judged.

    Example:
        >>> from skr_core.flow import run
        >>> from skr_core.testing import ScriptedModel
        >>> run(Judge(ScriptedModel(["Right."])).score("It was Ada L.", "Who?", ["Ada"]))[0]
        1.0
    """

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self.name = f"judge:{model.name}"

    def score(self, answer: str, question: str, gold: Sequence[str]) -> Flow[tuple[float, Usage]]:
        """Ask for one verdict.

        Raises:
            ModelError: The judge failed, or gave no verdict.
        """
        reply = yield from generate(self._model, ask_is_right(question, gold, answer))
        verdict = parse_right(reply.text)
        if verdict is None:
            raise ModelError(f"the judge said neither right nor wrong: {reply.text[:80]!r}")
        return float(verdict), reply.usage


class TextMetric:
    """A metric that compares texts, by its name.

    Args:
        name: ``contains`` a gold answer (W2R §3), ``exact_match`` (SKR §3.1), ``f1`` of words, or
            ``choice``, which compares the option chosen: a letter, true or false, yes or no.

    Raises:
        InputError: There is no such metric.

    Example:
        >>> from skr_core.flow import run
        >>> run(TextMetric("exact_match").score("the Seine.", "Which river?", ["Seine"]))[0]
        1.0
    """

    def __init__(self, name: Metric) -> None:
        if name not in METRICS:
            raise InputError(f"no metric {name!r}: give one of {', '.join(METRICS)}, or a Judge")
        self.name: str = name
        self._measure = _MEASURES[name]

    def score(self, answer: str, question: str, gold: Sequence[str]) -> Flow[tuple[float, Usage]]:
        """Compare; calls nothing."""
        yield from ()
        return float(self._measure(answer, gold)), NO_USAGE


def parse_right(text: str) -> bool | None:
    """A judge's verdict: its reply's first word, right or wrong; None for anything else.

    Example:
        >>> parse_right("Wrong: it was Bob.")
        False
        >>> parse_right("It may be right or wrong.") is None
        True
    """
    match = re.match(
        r"\W*(?:(right|correct)|wrong|incorrect)\b(?! ?(?:/|or\b))", text, re.IGNORECASE
    )
    return None if match is None else match.group(1) is not None


def choice(answer: str, gold: Sequence[str]) -> bool:
    """Whether the option that an answer chooses is right (SKR Table 4: options, true, yes).

    The option is looked for after the last "answer is"; an answer's later words outweigh earlier
    ones. Gold that is no option is compared as by `contains_gold`.

    Example:
        >>> choice("It is not true of 1735. So the answer is false.", ["False"])
        True
        >>> choice("(B) They grow in a field.", ["A"])
        False
    """
    options = {option for each in gold if (option := _gold_option(each))}
    if not options:
        return contains_gold(answer, gold)
    return _chosen(answer) in options


def _gold_option(gold: str) -> str | None:
    bare = normalise(gold)
    if bare in _WORDS:
        return bare
    # The article rule of `normalise` would eat the option A.
    letter = re.fullmatch(r"\W*([A-Ha-h])\W*|\(?([A-H])[).:]\s.*", gold.strip(), re.DOTALL)
    return (letter.group(1) or letter.group(2)).lower() if letter else None


def _chosen(answer: str) -> str | None:
    *_, said = _CONCLUSION.split(answer)
    alone = re.fullmatch(r"\W*([A-Ha-h])\W*", said)
    if alone:
        return alone.group(1).lower()
    found = _OPTION.findall(said) or _OPTION.findall(answer)
    return next(filter(None, found[-1])).lower() if found else None


_WORDS = {"true", "false", "yes", "no"}
_CONCLUSION = re.compile(r"\banswer(?:\s+to\s+[^.\n]{0,80}?)?\s*(?:is\b|:)", re.IGNORECASE)
_OPTION = re.compile(r"\(([A-Ha-h])\)|(?<![\w'])([A-H])[).:](?=\s|$)|\b((?i:true|false|yes|no))\b")
_MEASURES: dict[Metric, Callable[[str, Sequence[str]], bool | float]] = {
    "contains": contains_gold,
    "exact_match": exact_match,
    "f1": token_f1,
    "choice": choice,
}
