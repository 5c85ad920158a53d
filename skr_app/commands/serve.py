"""``skr serve``: the page that shows the loop, on this machine."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer
from platformdirs import user_data_path

from skr_app.country import QUESTION, Country, country_store, load_country
from skr_app.extractive import NAME, is_extractive
from skr_app.models import Models
from skr_app.opening import (
    open_settings,
    open_store,
    place_of_store,
    store_embedder,
)
from skr_app.options import AskOptions, spread
from skr_app.output import BASELINE, DECIDED, SERVED, STOP_REASONS, escape, messages
from skr_core.budget import price_of, read_prices
from skr_core.errors import InputError
from skr_core.questions import read_questions
from skr_learn import Records

if TYPE_CHECKING:
    from skr_store import Store

DEFAULT_FOLDER = user_data_path("skr-rag", appauthor=False) / "page"


@spread
def serve(
    options: AskOptions,
    host: Annotated[
        str,
        typer.Option("--host", help="Where to listen; others than this machine need the token."),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65_535, help="0 takes a free one.")
    ] = 8010,
    token: Annotated[
        str | None,
        typer.Option(
            "--token",
            envvar="SKR_TOKEN",
            help="What opens the page. Made and printed where others can reach it; on this machine "
            "alone none is needed.",
        ),
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Show a small world that ships, and keep nothing.")
    ] = False,
    folder: Annotated[
        Path,
        typer.Option(
            "--folder",
            help="Where the runs, the votes, uploaded files and a calibrated router are kept.",
            show_default="in your data folder",
        ),
    ] = DEFAULT_FOLDER,
    records: Annotated[
        Path | None,
        typer.Option(
            "--records", help="Records made by `skr collect`, which votes join when it calibrates."
        ),
    ] = None,
    questions: Annotated[
        Path | None,
        typer.Option(
            "--questions",
            help="JSONL with question and answers (also .gz), on which the page can collect "
            "records.",
        ),
    ] = None,
    store_port: Annotated[
        int | None,
        typer.Option(
            "--store-port",
            min=1,
            max=65_535,
            help="Serve the store's folder to other processes of this machine too, at this port.",
        ),
    ] = None,
) -> None:
    """Show the loop on a page: ask, watch, compare, say what was right, and calibrate on it."""
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

    known = [] if records is None else Records.read(records)
    asked = [] if questions is None else list(read_questions(questions))
    prices = None if options.prices is None else read_prices(options.prices)
    country = load_country() if demo else None
    models = Models.of(options)
    if country is not None and options.model == NAME:
        model, asked = models.limits.model(country.model()), list(country.questions)
    else:
        model = models.model(options.model)
    if prices is not None:
        price_of(prices, model.name)
    with ExitStack() as stack:
        listening = stack.enter_context(closing(_listen(host, port)))
        port = listening.getsockname()[1]
        access = Access.of(host, port, token)
        if country is not None:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="skr-demo-")))
            store = stack.enter_context(country_store())
        else:
            store = _open_store(stack, options, store_port)
        settings = open_settings(
            options,
            models,
            store,
            model=model,
            router=options.router,
            force=options.force,
            max_calls=options.max_calls,
            abstain_below=options.abstain_below,
        )
        system = ServedSystem(settings, store, stack.enter_context(Runs(folder)), prices)
        calibrating = Calibrating(system, folder, records=known, questions=asked)
        facts = facts_of(options.model, options.store, country)
        documents = stack.enter_context(Documents(folder / "uploads", store))
        page = Page(system, calibrating, documents, facts)
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{port}/" + (f"?token={access.token}" if access.token else "")
        messages.print(f"The page is at {escape(address)}  Ctrl-C ends it", soft_wrap=True)
        serve_app(create_app(page, access), listening)


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise InputError(f"cannot listen at {host}, port {port}: {error.strerror}") from error


def _open_store(stack: ExitStack, options: AskOptions, store_port: int | None) -> Store:
    """The store, made where it is missing, because files can be uploaded."""
    store, embedder = options.store, store_embedder(options.embedder)
    if store_port is not None:
        from skr_store.server import serve as serve_folder

        if "://" in store:
            raise InputError("--store-port serves a folder; this store is served already")
        stack.enter_context(serve_folder(place_of_store(store), embedder, port=store_port))
        store = f"http://127.0.0.1:{store_port}"
        messages.print(f"The store is served at {store}", soft_wrap=True)
    return stack.enter_context(open_store(store, embedder, options.search, must_exist=False))


def facts_of(model: str, store: str, country: Country | None = None) -> Mapping[str, Any]:
    """Facts about the system that the page shows: names, and words for its events.

    Args:
        model: The model, as --model names it.
        store: The store, as --store names it.
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
