"""What went wrong on the way to an answer is logged once for each kind."""

from __future__ import annotations

import logging

import pytest

from skr_core.testing import ScriptedModel
from skr_graphs import create_self_completion_graph, warnings


class Down:
    """Fails on every query, with the query in its message."""

    name = "down"

    def retrieve(self, query: str) -> list[object]:
        raise OSError(f"no connection for {query!r}")

    async def aretrieve(self, query: str) -> list[object]:
        return self.retrieve(query)


def test_failed_searches_are_logged_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(warnings, "_TOLD", set())
    graph = create_self_completion_graph(
        model=ScriptedModel(["Paris."]), retriever=Down(), on_retriever_error="continue"
    ).compile()
    with caplog.at_level(logging.WARNING, logger="skr_graphs"):
        for question in ("Where?", "When?"):
            graph.invoke({"question": question})
    [record] = [each for each in caplog.records if each.name == "skr_graphs"]
    assert "no connection for 'Where?'" in record.getMessage()
