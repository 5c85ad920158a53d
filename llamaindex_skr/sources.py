"""LlamaIndex's retrievers and indexes as retrievers: one, several that are fused, postprocessed.

Example:
    >>> from llama_index.core import MockEmbedding, VectorStoreIndex
    >>> index = VectorStoreIndex([], embed_model=MockEmbedding(8))
    >>> as_retriever(index, similarity_top_k=5).retriever.similarity_top_k
    5
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from copy import copy
from dataclasses import replace
from functools import partial
from inspect import signature
from itertools import count
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.core.vector_stores.types import MetadataFilters

from llamaindex_skr._compat import filters_of, settable
from llamaindex_skr.nodes import to_node, to_reference
from skr_core.errors import InputError, RetrieverError, translated
from skr_core.flow import Flow, arun, call, run
from skr_core.ports import LanguageModel, ReferenceStore, Retriever, version_of
from skr_core.references.found import FoundReferences, errors_of
from skr_core.references.fusion import FusedRetriever, arranged, is_reordered
from skr_core.types import Reference

T = TypeVar("T")

_QUESTION: ContextVar[QueryBundle | None] = ContextVar("skr_question", default=None)


@runtime_checkable
class Index(Protocol):
    """An index of LlamaIndex, or another object with a retriever."""

    def as_retriever(self, **kwargs: Any) -> BaseRetriever:
        """Make a retriever."""
        ...


OneRetriever = Retriever | BaseRetriever | Index
"""A retriever or an index of LlamaIndex, or a `Retriever`."""

RetrieverLike = OneRetriever | Mapping[str, OneRetriever] | Sequence[OneRetriever]
"""One of these, or several, by name or in a list, whose rankings are fused."""


class LlamaIndexRetriever:
    """A LlamaIndex retriever as a `Retriever`.

    Many retrievers, BM25 and most of one's own among them, define no ``_aretrieve``; LlamaIndex's
    default for it blocks the event loop while it searches. Where that matters, give a retriever
    with an async implementation.

    Args:
        retriever: The retriever.
        name: The name in records and errors; by default its own, or that of its class.

    Example:
        >>> class Search(BaseRetriever):
        ...     def _retrieve(self, query_bundle):
        ...         return [to_node(Reference.of(f"About {query_bundle.query_str}"))]
        >>> LlamaIndexRetriever(Search()).retrieve("Paris")[0].text
        'About Paris'
    """

    def __init__(self, retriever: BaseRetriever, *, name: str | None = None) -> None:
        self.retriever = retriever
        self.name = name or _name_of(retriever)

    @property
    def version(self) -> str:
        """What of its settings decides what it finds: how many, and the kind of its filters."""
        k, filters = getattr(self.retriever, "similarity_top_k", None), filters_of(self.retriever)
        said = ([] if k is None else [f"k={k}"]) + ([f"filter({filters})"] if filters else [])
        return " ".join(said)

    def retrieve(self, query: str) -> Sequence[Reference]:
        """Find references, best first; raises `RetrieverError` when the retriever fails."""
        with translated(RetrieverError, self.name):
            return _references(self.retriever.retrieve(_bundle_of(query)))

    async def aretrieve(self, query: str) -> Sequence[Reference]:
        """Async version of `retrieve`."""
        with translated(RetrieverError, self.name):
            return _references(await self.retriever.aretrieve(_bundle_of(query)))


class PostprocessedRetriever:
    """A retriever whose nodes go through node postprocessors: rerankers, filters, replacers.

    As in LlamaIndex's ``RetrieverQueryEngine`` the nodes of each search are processed in turn, with
    that search's own query: in the loop the nodes of a follow-up query are ranked by that query.
    Ranks, not scores, then decide which references of all rounds are kept.

    A postprocessor that only reorders, whatever the query, such as ``LongContextReorder``, ranks
    nothing: all that is kept of all rounds is put into its order, once, where a model reads it.

    Args:
        retriever: The retriever. Several that are fused are processed as one.
        postprocessors: The postprocessors of LlamaIndex, in their order.

    Raises:
        InputError: One of them is no postprocessor.
        RetrieverError: While retrieving: a postprocessor failed.

    Example:
        >>> from skr_core.testing import MappingRetriever
        >>> search = MappingRetriever({"Capital?": ["Lyon is large.", "Paris is the capital."]})
        >>> class AboutParis(BaseNodePostprocessor):
        ...     def _postprocess_nodes(self, nodes, query_bundle=None):
        ...         return [each for each in nodes if "Paris" in each.text]
        >>> for found in PostprocessedRetriever(search, [AboutParis()]).retrieve("Capital?"):
        ...     print(found.text)
        Paris is the capital.
    """

    def __init__(
        self, retriever: Retriever, postprocessors: Sequence[BaseNodePostprocessor]
    ) -> None:
        listed: object = postprocessors  # callers without a type checker may give anything
        if not isinstance(listed, Sequence):
            raise InputError(f"node_postprocessors is {type(listed).__name__}: give a list of them")
        for each in postprocessors:
            given: object = each
            if not isinstance(given, BaseNodePostprocessor):
                raise InputError(f"a node postprocessor is wanted, not {type(given).__name__}")
        self.retriever = retriever
        self.postprocessors = list(postprocessors)
        names = [type(each).__name__ for each in postprocessors]
        self.name, self._names = retriever.name, names
        self._title = " > ".join((retriever.name, *names))
        # The places of those that only reorder, as searches have shown.
        self._reordering: set[int] = set()

    @property
    def version(self) -> str:
        """The retriever's settings, and the postprocessors."""
        return " > ".join((version_of(self.retriever), *self._names))

    def retrieve(self, query: str) -> Sequence[Reference]:
        """Find references, best first."""
        return run(self._search(query))

    async def aretrieve(self, query: str) -> Sequence[Reference]:
        """Async version of `retrieve`."""
        return await arun(self._search(query))

    def arrange(self, references: Sequence[Reference]) -> Sequence[Reference]:
        """The references as the postprocessors that only reorder would have them read."""
        return run(self._arranged(references))

    async def aarrange(self, references: Sequence[Reference]) -> Sequence[Reference]:
        """Async version of `arrange`."""
        return await arun(self._arranged(references))

    def _search(self, query: str) -> Flow[FoundReferences]:
        found = yield from call(self.retriever.retrieve, self.retriever.aretrieve, query)
        nodes = _nodes(found)
        with translated(RetrieverError, self._title):
            for place, each in enumerate(self.postprocessors if nodes else ()):
                before = _contents(nodes)
                processed = yield from _processed(each, nodes, _bundle_of(query))
                after = _contents(processed)
                if is_reordered(before, after) and (
                    place in self._reordering or (yield from _orders_alike(each, nodes, after))
                ):
                    self._reordering.add(place)
                else:
                    nodes = processed
        return _postprocessed(nodes, found)

    def _arranged(self, references: Sequence[Reference]) -> Flow[Sequence[Reference]]:
        # Their scores are of several queries, and say nothing beside each other: ranks do.
        best_first = zip(references, range(len(references), 0, -1), strict=True)
        nodes = _nodes([replace(each, score=float(rank)) for each, rank in best_first])
        by_id = dict(zip((each.node_id for each in nodes), references, strict=True))
        with translated(RetrieverError, self._title):
            for place in sorted(self._reordering):
                nodes = yield from _processed(self.postprocessors[place], nodes, None)
        read = [by_id[each.node_id] for each in nodes if each.node_id in by_id]
        return read if is_reordered(references, read) else references


def _orders_alike(
    postprocessor: BaseNodePostprocessor, nodes: list[NodeWithScore], order: list[Any]
) -> Flow[bool]:
    """Whether it finds an order without the query too, which no reranker does."""
    try:
        unasked = yield from _processed(postprocessor, nodes, None)
    except Exception:  # whatever it says without a query
        return False
    return _contents(unasked) == order


def _processed(
    postprocessor: BaseNodePostprocessor, nodes: list[NodeWithScore], bundle: QueryBundle | None
) -> Flow[list[NodeWithScore]]:
    process, aprocess = postprocessor.postprocess_nodes, postprocessor.apostprocess_nodes
    return (yield from call(process, aprocess, list(nodes), bundle))


def _contents(nodes: Sequence[NodeWithScore]) -> list[tuple[object, ...]]:
    """What tells whether a node is the same: rerankers write their scores into the very nodes."""
    return [(each.node_id, each.score, each.node.hash) for each in nodes]


class BundledRetriever:
    """A retriever that searches the question with the caller's whole ``QueryBundle``.

    A query transform such as HyDE gives a ``QueryBundle`` other texts to embed. In the loop each
    round searches texts of its own; where one of them is the question, the LlamaIndex retrievers
    behind this one search with the bundle.

    Args:
        retriever: The retriever.
        bundle: The question, and the texts or the vector that stand for it in a search.

    Example:
        >>> from skr_core.testing import MappingRetriever
        >>> search = MappingRetriever({"Capital?": ["Paris is the capital."]})
        >>> asked = QueryBundle("Capital?", custom_embedding_strs=["Some city is the capital."])
        >>> BundledRetriever(search, asked).retrieve("Capital?")[0].text
        'Paris is the capital.'
    """

    def __init__(self, retriever: Retriever, bundle: QueryBundle) -> None:
        self.retriever = retriever
        self.bundle = bundle
        self.name = retriever.name
        self.version = version_of(retriever)

    def retrieve(self, query: str) -> Sequence[Reference]:
        """Find references, best first."""
        with self._asked():
            return self.retriever.retrieve(query)

    async def aretrieve(self, query: str) -> Sequence[Reference]:
        """Async version of `retrieve`."""
        with self._asked():
            return await self.retriever.aretrieve(query)

    def arrange(self, references: Sequence[Reference]) -> Sequence[Reference]:
        """The references in the order in which they are read."""
        return run(arranged(self.retriever, references))

    async def aarrange(self, references: Sequence[Reference]) -> Sequence[Reference]:
        """Async version of `arrange`."""
        return await arun(arranged(self.retriever, references))

    @contextmanager
    def _asked(self) -> Iterator[None]:
        token = _QUESTION.set(self.bundle)
        try:
            yield
        finally:
            _QUESTION.reset(token)


def bundled(retriever: Retriever, bundle: QueryBundle) -> Retriever:
    """The retriever itself, or a `BundledRetriever` where the bundle is more than a text.

    A store reads texts alone, and must be seen to be one where it is given twice.
    """
    more = any((bundle.custom_embedding_strs, bundle.embedding, bundle.image_path))
    is_store = isinstance(retriever, ReferenceStore)
    return BundledRetriever(retriever, bundle) if more and not is_store else retriever


def as_retriever(
    retriever: RetrieverLike,
    *,
    model: LanguageModel | None = None,
    similarity_top_k: int | None = None,
    filters: MetadataFilters | None = None,
    node_postprocessors: Sequence[BaseNodePostprocessor] = (),
    callback_manager: CallbackManager | None = None,
) -> Retriever:
    """Make a `Retriever` of LlamaIndex's retrievers and indexes.

    Args:
        retriever: A LlamaIndex retriever, an index, or a `Retriever`, which is returned as it is.
            Several, by name or in a list, are fused, see `FusedRetriever`.
        model: The model of an index whose retriever asks one, in place of ``Settings.llm``.
        similarity_top_k: The number of nodes that an index, or each of several, finds for a query.
        filters: The conditions that the metadata of an index's nodes must meet. A ready retriever
            takes both where it has an attribute of that name; it stays as it is, and a copy is
            asked.
        node_postprocessors: The rerankers and filters of each search's nodes, see
            `PostprocessedRetriever`.
        callback_manager: The callback manager of LlamaIndex that hears of each search; by default
            the one that each retriever has.

    Raises:
        InputError: The retriever is none of these, or takes no `similarity_top_k` or no `filters`.

    Example:
        >>> class Search(BaseRetriever):
        ...     def _retrieve(self, query_bundle):
        ...         return []
        >>> as_retriever(Search()).name
        'Search'
    """
    asked = {"similarity_top_k": similarity_top_k, "filters": filters}
    options = _checked({name: value for name, value in asked.items() if value is not None})
    one = partial(_one, model=model, options=options, manager=callback_manager)
    found: Retriever
    if isinstance(retriever, Mapping):
        found = FusedRetriever({name: one(each, name=name) for name, each in retriever.items()})
    elif isinstance(retriever, list | tuple):
        found = FusedRetriever(_named([one(each) for each in retriever]))
    else:
        found = one(cast("OneRetriever", retriever))
    return PostprocessedRetriever(found, node_postprocessors) if node_postprocessors else found


def _checked(options: dict[str, Any]) -> dict[str, Any]:
    k, filters = options.get("similarity_top_k", 1), options.get("filters")
    if not isinstance(k, int) or k < 1:
        raise InputError(f"similarity_top_k is {k!r}: give a whole number of at least 1")
    if not isinstance(filters, MetadataFilters | None):
        given = type(filters).__name__
        raise InputError(f"filters is {given}: give MetadataFilters(filters=[...]) of LlamaIndex")
    return options


def _named(retrievers: Sequence[Retriever]) -> dict[str, Retriever]:
    """Retrievers by their names; of equal ones the second ends in 2, and so on."""
    named: dict[str, Retriever] = {}
    for each in retrievers:
        names = (each.name if n == 1 else f"{each.name} {n}" for n in count(1))
        named[next(name for name in names if name not in named)] = each
    return named


def _one(
    retriever: OneRetriever,
    model: LanguageModel | None,
    options: Mapping[str, Any],
    manager: CallbackManager | None,
    name: str | None = None,
) -> Retriever:
    found: object = retriever  # callers without a type checker may give anything
    if isinstance(found, Index):
        found = _retriever_of(found, getattr(model, "llm", None), options)
    elif isinstance(found, LlamaIndexRetriever) and (options or name or manager):
        name, found = name or found.name, _with(found.retriever, options)
    elif isinstance(found, BaseRetriever | Retriever):
        found = _with(found, options)
    # Before the port: a LlamaIndex retriever with a name has all methods of the port.
    if isinstance(found, BaseRetriever):
        if manager is not None:
            found = copy(found)  # another engine over it may have a manager of its own
            found.callback_manager = manager
        return LlamaIndexRetriever(found, name=name)
    if isinstance(found, Retriever):
        return found
    given = type(found).__name__
    raise InputError(f"a retriever is wanted, not {given}: give a LlamaIndex retriever or index")


def _with(retriever: T, options: Mapping[str, Any]) -> T:
    """The retriever, or a copy of it that has these options."""
    made = copy(retriever) if options else retriever
    for name, value in options.items():
        if not (attribute := settable(made, name)):
            raise InputError(
                f"{type(made).__name__} takes no {name}: give an index, or a retriever that keeps "
                f"its {name} in an attribute of that name"
            )
        setattr(made, attribute, value)
    return made


def _retriever_of(index: Index, llm: object, options: Mapping[str, Any]) -> BaseRetriever:
    """The retriever of an index, made with options that are known to count.

    Many of LlamaIndex's retrievers swallow unknown options, and a filter that is not applied finds
    what it should hide. So each option must be one that the retriever's class names.
    """
    retriever = None
    if llm:
        with suppress(TypeError):  # an index with a model of its own takes no other
            retriever = index.as_retriever(**options, llm=llm)
    if retriever is None:
        with suppress(TypeError):
            retriever = index.as_retriever(**options)
    known = () if retriever is None else signature(type(retriever).__init__).parameters
    for name in options:
        if name not in known:
            raise InputError(
                f"{type(index).__name__} takes no {name}: give its own index.as_retriever(...)"
            )
    return index.as_retriever() if retriever is None else retriever


def _name_of(retriever: BaseRetriever) -> str:
    name = getattr(retriever, "name", None)
    return name if isinstance(name, str) and name else type(retriever).__name__


def _bundle_of(query: str) -> QueryBundle:
    """The caller's bundle where the query is the question, else the query alone.

    A copy each time, because retrievers write their own embedding into it.
    """
    asked = _QUESTION.get()
    if asked is not None and asked.query_str.strip() == query.strip():
        return replace(asked)
    return QueryBundle(query)


def _references(nodes: Sequence[NodeWithScore]) -> list[Reference]:
    found = [to_reference(node) for node in nodes]
    return [reference for reference in found if reference.text.strip()]


def _nodes(found: Sequence[Reference]) -> list[NodeWithScore]:
    """The very nodes, without the metadata that fusion added to them."""
    return [to_node(replace(reference, also_in=(), found_by=())) for reference in found]


def _postprocessed(nodes: Sequence[NodeWithScore], found: Sequence[Reference]) -> FoundReferences:
    """The nodes that are left as references, each with the places where it was found."""
    ids = [node.node.node_id for node in _nodes(found)]
    sources = dict(zip(ids, found, strict=True))
    references = []
    for node in nodes:
        reference = to_reference(node)
        if (source := sources.get(node.node.node_id)) is not None:
            reference = replace(reference, also_in=source.also_in, found_by=source.found_by)
        references.append(reference)
    kept = [reference for reference in references if reference.text.strip()]
    return FoundReferences(kept, errors_of(found))
