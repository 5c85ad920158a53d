"""A blocking stream that is closed ends its model's reply within a token."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from itertools import chain, repeat
from typing import Any, Self

import pytest
from langchain_openai import ChatOpenAI

from langchain_skr import create_skr_chain, create_skr_graph
from llamaindex_skr import SKRChatEngine, SKRQueryEngine, openai_like
from skr_core.routers import NeverRetrieve
from skr_core.testing import MappingRetriever
from skr_graphs import SKRContext

pytestmark = pytest.mark.integration

QUESTION = "What is the capital of France?"
READ = 3
MOST = 300
"""Tokens served at most, one in a tenth of a second: patience enough for a slow machine."""


class SlowServer:
    """Streams one reply without end slowly, until its client hangs up.

    Attributes:
        served: Tokens written so far.
        hung_up: Set when the client has closed the connection.
    """

    def __init__(self, first: str) -> None:
        self.first = first
        self.served = 0
        self.hung_up, self._over = threading.Event(), threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._over.set()
        self._listener.close()
        self._thread.join(10)

    def _serve(self) -> None:
        connection, _ = self._listener.accept()
        with connection:
            while b"}" not in connection.recv(65536):
                pass
            connection.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                b"Transfer-Encoding: chunked\r\n\r\n"
            )
            try:
                for piece in chain([self.first], repeat(" word")):
                    connection.sendall(_event(piece))
                    self.served += 1
                    if self._over.wait(0.1) or _is_closed(connection):
                        raise ConnectionError
            except ConnectionError:
                self.hung_up.set()


def _event(piece: str) -> bytes:
    choice = {"index": 0, "delta": {"role": "assistant", "content": piece}, "finish_reason": None}
    chunk = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "test"}
    data = f"data: {json.dumps(chunk | {'choices': [choice]})}\n\n".encode()
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def _is_closed(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    finally:
        connection.setblocking(True)


def langchain_stream(server: SlowServer, **options: Any) -> Iterator[str]:
    chat = ChatOpenAI(model="test", base_url=server.url, api_key="none", max_retries=0)
    search = MappingRetriever({QUESTION: ["Paris is the capital of France."]})
    yield from create_skr_chain(chat, search, **options).stream(QUESTION)


def sources_stream(server: SlowServer, **options: Any) -> Iterator[Any]:
    chat = ChatOpenAI(model="test", base_url=server.url, api_key="none", max_retries=0)
    search = MappingRetriever({QUESTION: ["Paris is the capital of France."]})
    pieces = create_skr_chain(chat, search, return_sources=True, **options).stream(QUESTION)
    yield from (piece for piece in pieces if "answer" in piece)


def graph_stream(server: SlowServer, **options: Any) -> Iterator[Any]:
    chat = ChatOpenAI(model="test", base_url=server.url, api_key="none", max_retries=0)
    search = MappingRetriever({QUESTION: ["Paris is the capital of France."]})
    context = SKRContext(stream=True)
    events: Any = create_skr_graph(chat, search, **options).stream(
        {"question": QUESTION}, context=context, stream_mode="custom"
    )
    with context.reading(events):
        yield from (event for event in events if event["type"] == "token")


def llamaindex_stream(server: SlowServer, **options: Any) -> Iterator[str]:
    llm = openai_like("test", base_url=server.url, api_key="none", tries=1)
    search = MappingRetriever({QUESTION: ["Paris is the capital of France."]})
    engine = SKRQueryEngine.from_defaults(search, llm=llm, streaming=True, **options)
    response: Any = engine.query(QUESTION)
    yield from response.response_gen


def chat_stream(server: SlowServer, **options: Any) -> Iterator[str]:
    llm = openai_like("test", base_url=server.url, api_key="none", tries=1)
    search = MappingRetriever({QUESTION: ["Paris is the capital of France."]})
    engine = SKRChatEngine.from_defaults(search, llm=llm, **options)
    response = engine.stream_chat(QUESTION)  # stays alive while its tokens are closed
    with closing(response.response_gen) as tokens:
        yield from tokens


@pytest.mark.parametrize(
    "stream", [langchain_stream, sources_stream, graph_stream, llamaindex_stream, chat_stream]
)
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # clients that nobody closes
def test_the_reply_ends_with_its_reader(stream: Any, known: bool) -> None:
    options = {"router": NeverRetrieve()} if known else {}
    with SlowServer("Paris" if known else "SUFFICIENT\nParis [1] is") as server:
        tokens = stream(server, **options)
        read = [next(tokens) for _ in range(READ)]
        tokens.close()
        assert len(read) == READ
        assert server.hung_up.wait(60)
    assert server.served < MOST
