"""EngineEmbedder: an embedder whose vectors are made where an engine works."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from skr_core.engines.engine import Engine, Recipe
from skr_core.flow import Flow, arun, call, run

if TYPE_CHECKING:
    from skr_core.ports import Embedder, Vectors

PART = 64
"""Texts that are embedded at a time in one place."""


class EngineEmbedder:
    """The same vectors as an embedder's, made by the workers of an engine.

    Args:
        make: Makes the embedder; it is sent to the workers, each of which calls it once.
        engine: Such as `RayEngine`.

    Attributes:
        name: The embedder's.

    Example:
        >>> from skr_core.engines import LocalEngine
        >>> from skr_core.models.embedders import HashingEmbedder
        >>> EngineEmbedder(HashingEmbedder, LocalEngine()).embed(["Paris"] * 100).shape
        (100, 1024)
    """

    def __init__(self, make: Callable[[], Embedder], engine: Engine) -> None:
        made = make()
        self.name = made.name
        self.fusion_weight = float(getattr(made, "fusion_weight", 1.0))
        self._recipe, self._engine = Recipe(made, make), engine

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts, side by side in parts; see `skr_core.ports.Embedder`."""
        return run(self._embed(texts))

    async def aembed(self, texts: Sequence[str]) -> Vectors:
        """The same, awaited."""
        return await arun(self._embed(texts))

    def _embed(self, texts: Sequence[str]) -> Flow[Vectors]:
        import numpy as np

        starts = range(0, len(texts), PART) or [0]  # no text has vectors too, of the same length
        parts = [texts[start : start + PART] for start in starts]
        limit = 2 * getattr(self._engine, "size", 1)
        made = yield from self._engine.map(self._recipe, _embed, parts, _keep, limit)
        return np.concatenate(made)


def _embed(embedder: Embedder, texts: Sequence[str]) -> Flow[Vectors]:
    return (yield from call(embedder.embed, embedder.aembed, list(texts)))


def _keep(texts: Sequence[str], vectors: Vectors) -> Flow[Vectors]:
    yield from ()  # there is nothing to wait for
    return vectors
