"""``skr serve``: the page that shows the loop, on this machine."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer
from platformdirs import user_data_path

from skr_app.choosing import check_model
from skr_app.commands.demo import calibrate_records, collect_records
from skr_app.country import QUESTION, Country, country_store, load_country
from skr_app.extractive import NAME, is_extractive
from skr_app.importing import import_retriever
from skr_app.models import Models
from skr_app.opening import (
    load_questions,
    open_settings,
    open_store,
    place_of_store,
    store_embedder,
)
from skr_app.options import AskOptions
from skr_app.output import BASELINE, DECIDED, SERVED, STOP_REASONS, escape, messages
from skr_app.spreading import spread
from skr_core.budget import price_of, read_prices
from skr_core.errors import InputError
from skr_core.settings import Settings
from skr_learn import Records

if TYPE_CHECKING:
    from skr_store import Store

DEFAULT_FOLDER = user_data_path("skr-rag", appauthor=False) / "page"


@spread
def serve(
    options: AskOptions,
    host: Annotated[
        str,
        typer.Option("--host", help="The address to listen at."),
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            "--port", min=0, max=65_535, help="The port to listen at. 0 takes a free one."
        ),
    ] = 8010,
    token: Annotated[
        str | None,
        typer.Option(
            "--token",
            envvar="SKR_TOKEN",
            help="The token that opens the page. By default one is made.",
        ),
    ] = None,
    no_token: Annotated[
        bool,
        typer.Option(
            "--no-token",
            help="Let every program and every user of this machine open the page.",
        ),
    ] = False,
    demo: Annotated[
        bool, typer.Option("--demo", help="Show an invented country, and keep nothing.")
    ] = False,
    folder: Annotated[
        Path,
        typer.Option(
            "--folder",
            help="Folder for runs, votes, uploaded files and a calibrated router.",
            show_default="in your data folder",
        ),
    ] = DEFAULT_FOLDER,
    records: Annotated[
        Path | None,
        typer.Option(
            "--records",
            help="Records that `skr collect` made. Votes are added to them to calibrate.",
        ),
    ] = None,
    questions: Annotated[
        Path | None,
        typer.Option(
            "--questions",
            help="File of questions with their right answers, which the page can collect records "
            "of.",
        ),
    ] = None,
    store_port: Annotated[
        int | None,
        typer.Option(
            "--store-port",
            min=1,
            max=65_535,
            help="Share the store with other programs on this machine too, at this port.",
        ),
    ] = None,
) -> None:
    """Open a page to ask and watch, say which answers are right, and calibrate on that."""
    from skr_app.web import (
        Access,
        Calibrating,
        Documents,
        Page,
        Runs,
        ServedSystem,
        create_app,
        serve_app,
    )
    from skr_graphs import GraphAnswerer

    if not demo:
        check_model(options)
    known = [] if records is None else Records.read(records)
    asked = [] if questions is None else load_questions(questions)
    prices = None if options.prices is None else read_prices(options.prices)
    country = load_country() if demo else None
    models = Models.of(options)
    stand_in = country if options.model in ("", NAME) else None  # which costs nothing to ask
    if stand_in is not None:
        asked = list(stand_in.questions)
    with ExitStack() as stack:
        listening = stack.enter_context(closing(_listen(host, port)))
        port = listening.getsockname()[1]
        access = Access.of(host, port, token, no_token=no_token)
        facts = facts_of(options.model or NAME, options.retriever or options.store, country)
        if country is not None:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="skr-demo-")))
        elif store_port is not None:
            options = replace(options, store=_serve_store(stack, options, store_port))
        settings, store = stack.enter_context(open_system(options, models, demo=demo))
        system = ServedSystem(settings, store, stack.enter_context(Runs(folder)), prices)
        found = None
        if stand_in is not None and not known and options.router is None:
            known = collect_records(stand_in, GraphAnswerer(settings), folder)
            found = calibrate_records(known, folder)
        # What is measured is answered by each action, whatever the router would say.
        unrouted = replace(options, router=None, abstain_below=None)
        opened = partial(open_system, unrouted, models, demo=demo)
        calibrating = Calibrating(system, opened, folder, records=known, questions=asked)
        if found is not None:
            calibrating.serve(found)
        documents = stack.enter_context(
            Documents(folder / "uploads", store, is_searched=options.retriever is None)
        )
        page = Page(system, calibrating, documents, facts)
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{port}/{access.query}"
        messages.print(f"The page is at {escape(address)}  Ctrl-C ends it", soft_wrap=True)
        serve_app(create_app(page, access), listening)


@contextmanager
def open_system(
    options: AskOptions, models: Models, *, demo: bool
) -> Iterator[tuple[Settings, Store]]:
    """Open the system that the options name, here or in the process that measures it.

    Args:
        options: The options.
        models: Makes its models.
        demo: Search the invented country in place of the store.

    Yields:
        The settings, and the store, which is made where it is missing: files can be uploaded. It
        is empty beside a retriever of one's own.

    Raises:
        InputError: The demo has its own store.
    """
    from skr_store import Store

    if demo and options.retriever is not None:
        raise InputError("--demo searches its own passages: leave --retriever out")
    known = demo and options.model in ("", NAME)
    country = models.limits.model(load_country().model()) if known else None
    model = country or models.model(options.model)
    if options.prices is not None:
        price_of(read_prices(options.prices), model.name)
    with ExitStack() as stack:
        if demo:
            store = stack.enter_context(country_store())
        elif options.retriever is not None:
            store = stack.enter_context(Store.ephemeral())
        else:
            embedder = store_embedder(options.embedder)
            opened = open_store(options.store, embedder, options.search, must_exist=False)
            store = stack.enter_context(opened)
        settings = open_settings(
            options,
            models,
            store if options.retriever is None else import_retriever(options.retriever),
            model=model,
            router=options.router,
            force=options.force,
            max_calls=options.max_calls,
            abstain_below=options.abstain_below,
        )
        yield settings, store


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise InputError(f"cannot listen at {host}, port {port}: {error.strerror}") from error


def _serve_store(stack: ExitStack, options: AskOptions, port: int) -> str:
    """Serve the store's folder to other processes; gives its address."""
    from skr_store.server import serve as serve_folder

    if "://" in options.store:
        raise InputError("--store-port serves a folder; this store is served already")
    folder, embedder = place_of_store(options.store), store_embedder(options.embedder)
    stack.enter_context(serve_folder(folder, embedder, port=port))
    address = f"http://127.0.0.1:{port}"
    messages.print(f"The store is served at {address}", soft_wrap=True)
    return address


def facts_of(model: str, store: str, country: Country | None = None) -> Mapping[str, Any]:
    """Facts about the system that the page shows: names, and words for its events.

    Args:
        model: The model, as --model names it.
        store: The store or retriever, as --store or --retriever names it.
        country: The invented country, where it is searched in place of the store.
    """
    name = store if "://" in store else Path(store).name
    return {
        "store": name if country is None else "an invented country",
        "examples": [] if country is None else _examples(country),
        "remark": BASELINE if is_extractive(model) else "",
        "decided": DECIDED,
        "stop_reasons": STOP_REASONS,
        "served": SERVED,
    }


def _examples(country: Country) -> list[str]:
    """A question of each kind."""
    first: dict[str, str] = {"two hops": QUESTION}
    for each in country.questions:
        first.setdefault(each.types[0], each.question)
    return list(first.values())
