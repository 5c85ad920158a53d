"""The systems that ``skr evaluate`` compares, by name."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from skr_core.errors import InputError
from skr_core.settings import Settings
from skr_core.types import Action
from skr_learn.evaluation.asking import System

if TYPE_CHECKING:
    pass

ACTIONS: dict[str, Action | None] = {
    "single_shot": "single",
    "loop": "loop",
    "never": "direct",
    "always": "loop",
    "adaptive": None,
}
"""The systems of the graph, each with the action it always takes; the router decides for None."""

SYSTEMS = tuple(ACTIONS)


def make_systems(names: str, settings: Settings, *, has_router: bool = False) -> list[System]:
    """Make the systems that an option names, each once.

    Args:
        names: Names with commas between them.
        settings: The settings of the graph.
        has_router: Whether the settings have a router that was asked for.

    Raises:
        InputError: A name is none of them, or something that one needs was not given.
    """
    from skr_graphs import GraphAnswerer

    wanted = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    if not wanted:
        raise InputError(f"--systems names none: give some of {', '.join(SYSTEMS)}")
    unknown = [name for name in wanted if name not in SYSTEMS]
    if unknown:
        known = ", ".join(SYSTEMS)
        raise InputError(f"--systems names no system {unknown[0]!r}: known are {known}")
    if "adaptive" in wanted and not has_router:
        raise InputError("the system adaptive needs --router: the folder of a saved router")
    answerer = GraphAnswerer(settings)
    # `always` is the loop: what one has answered the other need not answer again.
    return [
        System.of(name, answerer, key=ACTIONS[name] or name, action=ACTIONS[name])
        for name in wanted
    ]


def router_stamp(path: Path | None) -> dict[str, str]:
    """What tells a saved router and its arbiter from others, also from those before them."""
    if path is None:
        return {}
    from skr_core.routers.saving import ARBITER_FILE, ROUTER_FILE

    files = (path / ROUTER_FILE, path / ARBITER_FILE)
    content = b"".join(file.read_bytes() for file in files if file.is_file())
    return {"router": f"{path.name} ({hashlib.blake2b(content, digest_size=4).hexdigest()})"}
