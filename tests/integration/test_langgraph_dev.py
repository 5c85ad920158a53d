"""``langgraph dev`` serves the graphs of both ``langgraph.json``; its client streams a run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from skr_app.country import QUESTION
from tests.servers import reserved_port

sdk = pytest.importorskip("langgraph_sdk", reason="the extra `server` is not installed")
pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = [ROOT / "langgraph.json", ROOT / "examples" / "langgraph.json"]
COMMAND = Path(sys.executable).with_name("langgraph")
INPUT = {"question": QUESTION}
PATIENCE_S = 120


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if not COMMAND.exists():
        pytest.skip("no `langgraph` command: the extra `server` is not installed")
    folder = tmp_path_factory.mktemp("server")
    log, config = folder / "log", folder / "langgraph.json"
    graphs = {name: place for path in CONFIGS for name, place in graphs_of(path)}
    config.write_text(json.dumps({"dependencies": [str(ROOT)], "graphs": graphs}))
    here = {key: value for key, value in os.environ.items() if not key.startswith("SKR_")}
    paths = [str(ROOT), str(ROOT / "graphs"), here.get("PYTHONPATH", "")]
    with reserved_port() as port, log.open("w") as output:
        url = f"http://127.0.0.1:{port}"
        process = subprocess.Popen(
            [COMMAND, "dev", "--no-browser", "--no-reload", "--port", str(port)],
            cwd=folder,
            env={**here, "PYTHONPATH": os.pathsep.join(paths), "LANGSMITH_TRACING": "false"},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            wait_for(url, process, log)
            yield url
            assert "Blocking call" not in log.read_text()
        finally:
            process.terminate()
            process.wait(60)


def graphs_of(config: Path) -> Iterator[tuple[str, str]]:
    """Names and absolute places: one server for all."""
    for name, place in json.loads(config.read_text())["graphs"].items():
        yield name, str(config.parent / place)


def wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/ok", timeout=PATIENCE_S):
                return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"the server did not start:\n{log.read_text()[-2000:]}")


def schemas_of(client: Any, graph: str) -> dict[str, Any]:
    (assistant,) = client.assistants.search(graph_id=graph)
    schemas: dict[str, Any] = client.assistants.get_schemas(assistant["assistant_id"])
    return schemas


def check(parts: list[Any]) -> None:
    """A stream tells the loop as it goes, and the answer at its end."""
    assert [part.data for part in parts if part.event == "error"] == []
    events = [part.data for part in parts if part.event == "custom"]
    assert [each["type"] for each in events[:2]] == ["start", "route"]
    assert sum(each["type"] == "query" for each in events) > 1
    answer = [part.data for part in parts if part.event == "values"][-1]
    assert answer["citations"]
    assert events[-1]["answer"] == answer["answer"]


def test_a_streamed_run(server: str) -> None:
    with sdk.get_sync_client(url=server) as client:
        modes = ["custom", "values"]
        check(list(client.runs.stream(None, "skr", input=INPUT, stream_mode=modes)))


async def test_a_streamed_run_awaited(server: str) -> None:
    async with sdk.get_client(url=server) as client:
        stream = client.runs.stream(None, "skr", input=INPUT, stream_mode=["custom", "values"])
        check([part async for part in stream])


def test_a_context_in_json_and_its_schema(server: str) -> None:
    with sdk.get_sync_client(url=server) as client:
        schemas = schemas_of(client, "skr")
        given = schemas["input_schema"]["properties"]
        assert set(given) == {"question", "messages", "history"}
        assert schemas["output_schema"]["properties"]["grounded"]["type"] == "boolean"
        fields = schemas["context_schema"]["properties"]
        assert {"budget", "when_insufficient"} <= set(fields)
        assert not {"model", "retriever", "router"} & set(fields)
        context = {"budget": {"max_rounds": 1}, "when_insufficient": "refuse"}
        output = client.runs.wait(None, "skr", input=INPUT, context=context)
        assert len(output["rounds"]) == 1


def test_the_documented_client(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The page's own code: a streamed run, a second turn with a context, a review resumed."""
    page = (ROOT / "docs" / "serving.md").read_text()
    files = [json.loads(each) for each in re.findall(r"```json\n(.*?)```", page, re.DOTALL)]
    assert json.loads(CONFIGS[1].read_text()) in files
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec("".join(blocks).replace("http://127.0.0.1:2024", server), {})
    told = capsys.readouterr().out
    assert "search 2: Ottilie Brandt born" in told
    assert "Hallerfeld" in told
    assert "would search: ['How tall is the lighthouse?']" in told


def test_a_graph_of_ones_own(server: str) -> None:
    with sdk.get_sync_client(url=server) as client:
        schemas = schemas_of(client, "own")
        assert {"question", "decision"} <= set(schemas["output_schema"]["properties"])
        state = client.runs.wait(None, "own", input={"question": "Where was the designer born?"})
        assert state["answer"] == "She was born in Port Elm [2]."
        assert state["reflection"]["sufficient"]


def test_a_thread_is_a_chat(server: str) -> None:
    """As clients of chats have it: messages in, and all of the conversation back."""
    with sdk.get_sync_client(url=server) as client:
        thread = client.threads.create()["thread_id"]
        asked = {"messages": [{"role": "user", "content": QUESTION}]}
        first = client.runs.wait(thread, "skr", input=asked)
        again = {"messages": [{"type": "human", "content": "And who built it?"}]}
        second = client.runs.wait(thread, "skr", input=again)
        assert [each["type"] for each in second["messages"]] == ["human", "ai"] * 2
        assert second["messages"][1]["content"] == first["answer"]
        assert second["messages"][3]["content"] == second["answer"]


def test_a_thread_keeps_its_rounds(server: str) -> None:
    with sdk.get_sync_client(url=server) as client:
        thread = client.threads.create()["thread_id"]
        client.runs.wait(thread, "skr", input=INPUT)
        history = client.threads.get_history(thread, limit=50)
        assert ["follow_up"] in [state["next"] for state in history]
