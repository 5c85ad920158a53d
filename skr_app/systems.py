"""The systems that ``skr evaluate`` compares, by name."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from skr_core.errors import InputError
from skr_core.evaluation.baselines import BASELINES, BaselineInputs, make_baseline
from skr_core.evaluation.running.asking import System
from skr_core.prompts.templates import DEFAULT_TEMPLATES
from skr_core.questions import read_questions
from skr_core.settings import Settings
from skr_core.types import Action

if TYPE_CHECKING:
    from skr_core.ports import Embedder, EntailmentModel

ACTIONS: dict[str, Action | None] = {
    "single_shot": "single",
    "loop": "loop",
    "never": "direct",
    "always": "loop",
    "adaptive": None,
}
"""The systems of the graph, each with the action it always takes; the router decides for None."""

SYSTEMS = tuple(ACTIONS)


@dataclass(frozen=True)
class Ingredients:
    """What systems are made of.

    Attributes:
        settings: Of the graph; prompt baselines take model, retriever and demonstrations from it.
        embedder: For baselines that compare questions.
        pool: Questions from which Auto-CoT chooses its demonstrations.
        has_router: Whether the settings have a router that was asked for.
        entailment: For baselines that judge what passages bear out.
    """

    settings: Settings
    embedder: Embedder
    pool: Path | None = None
    has_router: bool = False
    entailment: EntailmentModel | None = None


def make_systems(names: str, ingredients: Ingredients) -> list[System]:
    """Make the systems that an option names, each once.

    Raises:
        InputError: A name is none of them, or something that one needs was not given.
    """
    from skr_graphs import GraphAnswerer

    wanted = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    if not wanted:
        raise InputError(f"--systems names none: give some of {', '.join(SYSTEMS)}")
    unknown = [name for name in wanted if name not in SYSTEMS and name not in BASELINES]
    if unknown:
        known = ", ".join((*SYSTEMS, *BASELINES))
        raise InputError(f"--systems names no system {unknown[0]!r}: known are {known}")
    if "adaptive" in wanted and not ingredients.has_router:
        raise InputError("the system adaptive needs --router: the folder of a saved router")
    answerer = GraphAnswerer(ingredients.settings)
    # `always` is the loop: what one has answered the other need not answer again.
    return [
        System.of(name, answerer, key=ACTIONS[name] or name, action=ACTIONS[name])
        if name in SYSTEMS
        else _baseline(name, ingredients)
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


def _baseline(name: str, ingredients: Ingredients) -> System:
    settings = ingredients.settings
    pool = [each.asked for each in read_questions(ingredients.pool)] if ingredients.pool else []
    given = BaselineInputs(
        settings.model,
        settings.retriever,
        ingredients.embedder,
        settings.demonstrations,
        pool,
        None if settings.templates == DEFAULT_TEMPLATES else settings.templates,
        ingredients.entailment,
    )
    return System.of(name, make_baseline(name, given))
