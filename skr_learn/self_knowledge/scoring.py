"""Scoring an answer for collection: the metric E of SKR equation 4."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

from skr_core.answering import generate
from skr_core.errors import InputError, ModelError
from skr_core.flow import Flow
from skr_core.match import contains_gold, exact_match, is_right, token_f1
from skr_core.models.adapting import AnyModel, as_language_model
from skr_core.prompts.judging import ask_is_right, judge_name
from skr_core.questions import Question
from skr_core.replies.judgements import choice_match, implied_choices, parse_right
from skr_core.types import NO_USAGE, Usage

Metric = Literal["accuracy", "contains", "exact_match", "f1", "choice"]
METRICS: tuple[Metric, ...] = get_args(Metric)
"""The names of the metrics that call nothing; the first is the default."""


class Judge:
    """A metric for answers whose words differ from the gold: a model says right or wrong.

    Args:
        model: The judge, preferably another than the one that is judged.

    Attributes:
        name: Of the model and the wording, so that scores given in other words are told apart.

    Example:
        >>> from skr_core.flow import run
        >>> from skr_core.testing import ScriptedModel
        >>> judge = Judge(ScriptedModel(["Right."]))
        >>> run(judge.score("It was Ada L.", Question("1", "Who?", ("Ada",))))[0]
        1.0
    """

    def __init__(self, model: AnyModel) -> None:
        self._model = as_language_model(model)
        self.name = judge_name(self._model.name)

    def score(self, answer: str, question: Question) -> Flow[tuple[float, Usage]]:
        """Ask for one verdict.

        Args:
            answer: What was answered.
            question: With its gold answers.

        Returns:
            1 where the answer is right and 0 where it is not, and what asking cost.

        Raises:
            ModelError: The judge failed, or gave no verdict.
        """
        prompt = ask_is_right(question.question, question.gold, answer)
        reply = yield from generate(self._model, prompt)
        verdict = parse_right(reply.text)
        if verdict is None:
            raise ModelError(f"the judge said neither right nor wrong: {reply.text[:80]!r}")
        return float(verdict), reply.usage


class TextMetric:
    """A metric that compares texts, by its name.

    Args:
        name: ``accuracy``, the right option where the question has options and a gold answer
            within the answer where it has none, as evaluation measures it; ``contains`` a gold
            answer (W2R §3); ``exact_match`` (SKR §3.1); ``f1`` of words; or ``choice``, which
            compares the option chosen, also where the gold answers alone imply the options: a
            letter, true or false, yes or no.

    Raises:
        InputError: There is no such metric.

    Example:
        >>> from skr_core.flow import run
        >>> asked = Question("1", "Which river?", ("Seine",))
        >>> run(TextMetric("exact_match").score("the Seine.", asked))[0]
        1.0
        >>> run(TextMetric().score("It is the Seine.", asked))[0]
        1.0
    """

    def __init__(self, name: Metric = METRICS[0]) -> None:
        if name not in METRICS:
            raise InputError(f"no metric {name!r}: give one of {', '.join(METRICS)}, or a Judge")
        self.name: str = name
        self._measure = _MEASURES[name]

    def score(self, answer: str, question: Question) -> Flow[tuple[float, Usage]]:
        """Compare; calls nothing.

        Args:
            answer: What was answered.
            question: With its gold answers.

        Returns:
            The score, 0 to 1, and no usage.
        """
        yield from ()
        return float(self._measure(question, answer)), NO_USAGE


def _choice(question: Question, answer: str) -> bool:
    """Whether the right option is chosen; compared as text where nothing implies options."""
    if question.choices or implied_choices(question.gold):
        return choice_match(answer, question.gold, question.choices)
    return contains_gold(answer, question.gold)


_MEASURES: dict[Metric, Callable[[Question, str], bool | float]] = {
    "accuracy": is_right,
    "contains": lambda question, answer: contains_gold(answer, question.gold),
    "exact_match": lambda question, answer: exact_match(answer, question.gold),
    "f1": lambda question, answer: token_f1(answer, question.gold),
    "choice": _choice,
}
