"""Options that several commands share, and what they open."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from platformdirs import user_data_path

from skr_core.errors import StoreError

if TYPE_CHECKING:
    from skr_core.learning.rows import TextEmbedder
    from skr_core.ports import Embedder, LanguageModel, Retriever, Router
    from skr_core.store.chroma_store import ChromaStore

DEFAULT_STORE = str(user_data_path("skr-rag", appauthor=False) / "store")


class Search(StrEnum):
    """How a store searches."""

    hybrid = "hybrid"
    dense = "dense"
    bm25 = "bm25"


StoreOption = Annotated[
    str,
    typer.Option(
        "--store",
        envvar="SKR_STORE",
        help="Folder of the reference store, or the URL of a `chroma run` server.",
        show_default="your data folder",
    ),
]
ModelOption = Annotated[
    str,
    typer.Option(
        "--model",
        envvar="SKR_MODEL",
        help="`extractive` (a baseline that needs no key), or a chat model: `openai:gpt-4.1-mini`, "
        "`anthropic:claude-haiku-4-5`, or any name with --base-url.",
    ),
]
BaseUrlOption = Annotated[
    str | None,
    typer.Option(
        "--base-url",
        envvar="SKR_BASE_URL",
        help="Of an OpenAI-compatible server: Ollama, vLLM, LM Studio. OPENAI_BASE_URL works too.",
    ),
]
EmbedderOption = Annotated[
    str,
    typer.Option(
        "--embedder",
        envvar="SKR_EMBEDDER",
        help="`hashing` (needs no download), or a sentence-transformers model: name or folder.",
    ),
]
SearchOption = Annotated[
    Search, typer.Option("--search", envvar="SKR_SEARCH", help="How the store is searched.")
]
MaxRoundsOption = Annotated[
    int, typer.Option("--max-rounds", min=1, help="Rounds of retrieval; 1 is single shot.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]
SkipBadOption = Annotated[
    bool, typer.Option("--skip-bad", help="Leave out lines that cannot be read, and count them.")
]


def open_store(
    store: str, embedder: str, search: Search = Search.hybrid, *, must_exist: bool = True
) -> ChromaStore:
    """Open the store that an option names.

    Raises:
        StoreError: It must exist and does not, or cannot be opened.
    """
    from skr_core.store.chroma_store import ChromaStore
    from skr_core.store.folder import JOURNAL_NAME

    chosen = make_embedder(embedder)
    if store.startswith(("http://", "https://")):
        return ChromaStore.connect(store, embedder=chosen, search=search.value)
    path = store_folder(store)
    # A folder of something else must not become a store because somebody asked a question.
    if must_exist and not (path / JOURNAL_NAME).exists():
        raise StoreError(
            f"there is no store at {path}: make one with  skr ingest FILES --store {path}"
        )
    return ChromaStore.open(path, embedder=chosen, search=search.value)


def store_folder(store: str) -> Path:
    """The folder that an option names; the home of an unknown user stays as it is written."""
    return Path(os.path.expanduser(store))


def make_embedder(embedder: str) -> Embedder:
    """Make the embedder that an option names."""
    from skr_core.models.embedders import HashingEmbedder, SentenceTransformerEmbedder

    return HashingEmbedder() if embedder == "hashing" else SentenceTransformerEmbedder(embedder)


def make_text_embedder(embedder: str) -> TextEmbedder:
    """Make the embedder with which routers compare texts; `hashing` is a sparse one for them."""
    from skr_core.models.embedders import SentenceTransformerEmbedder
    from skr_core.models.ngrams import NgramEmbedder

    return NgramEmbedder() if embedder == "hashing" else SentenceTransformerEmbedder(embedder)


def open_router(
    folder: Path,
    model: LanguageModel,
    embedder: str,
    *,
    retriever: Retriever | None = None,
    force: bool = False,
) -> Router:
    """Load a saved router for what it will work with.

    Raises:
        InputError: There is no router in the folder.
        StampMismatch: It was made with something else.
    """
    from skr_core.routers.saving import load_router

    return load_router(
        folder,
        model=model,
        embedder=make_text_embedder(embedder),
        retriever=retriever,
        force=force,
    )


def make_model(model: str, base_url: str | None) -> LanguageModel:
    """Make the model that an option names."""
    from langchain_skr.models import load_model

    return load_model(model, base_url=base_url)
