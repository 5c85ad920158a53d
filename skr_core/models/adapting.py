"""A framework's model or retriever where one of ours is wanted, without its being wrapped.

Each plug-in knows its framework's. It is imported when one of them is given, by name, so that
nothing here depends on a framework.

Example:
    >>> from skr_core.routers import PromptRouter
    >>> from langchain_core.language_models import FakeListChatModel
    >>> PromptRouter(FakeListChatModel(responses=["No, I don't."])).decide("Who?").retrieve
    False
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol

from skr_core.errors import InputError
from skr_core.ports import Embedder, LanguageModel, Retriever
from skr_core.registry import names_of, registered


class LangChainRunnable(Protocol):
    """What a LangChain model or retriever shows of itself, also behind ``bind`` and the like."""

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        """Answer."""


class LlamaIndexModelLike(Protocol):
    """What a LlamaIndex LLM shows of itself."""

    @property
    def metadata(self) -> Any:
        """What the model is able to do."""

    @property
    def chat(self) -> Any:
        """Answer."""


class LlamaIndexRetriever(Protocol):
    """What a LlamaIndex retriever shows of itself."""

    def retrieve(self, str_or_query_bundle: Any) -> Any:
        """Find nodes."""


class LangChainEmbeddings(Protocol):
    """What LangChain's embeddings show of themselves."""

    @property
    def embed_documents(self) -> Any:
        """Embed texts."""


class LlamaIndexEmbedding(Protocol):
    """What a LlamaIndex embedding model shows of itself."""

    @property
    def get_text_embedding_batch(self) -> Any:
        """Embed texts."""


class RetrieverMaker(Protocol):
    """What a LangChain vector store and a LlamaIndex index show of themselves."""

    @property
    def as_retriever(self) -> Any:
        """Make a retriever."""


AnyModel = LanguageModel | LangChainRunnable | LlamaIndexModelLike
"""What settings, routers and judges take for a model."""

AnyRetriever = Retriever | LangChainRunnable | LlamaIndexRetriever | RetrieverMaker
"""What settings take for a retriever."""

AnyEmbedder = Embedder | LangChainEmbeddings | LlamaIndexEmbedding
"""What a router that compares questions takes for an embedder."""

ADAPTERS = {
    "langchain_core": "langchain_skr",
    "llama_index": "llamaindex_skr",
}
"""By the framework that a class comes from: the module whose `as_language_model`,
`as_retriever` and `as_embedder` take what is of it."""


def as_language_model(model: AnyModel) -> LanguageModel:
    """Make a `LanguageModel` of what a caller gave.

    Args:
        model: A `LanguageModel`, which is passed through, a LangChain model or a LlamaIndex LLM.

    Raises:
        InputError: It is none of these.

    Example:
        >>> from skr_core.testing import ScriptedModel
        >>> as_language_model(ScriptedModel(name="mine")).name
        'mine'
    """
    found: LanguageModel = _adapted(
        model,
        "as_language_model",
        LanguageModel,
        "a model",
        "a LangChain chat model, a LlamaIndex LLM or a LanguageModel",
    )
    return found


def as_retriever(retriever: AnyRetriever) -> Retriever:
    """Make a `Retriever` of what a caller gave.

    Args:
        retriever: A `Retriever`, which is passed through, or a retriever, vector store or index of
            LangChain or LlamaIndex.

    Raises:
        InputError: It is none of these.

    Example:
        >>> from langchain_core.runnables import RunnableLambda
        >>> as_retriever(RunnableLambda(lambda query: [], name="nothing")).name
        'nothing'
    """
    found: Retriever = _adapted(
        retriever,
        "as_retriever",
        Retriever,
        "a retriever",
        "a retriever of LangChain or LlamaIndex, or a Retriever",
    )
    return found


def as_embedder(embedder: AnyEmbedder) -> Embedder:
    """Make an `Embedder` of what a caller gave.

    Args:
        embedder: An `Embedder`, which is passed through, or embeddings of LangChain or LlamaIndex.

    Raises:
        InputError: It is none of these.

    Example:
        >>> from langchain_core.embeddings import DeterministicFakeEmbedding
        >>> as_embedder(DeterministicFakeEmbedding(size=4)).embed(["Paris"]).shape
        (1, 4)
    """
    found: Embedder = _adapted(
        embedder,
        "as_embedder",
        Embedder,
        "an embedder",
        "embeddings of LangChain or LlamaIndex, or an Embedder",
    )
    return found


def _adapted(given: object, adapter: str, port: Any, what: str, instead: str) -> Any:
    """Make what is asked for of a framework's object, or pass through what fits the port.

    Args:
        given: What a caller gave.
        adapter: The name of the function that a framework's module has for it.
        port: The port.
        what: What is wanted, for the error.
        instead: What can be given, for the error.
    """
    # Before the port: LangChain's models have a `generate` of their own, with another meaning.
    if framework := framework_of(given):
        return getattr(import_module(ADAPTERS[framework]), adapter)(given)
    if isinstance(given, port) and not isinstance(given, type):
        return given
    raise InputError(f"{what} is wanted, not {_named(given)}: give {instead}")


def named_model(name: str) -> LanguageModel | None:
    """Make the model that an installed package announces by a name.

    Args:
        name: The name, or the name with something of its own behind a colon, such as
            ``extractive:FILE``.

    Returns:
        None where no package announces that name: it is one of a framework's.

    Example:
        >>> named_model("extractive").name, named_model("openai:gpt-4.1-mini")
        ('extractive', None)
    """
    kind = name.partition(":")[0]
    if kind not in names_of("models"):
        return None
    made: LanguageModel = registered("models", kind)(name)
    return made


def framework_of(given: object) -> str | None:
    """Which of the frameworks an object's class comes from; None where it is of neither.

    Example:
        >>> from langchain_core.language_models import FakeListChatModel
        >>> framework_of(FakeListChatModel(responses=["Paris"])), framework_of("Paris")
        ('langchain_core', None)
    """
    names = (base.__module__.partition(".")[0] for base in type(given).__mro__)
    return next((name for name in names if name in ADAPTERS), None)


def _named(given: object) -> str:
    return f"the class {given.__name__}" if isinstance(given, type) else type(given).__name__
