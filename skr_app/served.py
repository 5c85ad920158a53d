"""The graph that ``langgraph dev`` serves: named in ``langgraph.json``, set up by the environment.

``SKR_MODEL``, ``SKR_BASE_URL``, ``SKR_STORE``, ``SKR_EMBEDDER`` and ``SKR_SEARCH`` mean what they
mean to the command, ``SKR_ROUTER`` is the folder of a router; an empty one counts as unset. Without
a store it serves the demonstration's corpus.
"""

from __future__ import annotations

import asyncio
import os
import threading
from functools import cache
from pathlib import Path

from skr_app.configured import make_settings
from skr_app.demo_corpus import demo_store
from skr_app.opening import HASHING, make_model, open_store, store_embedder
from skr_app.options import SearchMode
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
    from skr_graphs import create_self_completion_graph

    said = os.environ.get
    model = make_model(said("SKR_MODEL") or "extractive", said("SKR_BASE_URL") or None)
    if store := said("SKR_STORE"):
        search = _search(said("SKR_SEARCH") or SearchMode.hybrid)
        opened = open_store(store, store_embedder(said("SKR_EMBEDDER") or HASHING), search.value)
    else:
        opened = demo_store()
    router = said("SKR_ROUTER")
    settings = make_settings(model, opened, router=Path(router) if router else None)
    return create_self_completion_graph(**vars(settings)).compile(name="skr")


def _search(name: str) -> SearchMode:
    try:
        return SearchMode(name)
    except ValueError:
        raise InputError(f"SKR_SEARCH is {name!r}: give {', '.join(SearchMode)}") from None
