"""What LangChain's models and retrievers are called in records, also where others wrap them.

A wrapped one has the name of what it holds; what holds nothing that has one, such as a lambda, is
called by the name that the user gave to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from inspect import getclosurevars
from typing import Any

from langchain_core.language_models import BaseLanguageModel
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableLambda, RunnableSequence
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.vectorstores import VectorStore

from langchain_skr._compat import default_model


def model_name(model: Runnable[Any, Any]) -> str:
    """Name a model for records: its provider and its id, as far as it has them.

    Example:
        >>> from langchain_core.language_models import FakeListChatModel
        >>> model_name(FakeListChatModel(responses=["Paris"]).with_retry())
        'fake-list'
    """
    found = held(model, BaseLanguageModel)
    if isinstance(found, BaseLanguageModel):
        provider = str(described(found).get("_type", type(found).__name__))
        provider = provider.removeprefix("chat-").removesuffix("-model").removesuffix("-chat")
        identity = getattr(found, "model_name", None) or getattr(found, "model", None)
        return f"{provider}:{identity}" if isinstance(identity, str) else provider
    for layer in layers(model):
        _, settings = default_model(layer)
        if identity := settings.get("model"):
            maker = settings.get("model_provider")
            return f"{maker}:{identity}" if maker else str(identity)
    return given_name(model)


def temperature_of(model: Runnable[Any, Any]) -> float | None:
    """Return the temperature at which a model replies; None where nobody has set it."""
    for layer in layers(model):
        if isinstance(layer, RunnableBindingBase) and "temperature" in layer.kwargs:
            return _number(layer.kwargs["temperature"])
    return _number(getattr(held(model, BaseLanguageModel), "temperature", None))


def retriever_name(retriever: Runnable[Any, Any]) -> str:
    """Name a retriever for records: as the user does, else by its vector store or its class.

    Example:
        >>> from langchain_core.documents import Document
        >>> search = RunnableLambda(lambda query: [Document("Paris")], name="search")
        >>> retriever_name(search.with_retry())
        'search'
    """
    given = next((name for layer in layers(retriever) if (name := _given(layer))), None)
    found = held(retriever, BaseRetriever, VectorStore)
    if given or found is None:
        return given or given_name(retriever)
    if isinstance(found, VectorStore):
        return type(found).__name__
    if (base := _base(found)) is not None:
        return retriever_name(base)
    store = getattr(found, "vectorstore", None)
    return type(store).__name__ if store else found.get_name()


def retriever_version(retriever: Runnable[Any, Any]) -> str:
    """Return what of a retriever's settings decides what it finds: k, the kind of its filters.

    Example:
        >>> from langchain_core.embeddings import DeterministicFakeEmbedding
        >>> from langchain_core.vectorstores import InMemoryVectorStore
        >>> store = InMemoryVectorStore(DeterministicFakeEmbedding(size=2))
        >>> retriever_version(store.as_retriever(search_kwargs={"k": 3, "filter": {"tenant": 7}}))
        'similarity filter(tenant) k=3'
    """
    found = held(retriever, BaseRetriever)
    if found is None:
        return ""
    if (base := _base(found)) is not None:
        return f"{retriever_version(base)} > {type(found.base_compressor).__name__}"
    given: dict[str, Any] = dict(getattr(found, "search_kwargs", None) or {})
    if isinstance(k := getattr(found, "k", None), int):
        given.setdefault("k", k)
    said = (_said(name, given[name]) for name in sorted(given))
    return " ".join([str(getattr(found, "search_type", "")), *said]).strip()


def held(runnable: object, *kinds: type) -> Any:
    """Return the first model or retriever that a runnable is or holds; None where there is none.

    Args:
        runnable: The runnable.
        *kinds: The classes that are looked for.
    """
    waiting, seen = [runnable], {}  # a function may hold itself
    while waiting:
        each = waiting.pop()
        if isinstance(each, kinds):
            return each
        if id(each) not in seen:
            seen[id(each)] = each
            waiting += [inner for inner in _within(each) if inner is not None][::-1]
    return None


def layers(model: object) -> Iterator[object]:
    """The model and what it wraps, from the outside to the inside.

    By class, because a configurable model makes itself where it is asked for any other attribute.
    """
    from langchain_core.runnables.configurable import DynamicRunnable
    from langchain_core.runnables.fallbacks import RunnableWithFallbacks

    while model is not None:
        yield model
        if isinstance(model, RunnableBindingBase):
            model = model.bound
        elif isinstance(model, RunnableWithFallbacks):
            model = model.runnable
        else:
            model = model.default if isinstance(model, DynamicRunnable) else None


def described(model: BaseLanguageModel[Any]) -> dict[str, Any]:
    """What chat and completion models say of themselves; their common class does not name it."""
    said: dict[str, Any] = getattr(model, "asdict", dict)()
    return {**model.lc_attributes, **said}


def given_name(runnable: object) -> str:
    """The name that a runnable was given, from the outside to the inside; else its class's."""
    *_, inner = every = list(layers(runnable))
    given = next((name for layer in every if (name := _given(layer))), None)
    # Without `get_name`, at which a model that is chosen run by run makes itself, or fails.
    own = getattr(inner, "__dict__", {}).get("name")
    return given or str(own or type(inner).__name__.lstrip("_"))


def _given(layer: object) -> str | None:
    """The name that a user gave; that of a function is nobody's choice for what it holds."""
    if isinstance(layer, RunnableBindingBase):
        return layer.config.get("run_name")
    name = getattr(layer, "__dict__", {}).get("name")
    if isinstance(layer, RunnableLambda):
        name = None if name == getattr(_function(layer), "__name__", None) else name
    return name if isinstance(name, str) else None


def _within(runnable: object) -> Iterable[object]:
    *outer, inner = layers(runnable)
    if outer:
        return [inner]
    if isinstance(inner, RunnableSequence):
        steps: Sequence[object] = inner.steps
        return steps[::-1]  # the last model is the one that answers
    if isinstance(inner, RunnableLambda):
        return _held_by(_function(inner))
    made, _ = default_model(inner) if isinstance(inner, Runnable) else (None, {})
    return [] if made is None else [made]


def _function(runnable: RunnableLambda[Any, Any]) -> object:
    return getattr(runnable, "func", None) or getattr(runnable, "afunc", None)


def _held_by(function: Any) -> Iterable[object]:
    """What a function refers to by name; `RunnableLambda.deps` reads source, which may be cut."""
    try:
        found = getclosurevars(function)
    except TypeError:  # a callable that is no function
        return []
    return [*found.nonlocals.values(), *found.globals.values()]


def _base(retriever: Any) -> Any:
    """The retriever that another one only compresses, as ``ContextualCompressionRetriever``."""
    is_compressed = getattr(retriever, "base_compressor", None) is not None
    return getattr(retriever, "base_retriever", None) if is_compressed else None


def _said(name: str, value: object) -> str:
    """An option without what changes from tenant to tenant."""
    if isinstance(value, int | float):
        return f"{name}={value}"
    return f"{name}({','.join(sorted(map(str, value)))})" if isinstance(value, Mapping) else name


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
