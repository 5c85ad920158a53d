"""Where the work of a batch is done: in this process, or by workers of Ray."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skr_core.engines.embedder import EngineEmbedder as EngineEmbedder
    from skr_core.engines.engine import Engine as Engine
    from skr_core.engines.engine import Recipe as Recipe
    from skr_core.engines.local import LocalEngine as LocalEngine
    from skr_core.engines.ray_engine import RayEngine as RayEngine

_MODULES = {
    "Engine": "skr_core.engines.engine",
    "EngineEmbedder": "skr_core.engines.embedder",
    "LocalEngine": "skr_core.engines.local",
    "RayEngine": "skr_core.engines.ray_engine",
    "Recipe": "skr_core.engines.engine",
}

__all__ = ["Engine", "EngineEmbedder", "LocalEngine", "RayEngine", "Recipe"]


def __getattr__(name: str) -> object:
    """Import what is asked for: nobody pays for what is not used."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
