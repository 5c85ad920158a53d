"""LangChain objects behind the ports.

Callbacks need no passing on: LangChain finds the run that encloses a call through context
variables, so traces nest under the graph's nodes in both colours.

Example:
    >>> from langchain_core.language_models import FakeListChatModel
    >>> from skr_core.types import Prompt
    >>> model = LangChainModel(FakeListChatModel(responses=["Paris"]))
    >>> model.generate(Prompt("answer_directly", "Capital of France?", "Capital of France?")).text
    'Paris'
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.documents import Document
from langchain_core.language_models import BaseLanguageModel, LanguageModelInput
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    BaseMessageChunk,
    HumanMessage,
    SystemMessage,
)
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.vectorstores import VectorStore
from langgraph.errors import GraphBubbleUp

from langchain_skr.caching import settings_of
from langchain_skr.documents import checked_documents, to_reference
from langchain_skr.models import layers_of, load_model, model_name, streams_safely
from skr_core.budget import estimate_usage
from skr_core.cleaning import remember_keys
from skr_core.errors import (
    InputError,
    ModelError,
    RetrieverError,
    translated,
)
from skr_core.models.chunked import ChunkedModel, Reply
from skr_core.ports import LanguageModel, Retriever
from skr_core.references.fusion import FusedRetriever
from skr_core.types import Generation, Prompt, Reference, Usage
from skr_graphs.nostream import unstreamed

if TYPE_CHECKING:
    from langchain_core.documents import BaseDocumentCompressor
    from langchain_core.prompts import BasePromptTemplate

LangChainLanguageModel = Runnable[LanguageModelInput, Any]
"""A chat or completion model, also behind ``bind``, ``with_retry`` or ``with_fallbacks``."""

ModelLike = LanguageModel | LangChainLanguageModel | str
"""A model of LangChain, an id such as ``openai:gpt-4.1-mini``, or a `LanguageModel`."""

OneRetriever = Retriever | VectorStore | Runnable[str, Sequence[Document]]
"""A retriever of LangChain, a vector store, a runnable to documents, or a `Retriever`."""

RetrieverLike = OneRetriever | Mapping[str, OneRetriever]
"""One of these, or several by name, whose rankings are fused."""


class _Reply(Reply):
    whole: Any = None

    def add(self, chunk: Any) -> None:
        self.take(_text(chunk))
        if isinstance(chunk, BaseMessageChunk):
            # What is said is kept already: adding it up takes the square of its length.
            chunk = chunk.model_copy(update={"content": ""})
        self.whole = chunk if self.whole is None else self.whole + chunk

    def generation(self, prompt: Prompt) -> Generation:
        about: Mapping[str, Any] = getattr(self.whole, "response_metadata", {})
        reason = str(about.get("finish_reason") or about.get("stop_reason") or "")
        text = self.text(f" (finish reason: {reason})" if reason else "")
        spent = getattr(self.whole, "usage_metadata", None) or {}
        usage = Usage(spent.get("input_tokens", 0), spent.get("output_tokens", 0), calls=1)
        usage = usage if usage.total_tokens else estimate_usage(prompt, text)
        if spent.get("total_cost") == 0:  # so LangChain marks what its own cache replied
            usage = usage.from_cache()
        tokens = (about.get("logprobs") or {}).get("content") or ()
        return Generation(
            text,
            usage,
            tuple(float(token["logprob"]) for token in tokens) or None,
            reason,
        )


class LangChainModel(ChunkedModel):
    """A LangChain model as a `LanguageModel`.

    Calls are tagged ``nostream``, so that ``stream_mode="messages"`` does not show them, and
    ``skr:<task>``, which traces can be filtered by. A model without an async implementation is run
    in a thread by LangChain itself; nothing here starts one.

    Args:
        model: The model. Completion models (``BaseLLM``) work too.
        name: Recorded name; by default provider and model, such as ``openai:gpt-4.1-mini``.
        streaming: Whether to ask for a stream when a call brings `on_token`. By default yes,
            except behind ``with_retry``, which does not retry streams. Without a stream `on_token`
            gets the whole reply at once.

    Example:
        >>> from langchain_core.language_models import FakeListChatModel
        >>> LangChainModel(FakeListChatModel(responses=["Paris"])).name
        'fake-list'
    """

    reply_class = _Reply

    def __init__(
        self,
        model: LangChainLanguageModel,
        *,
        name: str | None = None,
        streaming: bool | None = None,
    ) -> None:
        self.model = model
        self.name = name or model_name(model)
        self.streaming = streams_safely(model) if streaming is None else streaming
        for layer in layers_of(model):
            remember_keys(layer)

    @property
    def version(self) -> str:
        """The model's settings, as LangChain's own caches key them."""
        return settings_of(self.model)

    def _chunks(self, prompt: Prompt, stream: bool) -> Generator[Any, None, None]:
        # LangGraph's interrupts travel as exceptions, and are no failure.
        with translated(ModelError, self.name, GraphBubbleUp):
            if stream:
                yield from self.model.stream(_messages(prompt), _config(prompt), **self._more)
            else:
                yield self.model.invoke(_messages(prompt), _config(prompt), **self._more)

    async def _achunks(self, prompt: Prompt, stream: bool) -> AsyncGenerator[Any, None]:
        with translated(ModelError, self.name, GraphBubbleUp):
            if stream:
                chunks = self.model.astream(_messages(prompt), _config(prompt), **self._more)
                async for chunk in chunks:
                    yield chunk
            else:
                yield await self.model.ainvoke(_messages(prompt), _config(prompt), **self._more)

    @property
    def _more(self) -> dict[str, Any]:
        *_, inner = layers_of(self.model)
        return self._asked_for(inner)


class LangChainRetriever:
    """A LangChain retriever as a `Retriever`.

    What a model of its own says, as in ``MultiQueryRetriever`` or HyDE, is not shown in
    ``stream_mode="messages"``.

    Args:
        retriever: A retriever, a vector store, or any runnable from a query to documents. One
            without an async implementation is run in a thread by LangChain.
        name: Recorded name; by default that of the vector store or of the retriever.

    Example:
        >>> from langchain_core.runnables import RunnableLambda
        >>> from langchain_core.documents import Document
        >>> search = RunnableLambda(lambda query: [Document(f"All about {query}")])
        >>> LangChainRetriever(search, name="mine").retrieve("Paris")[0].text
        'All about Paris'
    """

    def __init__(
        self, retriever: Runnable[str, Sequence[Document]] | VectorStore, *, name: str | None = None
    ) -> None:
        self.retriever: Runnable[str, Any] = (
            retriever.as_retriever() if isinstance(retriever, VectorStore) else retriever
        )
        store = getattr(self.retriever, "vectorstore", None)
        self.name = name or (type(store).__name__ if store else self.retriever.get_name())

    def retrieve(self, query: str) -> Sequence[Reference]:
        """Find references, best first; raises `RetrieverError` when the retriever fails."""
        with translated(RetrieverError, self.name, GraphBubbleUp), unstreamed():
            return _references(self.retriever.invoke(query))

    async def aretrieve(self, query: str) -> Sequence[Reference]:
        """Like `retrieve`, awaited."""
        with translated(RetrieverError, self.name, GraphBubbleUp), unstreamed():
            return _references(await self.retriever.ainvoke(query))


def as_language_model(model: ModelLike, *, base_url: str | None = None) -> LanguageModel:
    """Make a `LanguageModel` of what a caller gave.

    Args:
        model: A LangChain model, a model id such as ``openai:gpt-4.1-mini``, or a `LanguageModel`,
            which is passed through.
        base_url: Of an OpenAI-compatible server; for model ids only.

    Raises:
        InputError: It is none of these, or the id names no known provider.

    Example:
        >>> from langchain_core.language_models import FakeListChatModel
        >>> as_language_model(FakeListChatModel(responses=["Paris"])).name
        'fake-list'
    """
    if isinstance(model, str):
        return load_model(model, base_url=base_url)
    # Before the port: chat models have a `generate` of their own, with another meaning.
    if isinstance(model, Runnable):
        if not isinstance(model, BaseRetriever):
            return LangChainModel(model)
    elif isinstance(model, LanguageModel):
        return model
    raise InputError(
        f"a model is wanted, not {type(model).__name__}: "
        "give a LangChain chat model or an id such as 'openai:gpt-4.1-mini'"
    )


def as_retriever(
    retriever: RetrieverLike,
    *,
    compressor: BaseDocumentCompressor | None = None,
    document_prompt: BasePromptTemplate[Any] | None = None,
) -> Retriever:
    """Make a `Retriever` of what a caller gave.

    Args:
        retriever: A LangChain retriever, vector store or runnable from a query to documents, or a
            `Retriever`, which is passed through. Several by name are fused, see `FusedRetriever`.
        compressor: A reranker, filter or extractor of what each search finds, see
            `CompressedRetriever`.
        document_prompt: How models are shown a document, see `PromptedRetriever`; by default its
            title, or source, and its content.

    Raises:
        InputError: It is none of these.

    Example:
        >>> from langchain_core.runnables import RunnableLambda
        >>> as_retriever(RunnableLambda(lambda query: [], name="nothing")).name
        'nothing'
    """
    if document_prompt is not None:
        from langchain_skr.document_prompts import PromptedRetriever

        return PromptedRetriever(as_retriever(retriever, compressor=compressor), document_prompt)
    if compressor is not None:
        from langchain_skr.compressing import CompressedRetriever

        return CompressedRetriever(as_retriever(retriever), compressor)
    if isinstance(retriever, Mapping):
        parts = {name: _named(name, each) for name, each in retriever.items()}
        return FusedRetriever(parts, passing=[GraphBubbleUp])
    if isinstance(retriever, Runnable | VectorStore):
        if not isinstance(retriever, BaseLanguageModel):
            return LangChainRetriever(retriever)
    elif isinstance(retriever, Retriever):
        return retriever
    raise InputError(
        f"a retriever is wanted, not {type(retriever).__name__}: give a LangChain retriever, a "
        "vector store or a runnable that returns documents, such as RunnableLambda(function)"
    )


def _named(name: str, retriever: OneRetriever) -> Retriever:
    found = as_retriever(retriever)
    return (
        LangChainRetriever(found.retriever, name=name)
        if type(found) is LangChainRetriever
        else found
    )


def _messages(prompt: Prompt) -> list[BaseMessage]:
    turns: list[BaseMessage] = [
        AIMessage(turn) if number % 2 else HumanMessage(turn)
        for number, turn in enumerate(prompt.history)
    ]
    said = [SystemMessage(prompt.system)] if prompt.system else []
    return [*said, *turns, HumanMessage(prompt.text)]


def _config(prompt: Prompt) -> RunnableConfig:
    return {"tags": ["nostream", f"skr:{prompt.task}"], "metadata": {"skr_task": prompt.task}}


def _text(reply: Any) -> str:
    if isinstance(reply, str):
        return reply
    if isinstance(reply, BaseMessage):
        return str(reply.text)  # joins the text blocks where the content is a list
    raise ModelError(f"the model returned {type(reply).__name__}, not a message")


def _references(found: Any) -> list[Reference]:
    return [to_reference(each) for each in checked_documents(found) if each.page_content.strip()]
