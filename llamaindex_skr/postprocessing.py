"""PostprocessedRetriever: LlamaIndex's node postprocessors inside the loop.

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

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore

from llamaindex_skr.bundles import bundle_of
from llamaindex_skr.nodes import to_node, to_reference
from skr_core.errors import InputError, RetrieverError, translated
from skr_core.ports import Retriever
from skr_core.references.found import FoundReferences, errors_of
from skr_core.types import Reference


class PostprocessedRetriever:
    """A retriever whose nodes go through postprocessors: rerankers, filters, replacers.

    As in LlamaIndex's ``RetrieverQueryEngine`` each search's nodes are processed in turn, with that
    search's own query: in the loop a follow-up's nodes are ranked by what the follow-up asks.
    Ranks, not scores, then decide what is kept of all rounds.

    Args:
        retriever: Finds the references. Several that are fused are processed as one.
        postprocessors: Of LlamaIndex, in their order.

    Raises:
        InputError: One of them is no postprocessor.
        RetrieverError: While retrieving: a postprocessor failed.
    """

    def __init__(
        self, retriever: Retriever, postprocessors: Sequence[BaseNodePostprocessor]
    ) -> None:
        for each in postprocessors:
            given: object = each  # callers without a type checker may give anything
            if not isinstance(given, BaseNodePostprocessor):
                raise InputError(f"a node postprocessor is wanted, not {type(given).__name__}")
        self.retriever = retriever
        self.postprocessors = list(postprocessors)
        names = [type(each).__name__ for each in postprocessors]
        self.name = " > ".join((retriever.name, *names))

    def retrieve(self, query: str) -> Sequence[Reference]:
        """Find references, best first."""
        found = self.retriever.retrieve(query)
        nodes = _nodes(found)
        with translated(RetrieverError, self.name):
            for each in self.postprocessors if nodes else ():
                nodes = each.postprocess_nodes(nodes, bundle_of(query))
            return _references(nodes, found)

    async def aretrieve(self, query: str) -> Sequence[Reference]:
        """Like `retrieve`, awaited."""
        found = await self.retriever.aretrieve(query)
        nodes = _nodes(found)
        with translated(RetrieverError, self.name):
            for each in self.postprocessors if nodes else ():
                nodes = await each.apostprocess_nodes(nodes, bundle_of(query))
            return _references(nodes, found)


def _nodes(found: Sequence[Reference]) -> list[NodeWithScore]:
    """The very nodes, without what was added to them on the way."""
    return [to_node(replace(reference, also_in=(), found_by=())) for reference in found]


def _references(nodes: Sequence[NodeWithScore], found: Sequence[Reference]) -> FoundReferences:
    """What is left, as references that tell where they come from."""
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
