"""From options to opened things: the settings of a system, what it searches, its questions."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from inspect import signature
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from skr_app.importing import import_retriever
from skr_app.models import Models
from skr_app.options import DEFAULT_STORE, AskOptions, BatchOptions, SearchMode, SystemOptions
from skr_app.output import Advance, escape, messages, progress
from skr_core.budget import Budget
from skr_core.errors import DataError, InputError, StoreError
from skr_core.files import read_whole
from skr_core.plain import from_plain
from skr_core.prompts.templates import DEFAULT_TEMPLATES, PromptTemplates
from skr_core.questions import Question, corpus_of, read_questions
from skr_core.registry import registered
from skr_core.settings import Settings

if TYPE_CHECKING:
    from skr_core.ports import Embedder, LanguageModel, ReferenceStore, Retriever, Router
    from skr_core.types import Reference
    from skr_learn import Records
    from skr_store import Store

BATCH = 1_000
"""Passages that are added between two updates of the progress bar."""


def open_settings(
    options: SystemOptions,
    models: Models,
    retriever: Retriever | None,
    *,
    model: LanguageModel | None = None,
    router: Path | None = None,
    force: bool = False,
    max_calls: int | None = None,
    abstain_below: float | None = None,
) -> Settings:
    """Open the system that a command's options describe.

    Args:
        options: The options.
        models: Makes the model that answers and those that judge.
        retriever: The retriever that is searched.
        model: The model that answers, in place of the one that the options name.
        router: The file of a saved router, or the name of one that needs no records; None
            retrieves always.
        force: Take what was saved although it was made with something else.
        max_calls: The calls of the model that a question may take.
        abstain_below: The chance to be right below which an answer is not served.

    Raises:
        SKRError: An option cannot be used.
    """
    model = model or models.model(options.model)
    return Settings.of(
        model,
        retriever,
        router=None if router is None else open_router(router, model, retriever, force=force),
        reflector=models.reflector(options.reflector, model, retriever, force=force),
        budget=Budget(
            max_rounds=options.max_rounds, max_calls=max_calls, deadline_s=models.limits.seconds
        ),
        when_insufficient=options.when_insufficient,
        decompose=options.decompose,
        abstain_below=abstain_below,
        templates=read_templates(options.templates),
    )


def open_router(
    router: Path, model: LanguageModel, retriever: Retriever | None = None, *, force: bool = False
) -> Router:
    """Load a saved router for what it will work with; it makes its own embedder.

    Args:
        router: The file, or the name of a router that needs no records.
        model: The model that answers.
        retriever: The retriever that is searched.
        force: Load it although it was made with something else.

    Raises:
        InputError: There is no such file or name.
        StampMismatch: It was made with something else, unless `force`.
    """
    from skr_core import load_router

    return load_router(router, model=model, retriever=retriever, force=force)


def router_stamp(path: Path | None) -> dict[str, str]:
    """A stamp that tells a router from others, also from an earlier one in its file.

    Args:
        path: The file that it is saved in or calibrated on, or its name; None has no stamp.
    """
    if path is None:
        return {}
    content = path.read_bytes() if path.is_file() else b""
    digest = f" ({hashlib.blake2b(content, digest_size=4).hexdigest()})" if content else ""
    return {"router": f"{path.name}{digest}"}


def read_records(path: Path, where: Sequence[str] = (), *, skip_bad: bool = False) -> Records:
    """Read records, of several systems too where an option says which of them to keep.

    Args:
        path: The file.
        where: What the records kept have, each as ``FIELD=VALUE``.
        skip_bad: Leave out lines that cannot be read.

    Raises:
        InputError: There is no such file, or no record has a value.
        DataError: A line is broken, unless `skip_bad`.
        StampMismatch: The records that are kept were not all made with the same.
    """
    from skr_learn import Records
    from skr_learn.records import check_same_stamp

    kept = Records.read(path, skip_bad=skip_bad, mixed_stamps=True)
    for each in where:
        name, equals, text = each.partition("=")
        name = name.strip().removeprefix("extra.").removeprefix("stamp.")
        if not (name and equals):
            raise InputError(f"--where {each}: give FIELD=VALUE, such as model=gpt-4.1-mini")
        # A file may hold numbers, and a command line holds texts.
        values = (getattr(one.stamp, name, None) or one.extra.get(name) for one in kept)
        kept = kept.where(**{name: next((one for one in values if str(one) == text), text)})
    stamps = [one.stamp for one in kept]
    check_same_stamp(stamps, path, "name them: --where FIELD=VALUE")
    return kept


def read_templates(path: Path | None) -> PromptTemplates:
    """The words of the prompts in a JSON file; those that it does not hold are the default ones.

    Raises:
        InputError: There is no such file.
        DataError: The file is not JSON, not of templates, or a template lacks a placeholder.
    """
    if path is None:
        return DEFAULT_TEMPLATES
    written = read_whole(path)
    try:
        return from_plain(PromptTemplates, orjson.loads(written), strict=True)
    except orjson.JSONDecodeError as error:
        raise DataError(path, None, f"this is not JSON ({error})") from error
    except InputError as error:
        raise DataError(path, None, str(error)) from error


def load_questions(
    path: Path,
    dataset: str | None = None,
    *,
    limit: int | None = None,
    skip_bad: bool = False,
    question_field: str | None = None,
    answer_field: str | None = None,
) -> list[Question]:
    """Read a file of questions, whoever wrote it, and tell what was taken for what.

    Args:
        path: The file.
        dataset: The name of the source, a function from a path to questions that a package
            registers; None reads the forms of `skr_core.read_questions`.
        limit: The number of questions that are read at most.
        skip_bad: Leave out lines that cannot be read.
        question_field: The field that holds the question; None finds it.
        answer_field: The field that holds the right answers, likewise.

    Raises:
        InputError: There is no such file or source, or a source is given fields.
        DataError: A line is broken, unless `skip_bad`.
    """
    named = {"question_field": question_field, "answer_field": answer_field}
    if dataset is None:
        return read_questions(
            path,
            **named,
            limit=limit,
            skip_bad=skip_bad,
            on_fields=lambda told: messages.print(f"{escape(told)}", soft_wrap=True),
        )
    if any(named.values()):
        raise InputError(
            f"--question-field and --answer-field cannot stand beside --dataset {dataset}"
        )
    read: Callable[..., Iterable[Question]] = registered("questions", dataset)
    if skip_bad and "skip_bad" not in signature(read).parameters:
        raise InputError(f"--skip-bad cannot stand beside --dataset {dataset}")
    found = read(path, skip_bad=True) if skip_bad else read(path)
    questions = list(islice(found, limit))
    if wrong := next((each for each in questions if not isinstance(each, Question)), None):
        raise InputError(f"--dataset {dataset} gave {type(wrong).__name__}, not a Question")
    return questions


def open_embedder(embedder: str) -> Embedder:
    """Make the embedder that an option names: ``hashing``, or a sentence-transformers model."""
    from skr_core.models.embedders import make_embedder

    return make_embedder(embedder)


def store_embedder(embedder: str | Embedder | None) -> Embedder | None:
    """The embedder of a store, or the one that its name stands for; None leaves it to the store."""
    return open_embedder(embedder) if isinstance(embedder, str) else embedder


def open_store(
    store: str,
    embedder: Embedder | None,
    search: SearchMode = "hybrid",
    *,
    must_exist: bool = True,
    language: str | None = None,
) -> Store:
    """Open the store that an option names.

    Args:
        store: The folder or the address of the store.
        embedder: The embedder, as `Store.open` takes it.
        search: The way the store is searched.
        must_exist: Refuse to make a new store.
        language: The language whose words are stemmed; None for that of the store.

    Raises:
        StoreError: The store must exist and does not, or cannot be opened.
    """
    from skr_store import Store

    if store.startswith(("http://", "https://")):
        with messages.status("Opening the store"):
            return Store.connect(store, embedder=embedder)
    # A folder of something else must not become a store because somebody asked a question.
    path = existing_store(store) if must_exist else place_of_store(store)
    with messages.status("Opening the store"):  # which may have to be put right first
        return Store.open(path, embedder=embedder, search=search, language=language)


def store_folder(store: str) -> Path:
    """The folder that an option names; the home of an unknown user stays as it is written."""
    return Path(os.path.expanduser(store))


def existing_store(store: str) -> Path:
    """The folder of a store that is there already.

    Raises:
        StoreError: There is no store.
    """
    from skr_store.database import holds_store

    path = store_folder(store)
    if not holds_store(path):
        raise StoreError(
            f"there is no store at {path}: make one with  skr ingest FILES --store {path}"
        )
    return path


def place_of_store(store: str) -> Path:
    """The folder of a store, or of one that is to be made there.

    Raises:
        StoreError: The folder holds other files: ingestion would pass over a store in it.
    """
    from skr_store.database import holds_store

    path = store_folder(store)
    files = path.iterdir() if path.is_dir() else ()
    if not holds_store(path) and any(each.name[0] != "." for each in files):
        raise StoreError(
            f"{path} holds other files and no store: name a folder for the store alone, such as "
            f"{path / 'store'}"
        )
    return path


def check_writable(path: Path) -> None:
    """Refuse a file that cannot be written, before work is spent on it.

    Raises:
        InputError: It cannot.
    """
    folder = next(each for each in path.absolute().parents if each.exists())
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"{path} cannot be written: {folder} is read-only")


@contextmanager
def open_retriever(options: AskOptions) -> Iterator[Retriever]:
    """Open what a person's questions are searched in: one's own retriever, or the store."""
    if options.retriever is not None:
        yield import_retriever(options.retriever)
        return
    with open_store(options.store, store_embedder(options.embedder), options.search) as store:
        yield store


def open_searched_by(
    stack: ExitStack, options: BatchOptions, questions: Sequence[Question]
) -> tuple[Retriever, str]:
    """Open what a file of questions is searched in: one's own retriever, or as `open_searched`."""
    if options.retriever is not None:
        check_alone(options)
        return import_retriever(options.retriever), options.retriever
    return open_searched(
        stack,
        store=options.store,
        corpus=options.corpus,
        questions=questions,
        embedder=options.embedder,
        search=options.search,
        skip_bad=options.skip_bad,
    )


def with_default_store(options: BatchOptions, questions: Sequence[Question]) -> BatchOptions:
    """The options, with the default store where nothing is named that could be searched.

    A store that the environment names for all commands gives way to what this one names.
    """
    if (options.retriever or options.corpus) and options.store == os.environ.get("SKR_STORE"):
        options = replace(options, store=None)
    named = (options.retriever, options.store, options.corpus) != (None, None, None)
    if named or any(each.contexts for each in questions):
        return options
    return replace(options, store=DEFAULT_STORE)


def check_alone(options: BatchOptions) -> None:
    """Refuse a store or a corpus beside a retriever of one's own.

    Raises:
        InputError: There is one.
    """
    if (options.store, options.corpus) != (None, None):
        raise InputError("give one of --retriever, --corpus and --store")


def open_searched(
    stack: ExitStack,
    *,
    store: str | None,
    corpus: Path | None,
    questions: Sequence[Question],
    embedder: str | Embedder | None,
    search: SearchMode,
    skip_bad: bool,
) -> tuple[Store, str]:
    """Open what questions are searched in: a store, a corpus file, or their own contexts.

    Args:
        stack: The stack that closes the store.
        store: A store that is there already.
        corpus: A file of passages, ingested for this run alone.
        questions: The questions, whose contexts are searched where neither is given.
        embedder: The embedder, or its name as --embedder takes it; None leaves it to the store.
        search: The way the store is searched.
        skip_bad: Leave out lines of the corpus that cannot be read.

    Returns:
        The store, and a name for its passages that tells one corpus from another.

    Raises:
        InputError: Both are given, or there is nothing to search.
    """
    from skr_store import Store

    if corpus is not None and store is not None:
        raise InputError("give either --corpus or --store")
    if store is not None:
        opened = stack.enter_context(open_store(store, store_embedder(embedder), search))
        return opened, store if "://" in store else Path(store).name
    references, name = searched_references(corpus, questions, skip_bad=skip_bad)
    opened = Store.ephemeral(embedder=store_embedder(embedder), search=search)
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
    if corpus is None:
        references, name = corpus_of(list(questions)), "contexts"
    else:
        references, name = collect_references(corpus, skip_bad=skip_bad), corpus.name
    if not references:
        raise InputError("the questions hold no contexts to search: give --corpus or --store")
    return references, f"{name} ({len(references):,} passages, {digest_of(references)})"


def add_all(store: ReferenceStore, references: Sequence[Reference], advance: Advance) -> None:
    """Add references to a store, and report the progress."""
    for start in range(0, len(references), BATCH):
        store.add(references[start : start + BATCH])
        advance(min(start + BATCH, len(references)), len(references))


def collect_references(corpus: Path, *, skip_bad: bool) -> list[Reference]:
    """The passages of a corpus file, as ingestion cuts them."""
    from skr_store.ingestion import ingest

    collected = _Collected()
    ingest([corpus], collected, skip_bad=skip_bad)
    return list(collected.references.values())


def digest_of(references: Sequence[Reference]) -> str:
    """A few digits that tell one corpus from another."""
    joined = "".join(sorted(reference.id for reference in references))
    return hashlib.blake2b(joined.encode(), digest_size=4).hexdigest()


class _Collected:
    """A store that collects what is added, and finds nothing."""

    name = "collected"

    def __init__(self) -> None:
        self.references: dict[str, Reference] = {}

    def add(self, references: Sequence[Reference], *, ttl: float | None = None) -> int:
        before = len(self.references)
        self.references |= {reference.id: reference for reference in references}
        return len(self.references) - before

    async def aadd(self, references: Sequence[Reference], *, ttl: float | None = None) -> int:
        return self.add(references)

    def in_scope(self, scope: str) -> _Collected:
        return self

    def retrieve(self, query: str) -> Sequence[Reference]:
        return ()

    async def aretrieve(self, query: str) -> Sequence[Reference]:
        return ()
