"""collect: what a LlamaIndex model knows by itself, and what it needs references for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from typing_extensions import Unpack

from llamaindex_skr.adapters import ModelLike, RetrieverLike, as_language_model, as_retriever
from skr_core.options import SettingsOptions
from skr_graphs.collecting import CollectOptions, acollect_with, collect_with, system_of

if TYPE_CHECKING:
    from skr_core.engines import Engine

    from skr_core.questions import Question
    from skr_learn.self_knowledge import SelfKnowledge


def collect(
    questions: Iterable[Question],
    model: ModelLike | Callable[[], ModelLike],
    retriever: RetrieverLike | Callable[[], RetrieverLike],
    options: CollectOptions | None = None,
    *,
    engine: Engine | None = None,
    **settings: Unpack[SettingsOptions],
) -> list[SelfKnowledge]:
    """Answer each question by every action, and record the outcomes with their scores.

    Args:
        questions: With their gold answers.
        model: As for `SKRQueryEngine.from_defaults`, or a function that makes it.
        retriever: As for `SKRQueryEngine.from_defaults`, or a function that makes it.
        options: How it is done, see `skr_graphs.collecting.CollectOptions`.
        engine: Where the questions are asked: in this process, or on `skr_core.engines.RayEngine`.
            For an engine with workers the model is an id or a function, and the retriever a
            function: each worker makes its own, and no live client leaves a process.
        **settings: The other settings, as for `SKRQueryEngine.from_defaults`: give those that are
            served.

    Returns:
        The records of the questions given, in their order; those that failed are missing.

    Raises:
        InputError: The model or the retriever is not usable, or the file cannot be appended to.
        StampMismatch: The file holds records made with something else.
        EngineError: The engine failed. What is on record stays there.

    Example:
        >>> from llama_index.core.llms import MockLLM
        >>> from skr_core.questions import Question
        >>> from skr_core.testing import MappingRetriever
        >>> (record,) = collect(
        ...     [Question("1", "Say text.", ("text",))],
        ...     MockLLM(max_tokens=1),
        ...     MappingRetriever({"Say text.": ["A text."]}),
        ... )
        >>> record.effect
        'same'
    """
    system = system_of(model, retriever, settings, as_language_model, as_retriever)
    return collect_with(questions, system, options or {}, engine)


async def acollect(
    questions: Iterable[Question],
    model: ModelLike | Callable[[], ModelLike],
    retriever: RetrieverLike | Callable[[], RetrieverLike],
    options: CollectOptions | None = None,
    *,
    engine: Engine | None = None,
    **settings: Unpack[SettingsOptions],
) -> list[SelfKnowledge]:
    """The same as `collect`, with awaited calls."""
    system = system_of(model, retriever, settings, as_language_model, as_retriever)
    return await acollect_with(questions, system, options or {}, engine)
