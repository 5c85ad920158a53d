"""A page over a small world: two hops, a passage that would be a script, and records."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from uvicorn import Server

from skr_app.commands.serve import facts_of
from skr_app.extractive import ExtractiveModel
from skr_app.web import (
    Access,
    Calibrating,
    Documents,
    Page,
    Runs,
    ServedSystem,
    create_app,
    server_of,
)
from skr_app.web.calibrating import Opened
from skr_core import (
    Action,
    CandidateAnswer,
    Price,
    Question,
    Reference,
    Settings,
    Verdict,
)
from skr_learn import Record
from skr_store import Store
from tests import processes  # noqa: F401  # of which the page starts some

TWO_HOPS = "Where was the director of the film Jaws born?"
HOSTILE = "What does the manual of Zanzibar say that lamps burn?"
PASSAGES = [
    ("Jaws", "Jaws is a 1975 American thriller film directed by Steven Spielberg. It has a shark."),
    ("Steven Spielberg", "Steven Spielberg was born in Cincinnati, Ohio. He makes films."),
    (
        "<img src=x onerror=\"document.title='hacked'\">Manual of Zanzibar",
        "The manual of Zanzibar says that lamps burn <script>document.title='hacked'</script>"
        "<b onclick=alert(1)>colza</b> oil \u202eand rape.",
    ),
    *((f"Film {n}", f"Where the director of the film {n} was born is known.") for n in range(6)),
]


def records(settings: Settings) -> list[Record]:
    """What the model knows: sums, and not who leads a firm."""
    stamp = settings.stamp(metric="feedback")
    known = [
        Record.of(f"What is {n} plus 1?", direct=("", 1), loop=("", 0), stamp=stamp)
        for n in range(20)
    ]
    unknown = [
        Record.of(f"Who is the CEO of firm {n}?", direct=("", 0), loop=("", 1), stamp=stamp)
        for n in range(20)
    ]
    return known + unknown


QUESTIONS = [
    Question("1", TWO_HOPS, ("Cincinnati",)),
    Question("2", "Which film has a shark?", ("Jaws",)),
    Question("3", "Who is the keeper of Lorn?", ("Ada",)),
]


class Preferring:
    """An arbiter of somebody's own, which trusts the answer from references."""

    actions = ("direct", "loop")

    def judge(self, question: str, answers: Mapping[Action, CandidateAnswer]) -> Verdict:
        return Verdict("loop", {"direct": 0.25, "loop": 0.75}, "references are the likelier ones")

    async def ajudge(self, question: str, answers: Mapping[Action, CandidateAnswer]) -> Verdict:
        return self.judge(question, answers)


@contextmanager
def world(model: Any = None) -> Iterator[tuple[Settings, Store]]:
    """The system of the page; what measures it opens it again."""
    with Store.ephemeral(k=2) as store:
        store.add([Reference.of(text, title) for title, text in PASSAGES])
        yield Settings.of(model or ExtractiveModel(), store), store


MakePage = Callable[..., Page]


@contextmanager
def pages(folder: Path) -> Iterator[MakePage]:
    """Makes pages in a folder; their stores are closed at the end."""
    with ExitStack() as stack:

        def make(model: Any = None, *, collected: bool = False, opened: Opened = world) -> Page:
            settings, store = stack.enter_context(world(model))
            runs = stack.enter_context(Runs(folder))
            prices = {settings.model.name: Price(1.0, 2.0)}
            system = ServedSystem(settings, store, runs, prices)
            known = records(settings) if collected else []
            calibrating = Calibrating(system, opened, folder, known, QUESTIONS)
            facts = facts_of("extractive", "the store")
            documents = stack.enter_context(Documents(folder / "uploads", store))
            return Page(system, calibrating, documents, facts)

        yield make


@contextmanager
def serving(page: Page, token: str | None = None) -> Iterator[str]:
    """The page behind a real socket; gives its address."""
    with served_by(page, token) as (_, address):
        yield address


@contextmanager
def served_by(page: Page, token: str | None = None) -> Iterator[tuple[Server, str]]:
    """The page behind a real socket; gives its server, and the address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        access = Access.of("127.0.0.1", port, token, no_token=token is None)
        server = server_of(create_app(page, access))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield server, f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture
def make_page(tmp_path: Path) -> Iterator[MakePage]:
    with pages(tmp_path / "page") as make:
        yield make
