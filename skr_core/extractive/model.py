"""ExtractiveModel: a language model without weights, so that everything runs out of the box."""

from __future__ import annotations

from skr_core.extractive.evidence import Sentence, without_brackets
from skr_core.extractive.follow_up import follow_up_queries
from skr_core.extractive.quoting import choose_quotes, is_sufficient, speaks_of_all
from skr_core.extractive.text import content_words
from skr_core.ports import OnToken
from skr_core.prompts.templates import (
    INSUFFICIENT,
    MAX_QUERIES,
    QUERY_LEAD,
    REFUSAL,
    SEARCH_LEAD,
    SUFFICIENT,
)
from skr_core.types import Generation, Prompt, Reference
from skr_core.usage import estimate_usage

UNKNOWN = "I don't know."


class ExtractiveModel:
    """A baseline that quotes instead of writing: deterministic, no download, no key, no network.

    It answers with at most four sentences of the references, each followed by its [n] marker. When
    they leave something open it says so, in the words that the prompt asks for, and asks for names
    that no reference is about. It knows nothing by itself: without references its answer is "I
    don't know.". Use it to see the loop work, in tests, and as the floor that a real model has to
    beat. It reads the parts of a prompt, not its text; demonstrations and history are ignored.

    Example:
        >>> from skr_core.prompts.asking import answer_with_references
        >>> capital = Reference.of("Paris is the capital of France.", "Paris")
        >>> prompt = answer_with_references("What is the capital of France?", [capital])
        >>> ExtractiveModel().generate(prompt).text
        'SUFFICIENT\\nParis is the capital of France. [1]'
    """

    name = "extractive"

    def generate(self, prompt: Prompt, *, on_token: OnToken | None = None) -> Generation:
        """Reply to a prompt; `on_token` gets the reply word by word."""
        text = _reply(prompt)
        if on_token is not None:
            for place, word in enumerate(text.split(" ")):
                on_token(f" {word}" if place else word)
        return Generation(text, estimate_usage(prompt, text))

    async def agenerate(self, prompt: Prompt, *, on_token: OnToken | None = None) -> Generation:
        """The same; a few milliseconds of work, and nothing to wait for."""
        return self.generate(prompt, on_token=on_token)


def _reply(prompt: Prompt) -> str:
    match prompt.task:
        case "answer_with_references":
            return _stated(prompt) if prompt.states_verdict else _answer_or_refuse(prompt)
        case "answer_anyway":
            return _answer(prompt) or UNKNOWN
        case "self_complete":
            return _ask(prompt)
        case "condense":
            return prompt.question  # to rewrite it would take a language
        case "ask_certainty":
            return "uncertain"
        case "judge":
            return "sufficient" if _suffices(prompt) else "insufficient: names to be looked up"
        case _:
            return UNKNOWN


def _stated(prompt: Prompt) -> str:
    """The verdict on its line, what is supported, and what to search where that is not enough."""
    answer = _answer(prompt)
    if _suffices(prompt):
        return f"{SUFFICIENT}\n{answer}"
    queries = [f"{SEARCH_LEAD} {query}" for query in _queries(prompt)]
    return "\n".join(filter(None, [INSUFFICIENT, answer, *queries]))


def _answer_or_refuse(prompt: Prompt) -> str:
    """The answer, or RaLLM's refusal sentence."""
    return _answer(prompt) if _suffices(prompt) else REFUSAL


def _answer(prompt: Prompt) -> str:
    """The best quotes; empty where no reference speaks of the question."""
    chosen = choose_quotes(prompt.question, prompt.references).sentences
    if chosen and speaks_of_all(prompt.question, chosen[0]):
        chosen = chosen[:1]  # more would only be said beside the point
    return " ".join(_quote(each, prompt.references[each.number - 1]) for each in chosen)


def _suffices(prompt: Prompt) -> bool:
    quotes = choose_quotes(prompt.question, prompt.references)
    return is_sufficient(prompt.question, prompt.references, quotes)


def _quote(sentence: Sentence, reference: Reference) -> str:
    """The sentence with its marker; behind its title where it does not name what it is about."""
    title = " ".join(without_brackets(reference.title).split())
    is_named = set(content_words(title)) <= set(content_words(sentence.text))
    return f"{'' if is_named else f'{title}: '}{sentence.text} [{sentence.number}]"


def _ask(prompt: Prompt) -> str:
    return "\n".join(f"{QUERY_LEAD} {query}" for query in _queries(prompt)) or UNKNOWN


def _queries(prompt: Prompt) -> list[str]:
    return follow_up_queries(prompt.question, prompt.references, prompt.queries, MAX_QUERIES)
