"""collect: what a LangChain model knows by itself, and what it needs references for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from typing_extensions import Unpack

from langchain_skr.adapters import ModelLike, RetrieverLike, as_language_model, as_retriever
from skr_core.settings import Settings, SettingsOptions
from skr_graphs.collecting import CollectOptions, acollect_with, collect_with

if TYPE_CHECKING:
    from skr_core.questions import Question
    from skr_core.self_knowledge import SelfKnowledge


def collect(
    questions: Iterable[Question],
    model: ModelLike,
    retriever: RetrieverLike,
    options: CollectOptions | None = None,
    **settings: Unpack[SettingsOptions],
) -> list[SelfKnowledge]:
    """Answer each question by every action, and record the outcomes with their scores.

    Args:
        questions: With their gold answers.
        model: As for `create_skr_graph`.
        retriever: As for `create_skr_graph`.
        options: How it is done, see `skr_graphs.collecting.CollectOptions`.
        **settings: The other settings, as for `create_skr_graph`: give those that are served.

    Returns:
        The records of the questions given, in their order; those that failed are missing.

    Raises:
        InputError: The model or the retriever is not usable, or the file cannot be appended to.
        StampMismatch: The file holds records made with something else.

    Example:
        >>> from langchain_core.documents import Document
        >>> from langchain_core.language_models import FakeListChatModel
        >>> from langchain_core.runnables import RunnableLambda
        >>> from skr_core.questions import Question
        >>> (record,) = collect(
        ...     [Question("1", "Capital of France?", ("Paris",))],
        ...     FakeListChatModel(responses=["Lyon.", "Paris [1]."]),
        ...     RunnableLambda(lambda query: [Document("Paris is the capital of France.")]),
        ... )
        >>> record.effect
        'helps'
    """
    system = Settings.of(as_language_model(model), as_retriever(retriever), **settings)
    return collect_with(questions, system, options or {})


async def acollect(
    questions: Iterable[Question],
    model: ModelLike,
    retriever: RetrieverLike,
    options: CollectOptions | None = None,
    **settings: Unpack[SettingsOptions],
) -> list[SelfKnowledge]:
    """The same as `collect`, with awaited calls."""
    system = Settings.of(as_language_model(model), as_retriever(retriever), **settings)
    return await acollect_with(questions, system, options or {})
