"""The systems that ``skr evaluate`` compares, by name."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from skr_core.budget import Budget
from skr_core.errors import InputError
from skr_core.evaluation.baselines import BASELINES, Resources, make_baseline
from skr_core.evaluation.running.asking import System
from skr_core.questions import read_questions
from skr_core.routers.constant import NeverRetrieve
from skr_core.types import Demonstration

if TYPE_CHECKING:
    from skr_core.ports import Embedder, LanguageModel, Retriever, Router

SYSTEMS = ("single_shot", "loop", "never", "always", "adaptive")


@dataclass(frozen=True)
class Parts:
    """What systems are made of."""

    model: LanguageModel
    retriever: Retriever
    embedder: Embedder
    max_rounds: int
    router: Path | None = None
    demonstrations: Path | None = None
    pool: Path | None = None


def make_systems(names: str, parts: Parts) -> list[System]:
    """Make the systems that an option names, each once.

    Raises:
        InputError: A name is none of them, or something that one needs was not given.
    """
    wanted = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    if not wanted:
        raise InputError(f"--systems names none: give some of {', '.join(SYSTEMS)}")
    unknown = [name for name in wanted if name not in SYSTEMS and name not in BASELINES]
    if unknown:
        known = ", ".join((*SYSTEMS, *BASELINES))
        raise InputError(f"--systems names no system {unknown[0]!r}: known are {known}")
    return [
        _graph_system(name, parts) if name in SYSTEMS else _baseline(name, parts) for name in wanted
    ]


def load_saved_router(parts: Parts) -> Router:
    """The router that the option names.

    Raises:
        InputError: None was named, or there is none.
    """
    if parts.router is None:
        raise InputError("the system adaptive needs --router: the folder of a saved router")
    return load_saved_router_at(parts.router, parts.model, parts.embedder)


def load_saved_router_at(path: Path, model: LanguageModel, embedder: Embedder) -> Router:
    """A saved router, with the embedder only where it cannot do without.

    Raises:
        InputError: There is none.
        StampMismatch: It was made with another model or embedder.
    """
    from skr_core.routers.saving import load_router

    try:
        return load_router(path, model=model)
    except InputError:
        return load_router(path, model=model, embedder=embedder)


def router_stamp(path: Path | None) -> dict[str, str]:
    """What tells one saved router from another, also one that was made anew in its place."""
    if path is None:
        return {}
    from skr_core.routers.saving import ROUTER_FILE

    file = path / ROUTER_FILE
    content = file.read_bytes() if file.is_file() else b""
    return {"router": f"{path.name} ({hashlib.blake2b(content, digest_size=4).hexdigest()})"}


def _graph_system(name: str, parts: Parts) -> System:
    from langchain_skr.graph import create_skr_graph
    from skr_graphs import GraphAnswerer

    router: Router | None = None
    if name == "never":
        router = NeverRetrieve()
    elif name == "adaptive":
        router = load_saved_router(parts)
    graph = create_skr_graph(
        parts.model,
        parts.retriever,
        router=router,
        budget=Budget(max_rounds=1 if name == "single_shot" else parts.max_rounds),
    )
    # `always` is the loop: what one has answered the other need not answer again.
    return System.of(name, GraphAnswerer(graph), key="loop" if name == "always" else name)


def _baseline(name: str, parts: Parts) -> System:
    shown: list[Demonstration] = []
    if parts.demonstrations is not None:
        rows = read_questions(parts.demonstrations)
        shown = [Demonstration(each.question, each.gold[0]) for each in rows if each.gold]
    pool = [] if parts.pool is None else [each.asked for each in read_questions(parts.pool)]
    resources = Resources(parts.model, parts.retriever, parts.embedder, shown, pool)
    return System.of(name, make_baseline(name, resources))
