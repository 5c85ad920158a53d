"""ExtractiveModel: a language model without weights, so that everything runs out of the box."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from skr_app.extractive.evidence import Sentence, without_brackets
from skr_app.extractive.follow_up import follow_up_queries
from skr_app.extractive.loading import NAME
from skr_app.extractive.memory import Memory
from skr_app.extractive.quoting import Quotes, choose_quotes, is_sufficient, speaks_of_all
from skr_app.extractive.text import content_words
from skr_core.budget import TokenCount, count_tokens, estimate_usage
from skr_core.ports import OnToken
from skr_core.prompts.routing import ANSWER_ALONE, CERTAINTY_ALONE
from skr_core.prompts.templates import (
    INSUFFICIENT,
    MAX_QUERIES,
    QUERY_LEAD,
    REFUSAL,
    SEARCH_LEAD,
    SUFFICIENT,
)
from skr_core.types import Generation, Prompt, Reference

UNKNOWN = "I don't know."
# A statement is called certain that speaks of so much of the question; where the prompt threatens
# with punishment, or doubts the answer, of so much.
CERTAIN = 0.55
CERTAIN_THOUGH_WARNED = 0.75
_FILE_NAME = re.compile(
    r"://|\.(?:md|txt|rst|html?|pdf|jsonl?|csv|docx?|pptx?|xlsx?|py|ipynb)\Z", re.IGNORECASE
)


class ExtractiveModel:
    """A baseline that quotes instead of writing: deterministic, no download, no key, no network.

    It answers with at most four sentences of the references, each followed by its [n] marker. When
    they leave something open it says so, in the words that the prompt asks for, and asks for names
    that no reference is about.

    Without references it says what its memory holds, as far as that speaks of the question, and
    else "I don't know.". It believes its memory, which may be out of date, and says how certain it
    is by how much of the question a statement speaks of: often too certain, as models are. So
    what a model knows can be collected, calibrated and weighed without one. Use it to see the loop
    work, in tests, and as the floor that a real model has to beat.

    It reads the parts of a prompt and little of its text; demonstrations are ignored.

    Args:
        memory: Passages that hold what it knows by itself; nothing by default.
        count: Says how many tokens a text has, of which its usage is made.

    Attributes:
        name: ``extractive``, with a hash of its memory where it has one.

    Example:
        >>> from skr_core.prompts.asking import answer_directly, answer_with_references
        >>> capital = Reference.of("Paris is the capital of France.", "Paris")
        >>> prompt = answer_with_references("What is the capital of France?", [capital])
        >>> ExtractiveModel().generate(prompt).text
        'SUFFICIENT\\nParis is the capital of France. [1]'
        >>> old = ExtractiveModel([Reference.of("Bonn is the capital of Germany.", "Bonn")])
        >>> old.generate(answer_directly("What is the capital of Germany?")).text
        'Bonn is the capital of Germany.'
    """

    def __init__(
        self,
        memory: Sequence[Reference] = (),
        *,
        count: Callable[[str], TokenCount] = count_tokens,
    ) -> None:
        self._memory = Memory(memory)
        self._count = count
        self.name = f"{NAME}@{self._memory.version}" if memory else NAME

    def generate(self, prompt: Prompt, *, on_token: OnToken | None = None) -> Generation:
        """Reply to a prompt; `on_token` gets the reply word by word."""
        text = self._reply(prompt)
        if on_token is not None:
            for place, word in enumerate(text.split(" ")):
                on_token(f" {word}" if place else word)
        return Generation(text, estimate_usage(prompt, text, self._count))

    async def agenerate(self, prompt: Prompt, *, on_token: OnToken | None = None) -> Generation:
        """The same; a few milliseconds of work, and nothing to wait for."""
        return self.generate(prompt, on_token=on_token)

    def _reply(self, prompt: Prompt) -> str:
        match prompt.task:
            case "answer_with_references":
                return _stated(prompt) if prompt.states_verdict else _answer_or_refuse(prompt)
            case "answer_anyway":
                return _answer(prompt, _quotes(prompt)) or self._known(prompt)
            case "answer_directly":
                return self._known(prompt)
            case "self_complete":
                return _ask(prompt)
            case "condense":
                return prompt.question  # to rewrite it would take a language
            case "ask_certainty":
                return self._certainty(prompt)
            case "ask_need":
                known = self._memory.recall(prompt.question).text
                return "I can answer this question." if known else UNKNOWN
            case "judge":
                suffices = _suffices(prompt, _quotes(prompt))
                return "sufficient" if suffices else "insufficient: names to be looked up"
            case _:
                return UNKNOWN

    def _known(self, prompt: Prompt) -> str:
        return self._memory.recall(prompt.question).text or UNKNOWN

    def _certainty(self, prompt: Prompt) -> str:
        """An answer and how certain it is, or the part that the prompt asks for (W2R §3.1)."""
        recalled = self._memory.recall(prompt.question)
        if prompt.text == ANSWER_ALONE:
            return recalled.text or UNKNOWN
        is_challenge = bool(prompt.history) and prompt.text != CERTAINTY_ALONE
        is_warned = is_challenge or "punished" in prompt.text
        is_certain = recalled.support >= (CERTAIN_THOUGH_WARNED if is_warned else CERTAIN)
        stated = "certain" if is_certain else "uncertain"
        if prompt.history or not recalled.text:
            return stated
        return f"{recalled.text}\n{stated.capitalize()}."


def _quotes(prompt: Prompt) -> Quotes:
    return choose_quotes(prompt.question, prompt.references)


def _suffices(prompt: Prompt, quotes: Quotes) -> bool:
    return is_sufficient(prompt.question, prompt.references, quotes)


def _stated(prompt: Prompt) -> str:
    """The verdict on its line, what is supported, and what to search where that is not enough."""
    quotes = _quotes(prompt)
    answer = _answer(prompt, quotes)
    if _suffices(prompt, quotes):
        return f"{SUFFICIENT}\n{answer}"
    queries = [f"{SEARCH_LEAD} {query}" for query in _queries(prompt)]
    return "\n".join(filter(None, [INSUFFICIENT, answer, *queries]))


def _answer_or_refuse(prompt: Prompt) -> str:
    """The answer, or RaLLM's refusal sentence."""
    quotes = _quotes(prompt)
    return _answer(prompt, quotes) if _suffices(prompt, quotes) else REFUSAL


def _answer(prompt: Prompt, quotes: Quotes) -> str:
    """The best quotes; empty where no reference speaks of the question."""
    chosen = quotes.sentences
    if chosen and speaks_of_all(prompt.question, chosen[0]):
        chosen = chosen[:1]  # more would only be said beside the point
    return " ".join(_quote(each, prompt.references[each.number - 1]) for each in chosen)


def _quote(sentence: Sentence, reference: Reference) -> str:
    """The sentence with its marker; behind its title where it does not name what it is about.

    The name of a file, which many loaders give in place of a title, says nothing of that.
    """
    title = " ".join(without_brackets(reference.title).split())
    is_named = set(content_words(title)) <= set(content_words(sentence.text))
    is_named = is_named or _FILE_NAME.search(title) is not None
    return f"{'' if is_named else f'{title}: '}{sentence.text} [{sentence.number}]"


def _ask(prompt: Prompt) -> str:
    return "\n".join(f"{QUERY_LEAD} {query}" for query in _queries(prompt)) or UNKNOWN


def _queries(prompt: Prompt) -> list[str]:
    return follow_up_queries(prompt.question, prompt.references, prompt.queries, MAX_QUERIES)
