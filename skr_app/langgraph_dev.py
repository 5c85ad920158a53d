"""The graph that ``langgraph dev`` serves: named in ``langgraph.json``, set up by the environment.

``SKR_MODEL``, ``SKR_BASE_URL``, ``SKR_STORE``, ``SKR_EMBEDDER`` and ``SKR_SEARCH`` mean what they
mean to the command, ``SKR_ROUTER`` is the file of a router; an empty one counts as unset. Without
a store it serves the demonstration's corpus.
"""

from __future__ import annotations

import asyncio
import os
import threading
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, get_args

from skr_app.choosing import check_model
from skr_app.country import country_store
from skr_app.extractive import NAME
from skr_app.models import Models
from skr_app.opening import open_settings, open_store, store_embedder
from skr_app.options import SearchMode, SystemOptions
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
    """Build the graph once a process, because a store's folder serves one at a time."""
    from skr_graphs import create_self_completion_graph

    options = _options()
    if store := os.environ.get("SKR_STORE"):
        check_model(options)
        opened = open_store(store, store_embedder(options.embedder), options.search)
    else:
        options = replace(options, model=options.model or NAME)
        opened = country_store()
    router = os.environ.get("SKR_ROUTER")
    settings = open_settings(
        options, Models.of(options), opened, router=Path(router) if router else None
    )
    return create_self_completion_graph(**vars(settings)).compile(name="skr")


def _options() -> SystemOptions:
    """The options that the environment names; an empty variable counts as unset."""
    names = ("model", "base_url", "embedder", "search")
    variables = {name: os.environ.get(f"SKR_{name.upper()}") for name in names}
    given: dict[str, Any] = {name: value for name, value in variables.items() if value}
    modes = get_args(SearchMode)
    if (search := given.get("search", modes[0])) not in modes:
        raise InputError(f"SKR_SEARCH is {search!r}: give {', '.join(modes)}")
    return SystemOptions(**given)
