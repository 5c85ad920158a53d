"""The flows that ask a model for an answer or for queries: used by the graph and by collection.

Example:
    >>> from skr_core.flow import run
    >>> from skr_core.testing import ScriptedModel
    >>> run(answer_directly(ScriptedModel(["Paris."]), "What is the capital of France?")).text
    'Paris.'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING

from skr_core.bounds import MAX_CHARACTERS, Patience
from skr_core.budget import believed
from skr_core.errors import ModelError
from skr_core.flow import Flow
from skr_core.ports import LanguageModel, OnToken
from skr_core.prompts import asking as prompts
from skr_core.prompts.templates import DEFAULT_TEMPLATES, MAX_QUERIES, PromptTemplates
from skr_core.references.citations import without_markers
from skr_core.replies.opening import without_thoughts
from skr_core.replies.queries import clean_queries, not_asked, parse_queries
from skr_core.texts import encodable, is_json
from skr_core.types import Demonstration, Generation, Image, Prompt, Reference, Usage

if TYPE_CHECKING:
    from skr_core.schemas import ResponseFormat

MayAsk = Callable[[Usage], bool]
"""Whether the model may be asked once more, after what an answer has cost so far."""

_BLANK_LINES = re.compile(r"\A(?:[ \t\r]*\n)+")
"""What separates an answer from the thoughts before it."""


def never(spent: Usage) -> bool:
    """Ask no second time."""
    return False


def generate(
    model: LanguageModel, prompt: Prompt, on_token: OnToken | None = None
) -> Flow[Generation]:
    """Call the model once; its reply comes without the thoughts that stood in it.

    Every reply enters here, so no reader meets a thought. `on_token` is given the pieces as the
    model writes them, thoughts included, which `skr_core.replies.ThoughtFilter` and `VerdictStream`
    leave out. The text is one that UTF-8 holds, as checkpoints need it. Its log-probabilities begin
    behind the thoughts, where the provider names its tokens and the text is found in them; else all
    of them stay.

    Raises:
        ModelError: It failed, nothing of its reply came for 300 seconds, or what it gave is no
            text, or one without end.
    """
    generation = yield from Patience(model.name).asking(
        lambda hear: model.generate(prompt, on_token=hear),
        lambda hear: model.agenerate(prompt, on_token=hear),
        on_token,
    )
    text = getattr(generation, "text", None)
    if not isinstance(text, str):  # a model is anybody's code
        raise ModelError(f"the model gave {type(text).__name__} in place of a text")
    if len(text) > MAX_CHARACTERS:
        raise ModelError(f"{model.name}: the reply has over {MAX_CHARACTERS:,} characters")
    usage = believed(generation.usage, prompt, text)
    if usage is not generation.usage:
        generation = replace(generation, usage=usage)
    said = text if is_json(text) else without_thoughts(text)
    first = _first_token(said, generation)
    made = (
        generation
        if first == 0
        else replace(
            generation,
            logprobs=(generation.logprobs or ())[first:],
            tokens=generation.tokens[first:],
        )
    )
    if said != text:
        said = _BLANK_LINES.sub("", said)
    said = encodable(said)
    return made if said == text else replace(made, text=said)


def _first_token(said: str, generation: Generation) -> int:
    """The place of the token that a reply without its thoughts begins in; 0 where it is unknown.

    Servers may give the tokens of thoughts even where they leave the thoughts out of the text.
    """
    tokens = generation.tokens
    if not tokens or len(tokens) != len(generation.logprobs or ()):
        return 0
    start = "".join(tokens).rfind(said)
    return sum(end <= start for end in accumulate(map(len, tokens)))


def answer_directly(
    model: LanguageModel,
    question: str,
    demonstrations: Sequence[Demonstration] = (),
    on_token: OnToken | None = None,
    *,
    templates: PromptTemplates = DEFAULT_TEMPLATES,
    history: Sequence[str] = (),
    images: Sequence[Image] = (),
    sample: int = 0,
    response_format: ResponseFormat | None = None,
    may_ask: MayAsk = never,
) -> Flow[Generation]:
    """Answer from what the model knows (SKR §3.3, known).

    Args:
        model: The model that answers.
        question: The user's question.
        demonstrations: Worked examples.
        on_token: The function that is called with each piece of the reply.
        templates: The words of the prompts.
        history: The turns of the chat before, user and assistant in turn.
        images: The images of the question and of these turns.
        sample: The number of the answer where several are drawn, as in `Prompt`.
        response_format: The schema of the answer's object; the text is then its JSON.
        may_ask: Whether the model may be asked again, after a reply that is no such object.
    """
    prompt = prompts.answer_directly(question, demonstrations, templates=templates)
    prompt = replace(_behind(history, images, prompt), sample=sample)
    generation = yield from _generate(model, prompt, on_token, response_format, may_ask, templates)
    if response_format is None:
        return generation
    return replace(generation, text=response_format.read(generation.text, prompt.task, 0).text)


def answer_with_references(
    model: LanguageModel,
    question: str,
    references: Sequence[Reference],
    demonstrations: Sequence[Demonstration] = (),
    on_token: OnToken | None = None,
    *,
    templates: PromptTemplates = DEFAULT_TEMPLATES,
    queries: Sequence[str] = (),
    missing: str = "",
    partial: str = "",
    metadata_keys: Sequence[str] = (),
    history: Sequence[str] = (),
    images: Sequence[Image] = (),
    response_format: ResponseFormat | None = None,
    may_ask: MayAsk = never,
) -> Flow[Generation]:
    """Answer from references with citations, or say that they do not suffice (SKR §3.3, unknown).


    Args:
        model: The model that answers.
        question: The user's question.
        references: The references found so far.
        demonstrations: Worked examples.
        on_token: The function that is called with each piece of the reply.
        templates: The words of the prompts.
        queries: The queries searched so far; none of them needs to be asked again.
        missing: The gap that an earlier round found; may be empty.
        partial: The part that an earlier round could answer; may be empty.
        metadata_keys: The keys of the references' metadata that are shown.
        history: The turns of the chat before, as for `answer_directly`.
        images: The images of the question and of these turns.
        response_format: The schema of the answer's object, which the reply then holds: its
            `read` reads the reply.
        may_ask: Whether the model may be asked again, after a reply that is no such object.
    """
    prompt = prompts.answer_with_references(
        question,
        references,
        demonstrations,
        templates=templates,
        queries=queries,
        missing=missing,
        partial=partial,
        metadata_keys=metadata_keys,
    )
    prompt = _behind(history, images, prompt)
    return (yield from _generate(model, prompt, on_token, response_format, may_ask, templates))


def answer_anyway(
    model: LanguageModel,
    question: str,
    references: Sequence[Reference],
    demonstrations: Sequence[Demonstration] = (),
    on_token: OnToken | None = None,
    *,
    templates: PromptTemplates = DEFAULT_TEMPLATES,
    metadata_keys: Sequence[str] = (),
    history: Sequence[str] = (),
    images: Sequence[Image] = (),
    response_format: ResponseFormat | None = None,
    may_ask: MayAsk = never,
) -> Flow[Generation]:
    """Answer as well as the references and the model's knowledge allow (W2R Figure 10).

    The other arguments are as for `answer_with_references`.
    """
    prompt = prompts.answer_anyway(
        question, references, demonstrations, templates=templates, metadata_keys=metadata_keys
    )
    prompt = _behind(history, images, prompt)
    return (yield from _generate(model, prompt, on_token, response_format, may_ask, templates))


def _generate(
    model: LanguageModel,
    prompt: Prompt,
    on_token: OnToken | None,
    response_format: ResponseFormat | None,
    may_ask: MayAsk,
    templates: PromptTemplates,
) -> Flow[Generation]:
    if response_format is None and templates.concludes:
        from skr_core.replies.certainty import final_answer  # the usual words ask for no reasoning

        reasoned = yield from generate(model, prompt)  # the reasoning is no part of the answer
        return replace(reasoned, text=final_answer(reasoned.text))
    if response_format is None:
        return (yield from generate(model, prompt, on_token))
    from skr_core.schemas import generate_object  # answers that are texts need none of it

    return (yield from generate_object(model, prompt, response_format, on_token, generate, may_ask))


def _behind(history: Sequence[str], images: Sequence[Image], prompt: Prompt) -> Prompt:
    return replace(prompt, history=tuple(history), images=tuple(images))


def self_complete(
    model: LanguageModel,
    question: str,
    references: Sequence[Reference],
    asked: Sequence[str],
    limit: int = MAX_QUERIES,
    *,
    missing: str = "",
    partial: str = "",
    templates: PromptTemplates = DEFAULT_TEMPLATES,
    metadata_keys: Sequence[str] = (),
) -> Flow[tuple[tuple[str, ...], Usage]]:
    """Ask the model what to search next (RaLLM §5.2).

    Args:
        model: The model that names the queries.
        question: The user's question.
        references: The references found so far.
        asked: The queries searched so far; none of them is asked again.
        limit: The most queries that are wanted.
        missing: The gap that the reflection found; may be empty.
        partial: The part of the answer that the references support; may be empty.
        templates: The words of the prompts.
        metadata_keys: The keys of the references' metadata that are shown.

    Returns:
        The queries that have not been asked yet, and what asking cost.
    """
    prompt = prompts.self_complete(
        question,
        references,
        asked,
        limit,
        missing,
        partial=partial,
        templates=templates,
        metadata_keys=metadata_keys,
    )
    generation = yield from generate(model, prompt)
    # A model that forgets the task repeats its answer, which is no query.
    said = clean_queries(without_markers(line) for line in partial.splitlines())
    named = not_asked(parse_queries(generation.text, limit), [*asked, *said])
    return named, generation.usage


def decompose(
    model: LanguageModel,
    question: str,
    limit: int = MAX_QUERIES,
    *,
    templates: PromptTemplates = DEFAULT_TEMPLATES,
) -> Flow[tuple[tuple[str, ...], Usage]]:
    """Ask the model for the parts of a question, before the first search.

    Args:
        model: The model that names the parts.
        question: The user's question.
        limit: The most parts that are wanted.
        templates: The words of the prompts.

    Returns:
        A query for each part, none where the question is but one, and what asking cost.
    """
    generation = yield from generate(model, prompts.decompose(question, limit, templates=templates))
    return not_asked(parse_queries(generation.text, limit), [question]), generation.usage
