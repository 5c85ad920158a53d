"""The demonstration's corpus, which ships with the package, and what is asked of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skr_core.ports import OnProgress
    from skr_store.chroma_store import ChromaStore

QUESTION = "Where was the engineer who designed the Marrow Bay lighthouse born?"
"""It takes two passages: one about the lighthouse, and one about its engineer."""
ROUTED = ("What is the flower of Varnland?", "What does a ferry ticket to Harrow Isle cost today?")
"""One that the sample's model knows by itself, and one that it knows no longer."""


def demo_store(on_progress: OnProgress | None = None) -> ChromaStore:
    """The sample's passages in a store in memory."""
    from skr_app.sample import load_sample
    from skr_store.chroma_store import ChromaStore

    corpus = load_sample().corpus
    store = ChromaStore.ephemeral()  # named as a folder's, so that a router fits both
    store.add(list(corpus))
    if on_progress is not None:
        on_progress(len(corpus), len(corpus))
    return store
