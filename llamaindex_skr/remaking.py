"""RemadeGraph: engines and retrievers in pickles, which cannot hold a compiled graph.

Example:
    >>> import pickle
    >>> from llamaindex_skr import SKRQueryEngine
    >>> from skr_core.routers import NeverRetrieve
    >>> from skr_app.extractive import ExtractiveModel
    >>> engine = SKRQueryEngine.from_defaults(llm=ExtractiveModel(), router=NeverRetrieve())
    >>> type(pickle.loads(pickle.dumps(engine))).__name__
    'SKRQueryEngine'
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from skr_core.errors import InputError

if TYPE_CHECKING:
    from skr_graphs.compiled import SelfCompletionGraph


class RemadeGraph:
    """Has a compiled graph in ``_graph``, and in ``_factory`` what makes it, where that is known.

    A copy, too, has a graph of its own.
    """

    _graph: Any
    _factory: Callable[[], SelfCompletionGraph] | None = None

    def _use(self, graph: object) -> None:
        """Take a compiled graph.

        Raises:
            InputError: It is something else, such as what `from_defaults` makes a graph of.
        """
        if not hasattr(graph, "astream"):
            name = type(self).__name__
            raise InputError(
                f"{name} is made from a compiled graph, not from {type(graph).__name__}: "
                f"{name}.from_defaults(...) takes a retriever or an index"
            )
        self._graph = graph

    def __getstate__(self) -> dict[str, Any]:
        """All but the graph.

        Raises:
            TypeError: The graph is the caller's own.
        """
        if self._factory is None:
            name = type(self).__name__
            raise TypeError(
                f"the graph of this {name} is your own and cannot be pickled: make the {name} "
                "where it is needed, or by from_defaults"
            )
        return {name: value for name, value in vars(self).items() if name != "_graph"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make the graph again."""
        vars(self).update(state)
        self._graph = state["_factory"]().compile(name="skr")
