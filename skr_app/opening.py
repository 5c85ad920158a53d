"""What commands open: models, caches, embedders, and what is searched."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skr_app.extractive.loading import is_extractive
from skr_app.limits import limited, limited_scorer
from skr_core.budget import TokenCount, count_tokens
from skr_core.errors import InputError, StoreError

if TYPE_CHECKING:
    from skr_core.ports import Embedder, LanguageModel, TextScorer
    from skr_core.questions import Question
    from skr_core.types import Reference
    from skr_learn.reply_cache import ReplyCache
    from skr_store.chroma_store import ChromaStore
    from skr_store.hybrid_search import SearchMode

HASHING = "hashing"
"""The option's default: of routers, which need a vector of each question."""
BATCH = 1_000
"""Passages added at a time, between two looks at the progress."""


def make_model(
    model: str, base_url: str | None, count: Callable[[str], TokenCount] = count_tokens
) -> LanguageModel:
    """Make the model that an option names; ``SKR_TEMPERATURE`` says its temperature.

    Args:
        model: As the option names it.
        base_url: Of its server.
        count: Says how many tokens the extractive model has read and written.

    Raises:
        InputError: There is no such model, or it has no price where money is limited; or the
            address is none, or the temperature no number.
    """
    if base_url and not base_url.startswith(("http://", "https://")):
        raise InputError(f"--base-url {base_url}: begin it with http:// or https://")
    said = os.environ.get("SKR_TEMPERATURE")
    try:
        temperature = float(said) if said else None
    except ValueError as error:
        raise InputError(f"SKR_TEMPERATURE must be a number, not {said!r}") from error
    if model == "extractive":  # which needs no framework
        from skr_app.extractive import ExtractiveModel

        return limited(ExtractiveModel(count=count))
    from langchain_skr.models import load_model

    return limited(load_model(model, base_url=base_url, temperature=temperature))


def open_likelihoods(model: str, base_url: str | None) -> TextScorer:
    """What tells how likely the model that an option names finds a text.

    Raises:
        InputError: It is a model that tells no such thing, or has no price where money is limited.
    """
    if is_extractive(model):
        raise InputError(
            "--likelihoods needs a model behind a server that tells them, such as vLLM: give "
            "--model and --base-url"
        )
    from skr_core.models.openai_server import CompletionScorer

    return limited_scorer(CompletionScorer(model.removeprefix("openai:"), base_url=base_url))


def open_cache(stack: ExitStack, folder: Path | None) -> ReplyCache | None:
    """Open the cache in a folder; None where no folder is named.

    Args:
        stack: Closes the cache.
        folder: Made if missing.

    Raises:
        StoreError: It cannot be used.
    """
    if folder is None:
        return None
    from skr_learn.reply_cache import ReplyCache

    return stack.enter_context(ReplyCache(folder / "replies.sqlite"))


def through(cache: ReplyCache | None, model: LanguageModel) -> LanguageModel:
    """The model, asked through a cache where there is one."""
    if cache is None:
        return model
    from skr_learn.reply_cache import CachedModel

    return CachedModel(model, cache)


def open_embedder(embedder: str) -> Embedder:
    """Make the embedder that an option names: ``hashing``, or a sentence-transformers model."""
    from skr_core.models.embedders import make_embedder

    return make_embedder(embedder)


def store_embedder(embedder: str) -> Embedder | None:
    """The embedder of a store; None for ``hashing``, which a store has that was made with it."""
    return None if embedder == HASHING else open_embedder(embedder)


def open_store(
    store: str,
    embedder: Embedder | None,
    search: SearchMode = "hybrid",
    *,
    must_exist: bool = True,
) -> ChromaStore:
    """Open the store that an option names.

    Args:
        store: A folder or an address.
        embedder: As in `ChromaStore.open`.
        search: How it is searched.
        must_exist: Do not make it.

    Raises:
        StoreError: It must exist and does not, or cannot be opened.
    """
    from skr_app.output import messages
    from skr_store.chroma_store import ChromaStore
    from skr_store.folder import JOURNAL_NAME

    if store.startswith(("http://", "https://")):
        with messages.status("Opening the store"):
            return ChromaStore.connect(store, embedder=embedder, search=search)
    path = store_folder(store) if must_exist else place_of_store(store)
    # A folder of something else must not become a store because somebody asked a question.
    if must_exist and not (path / JOURNAL_NAME).exists():
        raise StoreError(
            f"there is no store at {path}: make one with  skr ingest FILES --store {path}"
        )
    with messages.status("Opening the store"):  # which may have to be put right first
        return ChromaStore.open(path, embedder=embedder, search=search)


def store_folder(store: str) -> Path:
    """The folder that an option names; the home of an unknown user stays as it is written."""
    return Path(os.path.expanduser(store))


def place_of_store(store: str) -> Path:
    """The folder that an option names, of a store or for a new one.

    Raises:
        StoreError: It holds other files: as a store it would be passed over by ingestion.
    """
    from skr_store.folder import JOURNAL_NAME
    from skr_store.locking import LOCK_NAME

    path = store_folder(store)
    held = {each.name for each in path.iterdir()} if path.is_dir() else set()
    if {JOURNAL_NAME, LOCK_NAME}.isdisjoint(held) and any(each[0] != "." for each in held):
        raise StoreError(
            f"{path} holds other files and no store: name a folder for the store alone, such as "
            f"{path / 'store'}"
        )
    return path


def check_writable(folder: Path) -> None:
    """Say that a folder's files cannot be written before work is spent on them.

    Raises:
        InputError: They cannot.
    """
    there = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())
    if not os.access(there, os.W_OK | os.X_OK):
        raise InputError(f"{folder} cannot be written: {there} is read-only")


def open_searched(
    stack: ExitStack,
    *,
    store: str | None,
    corpus: Path | None,
    questions: Sequence[Question],
    embedder: str,
    search: SearchMode,
    skip_bad: bool,
) -> tuple[ChromaStore, str]:
    """Open what questions are searched in: a store, a corpus file, or their own contexts.

    Args:
        stack: Closes the store.
        store: A store that is there already.
        corpus: A file of passages, ingested for this run alone.
        questions: Their contexts are searched where neither is given.
        embedder: As an option names it.
        search: How it is searched.
        skip_bad: Leave out lines of the corpus that cannot be read.

    Returns:
        The store, and a name for what it holds that tells one corpus from another.

    Raises:
        InputError: Both are given, or there is nothing to search.
    """
    from skr_app.output import progress
    from skr_store.chroma_store import ChromaStore

    if corpus is not None and store is not None:
        raise InputError("give either --corpus or --store")
    if store is not None:
        opened = stack.enter_context(open_store(store, store_embedder(embedder), search))
        return opened, store if "://" in store else Path(store).name
    references, name = searched_references(corpus, questions, skip_bad=skip_bad)
    opened = ChromaStore.ephemeral(embedder=store_embedder(embedder), search=search)
    stack.enter_context(opened)
    with progress("Ingesting") as advance:
        add_all(opened, references, advance)
    return opened, name


def searched_references(
    corpus: Path | None, questions: Sequence[Question], *, skip_bad: bool
) -> tuple[Sequence[Reference], str]:
    """The passages of a corpus file or of the questions' contexts, and a name for them.

    Raises:
        InputError: There are none.
    """
    from skr_app.measuring import collect_references, digest_of
    from skr_core.questions import corpus_of

    references = (
        corpus_of(list(questions))
        if corpus is None
        else collect_references(corpus, skip_bad=skip_bad)
    )
    if not references:
        raise InputError("the questions hold no contexts to search: give --corpus or --store")
    name = "contexts" if corpus is None else corpus.name
    return references, f"{name} ({len(references):,} passages, {digest_of(references)})"


def add_all(store: ChromaStore, references: Sequence[Reference], advance: Any) -> None:
    """Add references, telling how far it is."""
    for start in range(0, len(references), BATCH):
        store.add(references[start : start + BATCH])
        advance(min(start + BATCH, len(references)), len(references))
