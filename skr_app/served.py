"""The graph that ``langgraph dev`` serves: named in ``langgraph.json``, set up by the environment.

``SKR_MODEL``, ``SKR_BASE_URL``, ``SKR_STORE``, ``SKR_EMBEDDER`` and ``SKR_SEARCH`` mean what they
mean to the command; an empty one counts as unset. Without a store it serves the demonstration's
corpus.
"""

from __future__ import annotations

import asyncio
import os
import threading
from functools import cache

from skr_app.demo_corpus import demo_store
from skr_app.options import Search, make_model, open_store
from skr_core.errors import InputError
from skr_graphs import CompiledGraph

_building = threading.Lock()


async def graph() -> CompiledGraph:
    """The served graph, built in a thread: the server asks for it inside its event loop."""
    return await asyncio.to_thread(_build_one)


def _build_one() -> CompiledGraph:
    with _building:
        return _build()


@cache
def _build() -> CompiledGraph:
    """Once a process, because a store's folder serves one at a time."""
    from langchain_skr import create_skr_graph

    said = os.environ.get
    model = make_model(said("SKR_MODEL") or "extractive", said("SKR_BASE_URL") or None)
    if store := said("SKR_STORE"):
        search = _search(said("SKR_SEARCH") or Search.hybrid)
        return create_skr_graph(model, open_store(store, said("SKR_EMBEDDER") or "hashing", search))
    return create_skr_graph(model, demo_store())


def _search(name: str) -> Search:
    try:
        return Search(name)
    except ValueError:
        raise InputError(f"SKR_SEARCH is {name!r}: give {', '.join(Search)}") from None
