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

from skr_app.commands.ask import RouterFolder
from skr_app.configured import make_settings
from skr_app.demo_corpus import QUESTION, demo_store
from skr_app.extractive.loading import NAME, is_extractive
from skr_app.limits import DeadlineOption, MaxSpendOption, PricesOption, limited
from skr_app.opening import (
    make_model,
    open_embedder,
    open_likelihoods,
    open_store,
    place_of_store,
    store_embedder,
)
from skr_app.options import (
    DEFAULT_STORE,
    BaseUrlOption,
    DecomposeOption,
    DemonstrationsOption,
    EmbedderOption,
    ForceOption,
    LikelihoodsOption,
    MaxRoundsOption,
    ModelOption,
    SearchMode,
    SearchOption,
    StoreOption,
    TemplatesOption,
    WhenInsufficient,
    WhenInsufficientOption,
)
from skr_app.output import escape, messages
from skr_app.reflecting import ReflectorOption, open_reflector
from skr_app.render import BASELINE, DECIDED, SERVED, STOP_REASONS
from skr_app.sample import Sample, load_sample
from skr_core.budget import price_of, read_prices
from skr_core.errors import InputError
from skr_core.questions import read_questions
from skr_learn.self_knowledge import read_self_knowledge

if TYPE_CHECKING:
    from skr_store.chroma_store import ChromaStore

DEFAULT_FOLDER = user_data_path("skr-rag", appauthor=False) / "page"

Host = Annotated[
    str, typer.Option("--host", help="Where to listen; others than this machine need the token.")
]
Port = Annotated[int, typer.Option("--port", min=0, max=65_535, help="0 takes a free one.")]
Token = Annotated[
    str | None,
    typer.Option(
        "--token",
        envvar="SKR_TOKEN",
        help="What opens the page. Made and printed where others can reach it; on this machine "
        "alone none is needed.",
    ),
]
Folder = Annotated[
    Path,
    typer.Option(
        "--folder",
        help="Where the runs, the votes, uploaded files and a calibrated router are kept.",
        show_default="in your data folder",
    ),
]
Records = Annotated[
    Path | None,
    typer.Option(
        "--records", help="Records made by `skr collect`, which votes join when it calibrates."
    ),
]
Questions = Annotated[
    Path | None,
    typer.Option(
        "--questions",
        help="JSONL with question and answers (also .gz), on which the page can collect records.",
    ),
]
Demo = Annotated[
    bool, typer.Option("--demo", help="Show a small world that ships, and keep nothing.")
]
StorePort = Annotated[
    int | None,
    typer.Option(
        "--store-port",
        min=1,
        max=65_535,
        help="Serve the store's folder to other processes of this machine too, at this port.",
    ),
]


def serve(
    store: StoreOption = DEFAULT_STORE,
    model: ModelOption = "extractive",
    base_url: BaseUrlOption = None,
    host: Host = "127.0.0.1",
    port: Port = 8010,
    token: Token = None,
    demo: Demo = False,
    folder: Folder = DEFAULT_FOLDER,
    records: Records = None,
    questions: Questions = None,
    store_port: StorePort = None,
    deadline: DeadlineOption = None,
    max_spend: MaxSpendOption = None,
    prices: PricesOption = None,
    embedder: EmbedderOption = "hashing",
    search: SearchOption = SearchMode.hybrid,
    max_rounds: MaxRoundsOption = 3,
    max_calls: Annotated[int | None, typer.Option(min=1, help="Calls of the model.")] = None,
    router: RouterFolder = None,
    force: ForceOption = False,
    templates: TemplatesOption = None,
    demonstrations: DemonstrationsOption = None,
    when_insufficient: WhenInsufficientOption = WhenInsufficient.best_draft,
    reflector: ReflectorOption = "refusal",
    likelihoods: LikelihoodsOption = False,
    decompose: DecomposeOption = False,
) -> None:
    """Show the loop on a page: ask, watch, compare, say what was right, and calibrate on it."""
    from skr_app.report.folder import read_curve
    from skr_app.web.access import Access
    from skr_app.web.app import Page, create_app
    from skr_app.web.calibrating import Calibrating
    from skr_app.web.documents import Uploads
    from skr_app.web.runs import Runs
    from skr_app.web.serving import serve_app
    from skr_app.web.system import ServedSystem

    known = [] if records is None else read_self_knowledge(records)
    asked = [] if questions is None else list(read_questions(questions))
    table = None if prices is None else read_prices(prices)
    world = load_sample() if demo else None
    if world is None or model != NAME:
        language_model = make_model(model, base_url)
    else:
        language_model, asked = limited(world.model()), list(world.questions)
    if table is not None:
        price_of(table, language_model.name)
    with ExitStack() as stack:
        listening = stack.enter_context(closing(_listen(host, port)))
        port = listening.getsockname()[1]
        access = Access.of(host, port, token)
        if world is not None:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="skr-demo-")))
            opened = stack.enter_context(demo_store())
        else:
            opened = _open_store(stack, store, embedder, search, store_port)
        settings = make_settings(
            language_model,
            opened,
            router=router,
            force=force,
            reflector=open_reflector(
                reflector, language_model, opened, base_url=base_url, force=force
            ),
            likelihoods=open_likelihoods(model, base_url) if likelihoods else None,
            max_rounds=max_rounds,
            max_calls=max_calls,
            when_insufficient=when_insufficient.value,
            decompose=decompose,
            templates=templates,
            demonstrations=demonstrations,
        )
        runs = stack.enter_context(Runs(folder))
        system = ServedSystem(settings, opened, runs, table)
        calibrating = Calibrating(
            system,
            folder,
            open_embedder(embedder),
            records=known,
            questions=asked,
            curve=None if router is None else read_curve(router),
        )
        facts = facts_of(model, store, world)
        page = Page(system, calibrating, Uploads(folder / "uploads", opened), facts)
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


def _open_store(
    stack: ExitStack, store: str, embedder: str, search: SearchMode, store_port: int | None
) -> ChromaStore:
    """The store, made where it is missing, because files can be uploaded."""
    if store_port is not None:
        from skr_store.server import serve as serve_folder

        if "://" in store:
            raise InputError("--store-port serves a folder; this store is served already")
        lent = serve_folder(place_of_store(store), store_embedder(embedder), port=store_port)
        stack.enter_context(lent)
        store = f"http://127.0.0.1:{store_port}"
        messages.print(f"The store is served at {store}", soft_wrap=True)
    return stack.enter_context(
        open_store(store, store_embedder(embedder), search.value, must_exist=False)
    )


def facts_of(model: str, store: str, world: Sample | None = None) -> Mapping[str, Any]:
    """What the page is told of the system beside its questions: names, and words for its events."""
    name = store if "://" in store else Path(store).name
    return {
        "store": name if world is None else "an invented country",
        "examples": [] if world is None else _examples(world),
        "remark": BASELINE if is_extractive(model) else "",
        "decided": DECIDED,
        "stop_reasons": STOP_REASONS,
        "served": SERVED,
    }


def _examples(world: Sample) -> list[str]:
    """A question of each kind."""
    first: dict[str, str] = {"two hops": QUESTION}
    for each in world.questions:
        first.setdefault(each.types[0], each.question)
    return list(first.values())
