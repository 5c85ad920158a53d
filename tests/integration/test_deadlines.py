"""Servers that hang, drip, never end or ask for patience: no question outlives its deadline."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from langchain_skr import create_skr_chain
from langchain_skr import load_model as load_for_langchain
from llamaindex_skr import SKRQueryEngine
from llamaindex_skr import load_model as load_for_llamaindex
from skr_core import Budget, Generation, Prompt
from skr_core.errors import DeadlineError, ModelError
from skr_core.testing import MappingRetriever
from tests.servers import Fault, OpenAIServer

pytestmark = [
    pytest.mark.integration,
    # The pools of clients that nobody closes, and of event loops that are over.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

QUESTION = "What is the capital of France?"
SEARCH = MappingRetriever({QUESTION: ["Paris is the capital of France."]})
DEADLINES = (0.5, 5.0, 50.0)
"""Each is tried where the one before had passed when nothing was asked yet, on a busy machine."""

SLACK = 1.0
"""Seconds that a question may outlive its deadline, where nothing else uses the machine."""

PATIENCE = 60.0
"""The same on a machine that others use; what hangs does so for minutes."""


def chain_of(server: OpenAIServer, budget: Budget) -> Any:
    model = load_for_langchain("openai:test", base_url=server.url)
    return create_skr_chain(model, SEARCH, budget=budget)


def engine_of(server: OpenAIServer, budget: Budget, *, streaming: bool = False) -> Any:
    model = load_for_llamaindex("openai:test", base_url=server.url)
    return SKRQueryEngine.from_defaults(SEARCH, llm=model, budget=budget, streaming=streaming)


def streaming_engine_of(server: OpenAIServer, budget: Budget) -> Any:
    return engine_of(server, budget, streaming=True)


async def _all(stream: Any) -> str:
    return "".join([str(piece) async for piece in stream])


async def _tokens(engine: Any) -> str:
    return await _all((await engine.aquery(QUESTION)).async_response_gen())


Way = tuple[Callable[[OpenAIServer, Budget], Any], Callable[[Any], Any]]
WAYS: dict[str, Way] = {
    "chain": (chain_of, lambda chain: chain.invoke(QUESTION)),
    "chain, awaited": (chain_of, lambda chain: asyncio.run(chain.ainvoke(QUESTION))),
    "chain, streamed": (chain_of, lambda chain: "".join(chain.stream(QUESTION))),
    "chain, streamed and awaited": (
        chain_of,
        lambda chain: asyncio.run(_all(chain.astream(QUESTION))),
    ),
    "engine": (engine_of, lambda engine: str(engine.query(QUESTION))),
    "engine, awaited": (engine_of, lambda engine: asyncio.run(engine.aquery(QUESTION))),
    "engine, streamed": (
        streaming_engine_of,
        lambda engine: "".join(engine.query(QUESTION).response_gen),
    ),
    "engine, streamed and awaited": (
        streaming_engine_of,
        lambda engine: asyncio.run(_tokens(engine)),
    ),
}
FAULTS: list[Fault] = ["hang", "drip", "drip_head", "endless", "rate_limit"]


def late_by(way: str, fault: Fault) -> float:
    """How many seconds a question outlives its deadline that was asked of the server in time."""
    # Whoever is told to wait is not asked again, so nothing is waited for.
    for deadline in DEADLINES if fault != "rate_limit" else DEADLINES[-1:]:
        seconds = seconds_of(way, fault, deadline)
        if seconds is not None:
            return seconds - deadline
    return pytest.fail("nothing was ever asked")


def seconds_of(way: str, fault: Fault, deadline: float) -> float | None:
    """How long a question takes; it ends with the error that is promised.

    None where the deadline had passed before anything was asked of the server.
    """
    with OpenAIServer(fault=fault, retry_after="500") as server:
        make, ask = WAYS[way]
        system = make(server, Budget(deadline_s=deadline))
        started, error = time.monotonic(), None
        try:
            ask(system)
        except ModelError as raised:
            error = raised
        seconds = time.monotonic() - started
        requests = server.calls
        if not requests:
            return None
        # What is left behind in a thread sends nothing more.
        time.sleep(0.3)
        assert server.calls == requests == 1
    if fault == "rate_limit":
        assert "slow down" in str(error)  # at once, with the true reason
    elif fault != "endless":  # whose reply may grow too long before
        assert isinstance(error, DeadlineError)
    assert error is not None
    return seconds


@pytest.fixture(autouse=True, scope="module")
def collected() -> Iterator[None]:
    yield
    gc.collect()  # while such warnings are ignored


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.mark.parametrize(
    ("way", "fault"),
    [
        ("chain", "hang"),
        ("chain, streamed", "endless"),
        ("engine", "drip_head"),
        ("engine, streamed", "drip"),
        ("chain", "rate_limit"),
    ],
)
def test_a_question_does_not_outlive_its_deadline(way: str, fault: Fault) -> None:
    assert late_by(way, fault) < PATIENCE


@pytest.mark.usefixtures("connections")
@pytest.mark.parametrize(
    ("way", "fault"),
    [
        ("chain, awaited", "drip"),
        ("chain, streamed and awaited", "drip"),
        ("chain, streamed and awaited", "endless"),
        ("engine, awaited", "hang"),
        ("engine, awaited", "drip_head"),
        ("engine, streamed and awaited", "rate_limit"),
    ],
)
def test_an_awaited_one_does_not_either(way: str, fault: Fault) -> None:
    assert late_by(way, fault) < PATIENCE


@pytest.mark.soak
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("way", WAYS)
def test_none_of_forty_does(way: str, fault: Fault) -> None:
    seconds = seconds_of(way, fault, 3.0)
    assert seconds is not None
    assert seconds < 3.0 + SLACK


@pytest.mark.parametrize("way", ["chain", "chain, streamed", "engine", "engine, streamed"])
def test_a_reply_of_fifty_megabytes_is_refused(way: str) -> None:
    assert_refused(way)


@pytest.mark.usefixtures("connections")
@pytest.mark.parametrize("way", ["chain, awaited", "engine, streamed and awaited"])
def test_an_awaited_one_is_too(way: str) -> None:
    assert_refused(way)


def assert_refused(way: str) -> None:
    make, ask = WAYS[way]
    with OpenAIServer(fault="huge") as server:
        system = make(server, Budget())
        with pytest.raises(ModelError, match="over 500,000 characters"):
            ask(system)
        assert server.calls == 1


@pytest.mark.usefixtures("connections")
@pytest.mark.parametrize("way", ["chain", "engine, awaited"])
def test_a_packed_reply_is_read(way: str) -> None:
    make, ask = WAYS[way]
    with OpenAIServer(fault="packed") as server:
        assert str(ask(make(server, Budget()))) == "Paris [1]."


class HangingModel:
    """Anybody's model, which no client of ours bounds."""

    name = "hanging"

    def __init__(self) -> None:
        self.asked, self.over = threading.Event(), threading.Event()

    def generate(self, prompt: Prompt, *, on_token: Any = None) -> Generation:
        self.asked.set()
        self.over.wait(600)
        raise ModelError("too late")

    async def agenerate(self, prompt: Prompt, *, on_token: Any = None) -> Generation:
        self.asked.set()
        await asyncio.sleep(600)
        raise ModelError("too late")


@pytest.mark.parametrize("way", ["chain", "chain, awaited", "chain, streamed"])
def test_a_model_of_ones_own_does_not_either(way: str) -> None:
    model = HangingModel()
    error: Exception | None = None
    for deadline in DEADLINES:
        chain = create_skr_chain(model, SEARCH, budget=Budget(deadline_s=deadline))
        started = time.monotonic()
        try:
            WAYS[way][1](chain)
        except ModelError as raised:
            error = raised
        assert time.monotonic() - started < deadline + PATIENCE
        if model.asked.is_set():
            break
    assert isinstance(error, DeadlineError)
    model.over.set()
