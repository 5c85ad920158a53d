"""A server that sends keys back: they are in nothing that is told or kept."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import pickle
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tracers import BaseTracer
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite import SqliteSaver

from langchain_skr import create_skr_graph
from langchain_skr import load_model as load_for_langchain
from llamaindex_skr import load_model as load_for_llamaindex
from skr_core import LanguageModel, Prompt
from skr_core.errors import ModelError
from skr_core.flow import arun, call, run
from skr_core.testing import MappingRetriever
from skr_graphs import answer_of
from tests.servers import Messages, OpenAIServer
from tests.skr_app import conftest
from tests.skr_app.conftest import Skr

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # clients that nobody closes
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

skr = conftest.skr
# Of no known form: it is recognised because somebody holds it.
KEY = "quite.ordinary.words.0451"
QUESTION = "What is the capital of France?"
PROMPT = Prompt("answer_directly", QUESTION, QUESTION)
SEARCH = MappingRetriever(
    {QUESTION: ["Paris is the capital of France."], "France": ["France has a capital."]}
)
Load = Callable[[OpenAIServer], LanguageModel]

LOADS: dict[str, Load] = {
    "langchain": lambda server: load_for_langchain("openai:a", base_url=server.url, api_key=KEY),
    "llamaindex": lambda server: load_for_llamaindex("openai:a", base_url=server.url, api_key=KEY),
}


@pytest.fixture(autouse=True, scope="module")
def collected() -> Iterator[None]:
    yield
    gc.collect()  # while such warnings are ignored


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture(params=LOADS)
def load(request: pytest.FixtureRequest) -> Load:
    return LOADS[request.param]


@pytest.mark.usefixtures("connections")
@pytest.mark.parametrize("blocking", [True, False], ids=["sync", "async"])
@pytest.mark.parametrize("on_token", [None, lambda piece: None], ids=["whole", "streamed"])
@pytest.mark.parametrize("fault", ["echo", "echo_json"])
def test_an_error_holds_no_key(
    load: Load, fault: Any, on_token: Any, blocking: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with OpenAIServer(fault=fault) as server:
        model = load(server)
        flow = call(model.generate, model.agenerate, PROMPT, on_token=on_token)
        with pytest.raises(ModelError) as caught:
            run(flow) if blocking else asyncio.run(arun(flow))
    error = caught.value
    told = [str(error), repr(error), "".join(traceback.format_exception(error)), caplog.text]
    told.append(str(getattr(error, "body", "")))
    assert all(KEY not in each for each in told)
    assert KEY.encode() not in pickle.dumps(error)
    assert fault != "echo" or "no such key: [redacted]" in str(error)


def test_a_key_of_ones_own_client_is_known_too() -> None:
    key = "other.words.0452"
    with OpenAIServer(fault="echo") as server:
        chat = ChatOpenAI(model="a", base_url=server.url, api_key=key, max_retries=0)
        graph = create_skr_graph(chat, SEARCH)
        with pytest.raises(ModelError, match="redacted") as caught:
            graph.invoke({"question": QUESTION})
    assert key not in "".join(traceback.format_exception(caught.value))


class Tracer(BaseTracer):
    """Keeps all runs as texts."""

    def __init__(self) -> None:
        super().__init__()
        self.told = ""

    def _persist_run(self, run: Any) -> None:
        self.told += repr(run.model_dump())


def forgetful(messages: Messages) -> str:
    """A draft that wants more, and then a server that breaks and tells the key that it was sent."""
    if "Search" in str(messages) and "France has" in str(messages):
        raise RuntimeError(f"Authorization: Bearer {KEY}")
    return "INSUFFICIENT\nIt may be Paris [1].\nSearch: France"


def test_rounds_checkpoints_and_traces_hold_no_key(load: Load, tmp_path: Path) -> None:
    database, tracer = tmp_path / "checkpoints.sqlite", Tracer()
    config: Any = {"configurable": {"thread_id": "1"}, "callbacks": [tracer]}
    with (
        OpenAIServer(forgetful) as server,
        SqliteSaver.from_conn_string(str(database)) as saver,
    ):
        graph = create_skr_graph(load(server), SEARCH, checkpointer=saver)
        answer = answer_of(graph.invoke({"question": QUESTION}, config))
        with OpenAIServer(fault="echo") as broken, pytest.raises(ModelError):
            create_skr_graph(load(broken), SEARCH, checkpointer=saver).invoke(
                {"question": "Who?"}, {**config, "configurable": {"thread_id": "2"}}
            )
    assert answer.stop_reason == "model_failed"
    assert "[redacted]" in answer.rounds[-1].errors[-1]
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"Bearer [redacted]" in kept
    assert KEY.encode() not in kept
    assert "[redacted]" in tracer.told
    assert KEY not in tracer.told


def test_an_answer_holds_no_key(load: Load) -> None:
    with OpenAIServer(lambda messages: f"SUFFICIENT\nIt is {KEY} [1].") as server:
        graph = create_skr_graph(load(server), SEARCH)
        assert graph.invoke({"question": QUESTION})["answer"] == "It is [redacted] [1]."
        shown = "".join(
            event["text"]
            for event in graph.stream({"question": QUESTION}, stream_mode="custom")
            if event["type"] == "token"
        )
    assert KEY not in shown


def test_what_the_command_prints_and_writes_holds_no_key(
    skr: Skr, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "words.of.the.environment.0453"  # nobody has held it before
    monkeypatch.setenv("OPENAI_API_KEY", key)

    def printed(*arguments: str) -> str:
        result = skr(*arguments)
        return result.out + result.err

    questions = tmp_path / "questions.jsonl"
    rows = [
        {
            "id": str(number),
            "question": f"What is the capital of France number {number}?",
            "answers": ["Paris"],
            "contexts": [{"title": "France", "text": "Paris is the capital of France."}],
        }
        for number in range(2)
    ]
    questions.write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = tmp_path / "out"
    out.mkdir()
    records, report = str(out / "records.jsonl"), str(out / "report")
    measured = [str(questions), "--model", "openai:a", "--concurrency", "1"]
    reply = f"It is {key} [1]."
    # The first question fails, the second is answered with the key.
    with OpenAIServer(lambda messages: reply, fault="echo", times=1) as server:
        there = ["--base-url", server.url]
        told = printed(
            "collect", *measured, *there, "--corpus", str(corpus(tmp_path)), "--out", records
        )
    with OpenAIServer(lambda messages: reply, fault="echo", times=1) as server:
        there = ["--base-url", server.url, "--cache", str(out / "cache")]
        told += printed("evaluate", *measured, *there, "--out", report)
    assert {"records.jsonl", "report", "cache"} <= {each.name for each in out.iterdir()}
    assert (out / "report" / "report.html").is_file()
    kept = b"".join(path.read_bytes() for path in out.rglob("*") if path.is_file())
    assert b"[redacted]" in kept
    assert "[redacted]" in told
    assert key.encode() not in kept
    assert key not in told


def corpus(folder: Path) -> Path:
    path = folder / "corpus.jsonl"
    row = {"id": "1", "title": "France", "text": "Paris is the capital of France."}
    path.write_text(json.dumps(row) + "\n")
    return path
