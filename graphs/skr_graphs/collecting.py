"""Collecting self-knowledge with the graph of a system's settings, which is the one served.

Both plug-ins call these with models and retrievers of their framework.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import TypedDict

from skr_core.errors import OptionError
from skr_core.options import SettingsOptions
from skr_core.settings import Settings

if TYPE_CHECKING:
    from skr_core.engines import Engine

    from skr_core.ports import LanguageModel, Retriever
    from skr_core.questions import Question
    from skr_graphs.answerer import GraphAnswerer
    from skr_learn.self_knowledge import Judge, SelfKnowledge
    from skr_learn.self_knowledge.progress import OnCollected
    from skr_learn.self_knowledge.scoring import Metric


class CollectOptions(TypedDict, total=False):
    """How questions are collected, beside the system's settings.

    Attributes:
        out: File the records are appended to; the same call again goes on in it.
        metric: How answers are scored; ``accuracy`` by default. For an engine with workers a judge
            is given as a function that makes it.
        ask: Routers that ask the model itself, by the names that the registry has:
            each is asked once a question.
        concurrency: Questions under way at a time, 8 by default.
        corpus: A name for what is searched, for the stamp.
        on_progress: Told how far it is.
    """

    out: str | Path | None
    metric: Metric | Judge | Callable[[], Judge]
    ask: Sequence[str]
    concurrency: int
    corpus: str
    on_progress: OnCollected | None


def collect_with(
    questions: Iterable[Question],
    settings: Settings | Callable[[], Settings],
    options: CollectOptions,
    engine: Engine | None = None,
) -> list[SelfKnowledge]:
    """Collect with blocking calls; see `skr_learn.self_knowledge.collecting`.

    Args:
        questions: With their gold answers.
        settings: Of the system, or a function that makes them, for an engine with workers.
        options: How it is done.
        engine: Where the questions are asked: in this process by default.

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
    from skr_learn.self_knowledge.collecting import collect

    return collect(questions, _answerer(settings), **_arguments(options, engine))


async def acollect_with(
    questions: Iterable[Question],
    settings: Settings | Callable[[], Settings],
    options: CollectOptions,
    engine: Engine | None = None,
) -> list[SelfKnowledge]:
    """The same with awaited calls."""
    from skr_learn.self_knowledge.collecting import acollect

    return await acollect(questions, _answerer(settings), **_arguments(options, engine))


def system_of(
    model: object,
    retriever: object,
    settings: SettingsOptions,
    as_model: Callable[[Any], LanguageModel],
    as_retriever: Callable[[Any], Retriever],
) -> Settings | Callable[[], Settings]:
    """The settings of a system, or what makes them where workers can make them too.

    Args:
        model: Of a framework, a model's id, or a function that makes either.
        retriever: Of a framework, or a function that makes it.
        settings: The other settings.
        as_model: Puts a framework's model behind the port.
        as_retriever: The same for its retriever.

    Returns:
        A function where nothing that is alive was given, which could not leave this process.

    Raises:
        OptionError: One of the settings is one of `CollectOptions`.

    Example:
        >>> from skr_core.testing import MappingRetriever, ScriptedModel
        >>> def adapted(given):
        ...     return given
        >>> system = system_of(
        ...     ScriptedModel({}), lambda: MappingRetriever({}), {}, adapted, adapted
        ... )
        >>> type(system).__name__
        'Settings'
    """
    for name in settings.keys() & CollectOptions.__annotations__.keys():
        raise OptionError(
            f"collect takes {name} in its fourth argument: "
            f"collect(questions, model, retriever, {{{name!r}: ...}})"
        )
    make = partial(_made_settings, model, retriever, settings, as_model, as_retriever)
    can_be_sent = (_makes(model) or isinstance(model, str)) and _makes(retriever)
    return make if can_be_sent else make()


def _made_settings(
    model: object,
    retriever: object,
    settings: SettingsOptions,
    as_model: Callable[[Any], LanguageModel],
    as_retriever: Callable[[Any], Retriever],
) -> Settings:
    return Settings.of(as_model(_made(model)), as_retriever(_made(retriever)), **settings)


def _makes(given: object) -> bool:
    """Whether it is a function or a class of the caller's, to be called for what it makes."""
    return isinstance(given, partial) or inspect.isroutine(given) or inspect.isclass(given)


def _made(given: Any) -> Any:
    """What a function makes; anything else as it is."""
    return given() if _makes(given) else given


def _answerer(
    settings: Settings | Callable[[], Settings],
) -> GraphAnswerer | Callable[[], GraphAnswerer]:
    from skr_graphs.answerer import GraphAnswerer

    if isinstance(settings, Settings):
        return GraphAnswerer(settings)
    return partial(_make_answerer, settings)


def _make_answerer(make: Callable[[], Settings]) -> GraphAnswerer:
    from skr_graphs.answerer import GraphAnswerer

    return GraphAnswerer(make())


def _arguments(options: CollectOptions, engine: Engine | None) -> dict[str, Any]:
    """The options as collection takes them: with what makes routers in place of their names."""
    from skr_learn.routers.registry import asking_routers

    ask = partial(asking_routers, tuple(options.get("ask", ())))
    return {**options, "ask": ask, "engine": engine}
