"""LlamaIndex objects behind the ports.

Example:
    >>> from llama_index.core.llms import MockLLM
    >>> from skr_core.types import Prompt
    >>> model = LlamaIndexModel(MockLLM(max_tokens=2))
    >>> model.generate(Prompt("answer_directly", "Capital of France?", "Capital of France?")).text
    'text text'
"""

from __future__ import annotations

import gc
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.llms import LLM
from llama_index.core.schema import NodeWithScore

from llamaindex_skr.bundles import bundle_of
from llamaindex_skr.caching import settings_of
from llamaindex_skr.indexes import Index, retriever_of
from llamaindex_skr.messages import messages_of, wrapped_text
from llamaindex_skr.models import load_model, model_name
from llamaindex_skr.nodes import to_reference
from llamaindex_skr.replies import Chunk, LlamaIndexReply
from skr_core.cleaning import remember_keys
from skr_core.errors import InputError, ModelError, OptionError, RetrieverError, translated
from skr_core.models.adapting import framework_of
from skr_core.models.chunked import ChunkedModel
from skr_core.ports import LanguageModel, Retriever
from skr_core.references.fusion import FusedRetriever
from skr_core.types import Prompt, Reference

if TYPE_CHECKING:
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.vector_stores.types import MetadataFilters


class LlamaIndexModel(ChunkedModel):
    """A LlamaIndex model as a `LanguageModel`.

    A model derived from ``CustomLLM`` has no async implementation: its ``achat`` blocks the event
    loop while it works.

    Args:
        llm: The model; completion models are prompted through LlamaIndex's own chat template, or
            through their ``query_wrapper_prompt``. A ``system_prompt`` is sent as LlamaIndex does.
        name: Recorded name; by default provider and model, such as ``openai:gpt-4.1-mini``.
        streaming: Whether to ask for a stream when a call brings `on_token`; without one it gets
            the whole reply at once. Many servers report no usage in a stream unless told to, see
            `llamaindex_skr.models.openai_like`.

    Example:
        >>> from llama_index.core.llms import MockLLM
        >>> LlamaIndexModel(MockLLM()).name
        'mockllm'
    """

    reply_class = LlamaIndexReply

    def __init__(self, llm: LLM, *, name: str | None = None, streaming: bool = False) -> None:
        self.llm = llm
        self.name = name or model_name(llm)
        self.streaming = streaming
        remember_keys(llm)

    @property
    def version(self) -> str:
        """The LLM's class and settings."""
        return settings_of(self.llm)

    def _chunks(self, prompt: Prompt, stream: bool) -> Generator[Chunk, None, None]:
        with translated(ModelError, self.name):
            verb, sent, options = self._sent(prompt)
            if stream:
                try:
                    yield from getattr(self.llm, f"stream_{verb}")(sent, **options)
                except GeneratorExit:
                    # OpenAI's client keeps a stream in a cycle of references, and its connection
                    # open with it, where LlamaIndex does not read it to its end.
                    gc.collect()
                    raise
            else:
                yield getattr(self.llm, verb)(sent, **options)

    async def _achunks(self, prompt: Prompt, stream: bool) -> AsyncGenerator[Chunk, None]:
        with translated(ModelError, self.name):
            verb, sent, options = self._sent(prompt)
            if stream:
                async for chunk in await getattr(self.llm, f"astream_{verb}")(sent, **options):
                    yield chunk
            else:
                yield await getattr(self.llm, f"a{verb}")(sent, **options)

    def _sent(self, prompt: Prompt) -> tuple[Literal["chat", "complete"], Any, dict[str, Any]]:
        """The LLM's method, and what it is called with."""
        text = wrapped_text(prompt, self.llm)
        if text is None:
            return "chat", messages_of(prompt, self.llm), self._asked_for(self.llm)
        return "complete", text, {"formatted": True, **self._asked_for(self.llm)}


class LlamaIndexRetriever:
    """A LlamaIndex retriever as a `Retriever`.

    Many retrievers, BM25 and most of one's own among them, define no ``_aretrieve``; LlamaIndex's
    default for it blocks the event loop while it searches. Where that matters, give one that
    awaits.

    Args:
        retriever: The retriever.
        name: Recorded name; by default that of its class.

    Example:
        >>> from llama_index.core.retrievers import BaseRetriever
        >>> from llama_index.core.schema import TextNode
        >>> class Search(BaseRetriever):
        ...     def _retrieve(self, query_bundle):
        ...         return [NodeWithScore(node=TextNode(text=f"About {query_bundle.query_str}"))]
        >>> LlamaIndexRetriever(Search()).retrieve("Paris")[0].text
        'About Paris'
    """

    def __init__(self, retriever: BaseRetriever, *, name: str | None = None) -> None:
        self.retriever = retriever
        self.name = name or type(retriever).__name__

    def retrieve(self, query: str) -> Sequence[Reference]:
        """Find references, best first; raises `RetrieverError` when the retriever fails."""
        with translated(RetrieverError, self.name):
            return _references(self.retriever.retrieve(bundle_of(query)))

    async def aretrieve(self, query: str) -> Sequence[Reference]:
        """Like `retrieve`, awaited."""
        with translated(RetrieverError, self.name):
            return _references(await self.retriever.aretrieve(bundle_of(query)))


ModelLike = LanguageModel | LLM | str
"""A model of LlamaIndex, an id such as ``openai:gpt-4.1-mini``, or a `LanguageModel`."""

OneRetriever = Retriever | BaseRetriever | Index
"""A retriever or an index of LlamaIndex, or a `Retriever`."""

RetrieverLike = OneRetriever | Mapping[str, OneRetriever]
"""One of these, or several by name, whose rankings are fused."""


def as_language_model(
    model: ModelLike, *, base_url: str | None = None, streaming: bool = False
) -> LanguageModel:
    """Make a `LanguageModel` of what a caller gave.

    Args:
        model: A LlamaIndex model, an id for `load_model`, or a `LanguageModel`, passed through.
        base_url: Of an OpenAI-compatible server; for model ids only.
        streaming: As for `LlamaIndexModel`; models loaded by id stream anyway.

    Raises:
        InputError: It is none of these, or the id cannot be used.

    Example:
        >>> from llama_index.core.llms import MockLLM
        >>> as_language_model(MockLLM()).name
        'mockllm'
    """
    if isinstance(model, str):
        return load_model(model, base_url=base_url)
    if isinstance(model, LLM):
        return LlamaIndexModel(model, streaming=streaming)
    # LangChain's models have all that the port asks for, by other meanings.
    if isinstance(model, LanguageModel) and framework_of(model) is None:
        return model
    raise InputError(
        f"a model is wanted, not {type(model).__name__}: "
        "give a LlamaIndex LLM or an id such as 'openai:gpt-4.1-mini'"
    )


def as_retriever(
    retriever: RetrieverLike,
    *,
    model: LanguageModel | None = None,
    similarity_top_k: int | None = None,
    filters: MetadataFilters | None = None,
    node_postprocessors: Sequence[BaseNodePostprocessor] = (),
) -> Retriever:
    """Make a `Retriever` of what a caller gave.

    Args:
        retriever: A LlamaIndex retriever, an index, or a `Retriever`, which is passed through.
            Several by name are fused, see `FusedRetriever`.
        model: For an index whose retriever asks a model, in place of ``Settings.llm``.
        similarity_top_k: How many nodes an index finds for a query.
        filters: What the metadata of an index's nodes must be.
        node_postprocessors: Rerankers and filters of what each search finds, see
            `PostprocessedRetriever`.

    Raises:
        InputError: It is none of these.
        OptionError: What was given takes no `similarity_top_k` or no `filters`.

    Example:
        >>> from llama_index.core.retrievers import BaseRetriever
        >>> class Search(BaseRetriever):
        ...     def _retrieve(self, query_bundle):
        ...         return []
        >>> as_retriever(Search()).name
        'Search'
    """
    asked = {"similarity_top_k": similarity_top_k, "filters": filters}
    options = {name: value for name, value in asked.items() if value is not None}
    if options and not isinstance(retriever, Index):
        (name, *_) = options
        raise OptionError(f"a ready retriever takes no {name}: give it to index.as_retriever(...)")
    if isinstance(retriever, Mapping):
        parts = {name: _named(name, each, model) for name, each in retriever.items()}
        found: Retriever = FusedRetriever(parts)
    else:
        found = _one(retriever, model, options)
    if not node_postprocessors:
        return found
    from llamaindex_skr.postprocessing import PostprocessedRetriever

    return PostprocessedRetriever(found, node_postprocessors)


def _one(
    retriever: OneRetriever, model: LanguageModel | None, options: Mapping[str, Any]
) -> Retriever:
    if isinstance(retriever, Index):
        retriever = retriever_of(retriever, getattr(model, "llm", None), options)
    # Before the port: a LlamaIndex retriever with a name has all that the port asks for.
    if isinstance(retriever, BaseRetriever):
        return LlamaIndexRetriever(retriever)
    found: object = retriever  # callers without a type checker may give anything
    if isinstance(found, Retriever):
        return found
    given = type(found).__name__
    raise InputError(f"a retriever is wanted, not {given}: give a LlamaIndex retriever or index")


def _named(name: str, retriever: OneRetriever, model: LanguageModel | None) -> Retriever:
    found = _one(retriever, model, {})
    if isinstance(found, LlamaIndexRetriever):
        found.name = name  # in its errors
    return found


def _references(nodes: Sequence[NodeWithScore]) -> list[Reference]:
    found = [to_reference(node) for node in nodes]
    return [reference for reference in found if reference.text.strip()]
