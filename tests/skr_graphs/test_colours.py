"""`invoke` uses no event loop, and `ainvoke` starts no thread."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from skr_core.prompts.templates import REFUSAL
from skr_core.reflectors import JudgeReflector
from skr_core.testing import ScriptedModel
from skr_graphs import create_self_completion_graph
from skr_graphs.context import SKRContext
from skr_graphs.node import as_node
from tests.skr_graphs.doubles import QUESTION, ListStore, SlowRetriever


def everything() -> Any:
    """A graph whose run passes through every kind of step, with queries side by side."""
    model = ScriptedModel(
        {
            "answer_with_references": [REFUSAL, "Paris [1]."],
            "self_complete": ["one\ntwo\nthree"],
        }
    )
    return create_self_completion_graph(
        model=model,
        retriever=SlowRetriever({"one": 0.01}),
        store=ListStore(),
        reflector=JudgeReflector(ScriptedModel(["sufficient"])),
    ).compile()


def refuse(*_: Any, **__: Any) -> Any:
    raise AssertionError("of the other colour")


def test_invoke_uses_no_event_loop(monkeypatch: pytest.MonkeyPatch):
    graph = everything()
    monkeypatch.setattr(asyncio, "new_event_loop", refuse)
    monkeypatch.setattr(asyncio, "run", refuse)
    monkeypatch.setattr(asyncio.BaseEventLoop, "run_forever", refuse)
    for node in ("decide", "generate", "retrieve", "reflect"):
        monkeypatch.setattr(ScriptedModel, f"a{node}", refuse, raising=False)
    monkeypatch.setattr(SlowRetriever, "aretrieve", refuse)
    assert graph.invoke({"question": QUESTION})["answer"] == "Paris [1]."
    assert list(graph.stream({"question": QUESTION}, stream_mode="messages"))


async def test_ainvoke_starts_no_thread(monkeypatch: pytest.MonkeyPatch):
    graph = everything()
    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(SlowRetriever, "retrieve", refuse)
    output = await graph.ainvoke({"question": QUESTION})
    assert output["answer"] == "Paris [1]."
    parts = [part async for part in graph.astream({"question": QUESTION}, stream_mode="messages")]
    assert parts


def test_a_node_is_named_after_its_step():
    def step(state: Any, resources: Any, runtime: Any) -> Any:
        yield from ()

    assert as_node(step, SKRContext()).get_name() == "step"
