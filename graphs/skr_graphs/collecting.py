"""Collecting self-knowledge with the graph of a system's settings, which is the one served.

Both plug-ins call these with models and retrievers of their framework.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import TypedDict

from skr_core.settings import Settings

if TYPE_CHECKING:
    from skr_core.questions import Question
    from skr_core.self_knowledge import Judge, SelfKnowledge
    from skr_core.self_knowledge.progress import OnCollected
    from skr_core.self_knowledge.scoring import Metric


class CollectOptions(TypedDict, total=False):
    """How questions are collected, beside the system's settings.

    Attributes:
        out: File the records are appended to; the same call again goes on in it.
        metric: How answers are scored; ``accuracy`` by default.
        ask: Routers that ask the model itself, by the names of `skr_core.routers.registry.ROUTERS`:
            each is asked once a question.
        concurrency: Questions under way at a time, 8 by default.
        corpus: A name for what is searched, for the stamp.
        on_progress: Told how far it is.
    """

    out: str | Path | None
    metric: Metric | Judge
    ask: Sequence[str]
    concurrency: int
    corpus: str
    on_progress: OnCollected | None


def collect_with(
    questions: Iterable[Question], settings: Settings, options: CollectOptions
) -> list[SelfKnowledge]:
    """Collect with blocking calls; see `skr_core.self_knowledge.collect`.

    Example:
        >>> from skr_core.questions import Question
        >>> from skr_core.testing import MappingRetriever, ScriptedModel
        >>> model = ScriptedModel({"answer_directly": ["Bob."]}, otherwise="Ada Lovelace [1].")
        >>> retriever = MappingRetriever({"Who?": ["It was Ada Lovelace."]})
        >>> asked = [Question("1", "Who?", ("Ada",))]
        >>> collect_with(asked, Settings(model, retriever), {})[0].effect
        'helps'
    """
    # Only who collects loads what collection needs.
    from skr_core.self_knowledge.collect import collect
    from skr_graphs.answerer import GraphAnswerer

    return collect(questions, GraphAnswerer(settings), **_arguments(settings, options))


async def acollect_with(
    questions: Iterable[Question], settings: Settings, options: CollectOptions
) -> list[SelfKnowledge]:
    """The same with awaited calls."""
    from skr_core.self_knowledge.collect import acollect
    from skr_graphs.answerer import GraphAnswerer

    return await acollect(questions, GraphAnswerer(settings), **_arguments(settings, options))


def _arguments(settings: Settings, options: CollectOptions) -> dict[str, Any]:
    """The options as collection takes them: with routers in place of their names."""
    from skr_core.routers.registry import asking_routers

    return {**options, "ask": asking_routers(options.get("ask", ()), settings.model)}
