"""The graph that ``langgraph dev`` serves: named in ``langgraph.json``, set up by the environment.

``SKR_MODEL``, ``SKR_STORE`` and ``SKR_EMBEDDER`` mean what they mean to the command. Without a
store it serves the demonstration's corpus.
"""

from __future__ import annotations

import asyncio
import os
import threading
from functools import cache

from skr_app.demo_corpus import demo_store
from skr_app.options import make_model, open_store
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

    store = os.environ.get("SKR_STORE")
    embedder = os.environ.get("SKR_EMBEDDER", "hashing")
    model = make_model(os.environ.get("SKR_MODEL", "extractive"), None)
    return create_skr_graph(model, open_store(store, embedder) if store else demo_store())
