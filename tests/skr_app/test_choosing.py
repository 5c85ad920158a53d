"""A command that names no model: what it proposes."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from skr_app import choosing
from tests.skr_app.conftest import Skr

COMMANDS = (
    ("ask", "Who keeps the books?"),
    ("serve",),
    ("mcp",),
    ("collect", "questions.jsonl"),
    ("evaluate", "questions.jsonl"),
    ("questions", "make"),
    ("route", "Who keeps the books?"),
)


@pytest.fixture
def unnamed(skr: Skr, monkeypatch: pytest.MonkeyPatch) -> Skr:
    """The command where the environment names no model, and no Ollama answers."""
    monkeypatch.delenv("SKR_MODEL")
    monkeypatch.setattr(choosing, "ollama_models", list)
    return skr


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_no_model_is_taken_that_nobody_named(unnamed: Skr, words: tuple[str, ...]):
    result = unnamed(*words)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: no model is named. Give --model openai:")
    assert result.err.count("\n") == 1


def test_what_is_there_is_proposed_by_its_name(unnamed: Skr, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setattr(choosing, "ollama_models", lambda: ["qwen3:8b", "[red]llama\x1b[0m", "m"])
    told = unnamed("ask", "Who?").err
    assert "OPENAI_API_KEY is set: give --model openai:gpt-4.1-mini. Ollama is" in told
    assert (
        "give --model qwen3:8b --base-url http://127.0.0.1:11434/v1 (it also has [red]llama" in told
    )
    assert "\x1b[0m" not in told
    assert "extractive" not in told


def test_a_server_without_a_model_is_told_so(unnamed: Skr):
    told = unnamed("ask", "Who?", "--base-url", "http://localhost:1/v1").err
    assert told == (
        "error: name the model that http://localhost:1/v1 is asked for: give --model NAME\n"
    )


def test_the_extractive_model_answers_where_it_is_named(unnamed: Skr, corpus: Path, tmp_path: Path):
    assert unnamed("ingest", corpus, "--store", tmp_path / "store").code == 0
    asked = ("ask", "Who directed Jaws?", "--store", tmp_path / "store")
    assert "Steven Spielberg" in unnamed(*asked, "--model", "extractive").out


@pytest.mark.integration
@pytest.mark.parametrize(
    ("said", "names"),
    [
        (b'{"models": [{"name": "qwen3:8b"}, {"name": "phi4"}]}', ["qwen3:8b", "phi4"]),
        (b'{"models": []}', []),
        (b"<html>something else</html>", []),
        (b'["models"]', []),
    ],
)
def test_ollama_is_asked_for_its_models(said: bytes, names: list[str]):
    class Ollama(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            assert self.path == "/api/tags"
            self.send_response(200)
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Ollama) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        assert choosing.ollama_models(f"127.0.0.1:{server.server_port}") == names
        thread.join()


@pytest.mark.integration
def test_where_nothing_listens_there_is_no_ollama():
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        port = server.server_port
    assert choosing.ollama_models(f"127.0.0.1:{port}") == []
