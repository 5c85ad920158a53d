"""An OpenAI-compatible server on loopback, scripted and broken on purpose by tests.

One thread with an event loop, standard library only, so hundreds of requests may wait side by
side without a thread each.

Example:
    >>> import json, urllib.request
    >>> with OpenAIServer(lambda messages: messages[-1]["content"].upper()) as server:
    ...     body = json.dumps({"messages": [{"role": "user", "content": "hello"}]}).encode()
    ...     with urllib.request.urlopen(server.url + "/chat/completions", body) as response:
    ...         json.load(response)["choices"][0]["message"]["content"]
    'HELLO'
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import json
import math
import re
import socket
import struct
import threading
import zlib
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count, takewhile
from typing import Any, Literal, Self

Messages = list[dict[str, Any]]
Reply = str | dict[str, Any] | bytes
Fault = Literal[
    *("rate_limit", "server_error", "broken_json", "no_choices", "truncated", "empty"),
    *("hang", "drip", "drip_head", "endless", "huge", "echo", "echo_json"),
    *("packed", "bomb", "comments", "no_content"),
]
"""429 with Retry-After; 500; half a JSON body; JSON of another shape; a connection closed in the
middle of the reply; a reply without text. No word at all; a reply, or the head of one, a byte at a
time; one without end; one of 50 MB; 401 or broken JSON with the key that was sent. A good reply
that is packed with gzip; 300 kB that unpack to 300 MB; a stream of comments or of empty pieces."""

DIMENSIONS = 64
_NUMBERS = count()
REASONS = {
    200: "OK",
    307: "Temporary Redirect",
    401: "Unauthorized",
    404: "Not Found",
    429: "Too Many Requests",
    500: "Internal Server Error",
}


@contextmanager
def reserved_port() -> Iterator[int]:
    """A port for a server that is told its port; the system gives it to nobody else meanwhile.

    The socket that holds it does not listen, so that whoever reuses addresses may listen there.
    """
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


class OpenAIServer:
    """Serves ``/v1/chat/completions``, ``/v1/models`` and ``/v1/embeddings``.

    Replies come whole or as server-sent events, as the request says; tokens are words. Requests
    with ``logprobs`` get -0.1 for each token.

    Args:
        reply: From the messages of a request to the reply's text, or to the whole message, such as
            one that calls tools, where the reply is not streamed, or to the bytes that are sent in
            place of any reply; must return at once.
        fault: What goes wrong; or says so of each chat request, by its number from 1.
        times: With how many of the first chat requests it goes wrong; None is all.
        retry_after: Header of a 429. The OpenAI client takes 0 for no header and waits longer.
        delay: Seconds before each chat reply.
        cache_step: The tokens of a prompt that begin as an earlier prompt's do are read from the
            cache, in steps of so many, as OpenAI's are in steps of 128; 0 caches nothing.
        prefill: Seconds more before a chat reply for each token of its prompt that is not.
        together: Chat replies wait until this many requests are in flight, for a minute at most;
            may be set later.
        location: Where every chat request is redirected to.
        keep_alive: Without it each connection ends with its reply, so that a client that nobody
            closes leaves none behind.

    Attributes:
        requests: Bodies of the chat requests, in order of arrival, faulty ones included.
        peak: The most chat requests that were in flight at a time.
    """

    def __init__(
        self,
        reply: Callable[[Messages], Reply] = lambda messages: "Paris is the capital of France.",
        *,
        fault: Fault | Callable[[int], Fault | None] | None = None,
        times: int | None = None,
        retry_after: str = "0.01",
        delay: float = 0.0,
        cache_step: int = 0,
        prefill: float = 0.0,
        together: int = 1,
        location: str = "",
        keep_alive: bool = True,
    ) -> None:
        self.reply, self.fault, self.times = reply, fault, times
        self.retry_after, self.delay, self.together = retry_after, delay, together
        self.keep_alive, self.location = keep_alive, location
        self.cache_step, self.prefill = cache_step, prefill
        self._prompts: list[list[str]] = []
        self.requests: list[dict[str, Any]] = []
        self.peak = 0
        self._in_flight = 0
        self._port, self._number = 0, next(_NUMBERS)
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    @property
    def url(self) -> str:
        """The base URL for clients.

        It is of this server alone: langchain-openai keeps a client for each URL, and a server on
        the port of an earlier one would be given that one's, which may be closed.
        """
        return f"http://127.0.0.1:{self._port}/{self._number}/v1"

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._port

    @property
    def calls(self) -> int:
        """How many chat requests have come, faulty ones included."""
        return len(self.requests)

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._ready.wait(60):
            raise RuntimeError("the server did not start")
        return self

    def __exit__(self, *exc: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(60)

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._connections: set[asyncio.Task[Any]] = set()
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0, backlog=1024)
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _connection(self, reader: StreamReader, writer: StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            while await self._request(reader, writer):
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # the client hung up, or the test is over
        finally:
            self._connections.discard(task)
            writer.close()

    async def _request(self, reader: StreamReader, writer: StreamWriter) -> bool:
        """Answer one request; False when the connection is to be closed."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = re.search(r"(?i)^content-length: *(\d+)", head, re.MULTILINE)
        body = await reader.readexactly(int(length[1])) if length else b""
        path = head.split(" ", 2)[1].removeprefix(f"/{self._number}")
        if path == "/v1/models":
            _send(writer, {"object": "list", "data": [{"id": "test", "object": "model"}]})
        elif path == "/v1/embeddings":
            _send(writer, _embeddings(json.loads(body)))
        elif path == "/v1/chat/completions":
            self._in_flight += 1
            self.peak = max(self.peak, self._in_flight)
            try:
                return await self._chat(json.loads(body), head, writer)
            finally:
                self._in_flight -= 1
        else:
            headers = "" if self.keep_alive else "Connection: close\r\n"
            _send(writer, _error(f"no such path: {path}"), 404, headers)
            return self.keep_alive
        return True

    async def _chat(self, request: dict[str, Any], head: str, writer: StreamWriter) -> bool:
        self.requests.append(request)
        fault: Fault | None = None
        if callable(self.fault):
            fault = self.fault(self.calls)
        elif self.times is None or self.calls <= self.times:
            fault = self.fault
        read = self._read(prompt := _words(request))
        await asyncio.sleep(self.delay + self.prefill * (len(prompt) - read))
        patience = self._loop.time() + 60
        while self.peak < self.together and self._loop.time() < patience:  # noqa: ASYNC110
            await asyncio.sleep(0.005)  # an event would not notice that `together` was set anew
        # A client that is not told would send its next request where nobody listens any more.
        ending = "" if self.keep_alive else "Connection: close\r\n"
        if self.location:
            _send(writer, b"", 307, f"Location: {self.location}\r\n{ending}")
        elif fault == "rate_limit":
            headers = f"Retry-After: {self.retry_after}\r\n{ending}"
            _send(writer, _error("slow down"), 429, headers)
        elif fault == "server_error":
            _send(writer, _error("out of order"), 500, ending)
        elif fault in ("hang", "drip", "drip_head", "endless", "comments", "no_content"):
            await self._go_on_for_ever(fault, request, writer)
        elif fault == "huge":
            await _send_huge(writer, request)
        elif fault == "packed":
            packed = gzip.compress(
                json.dumps(_completion(request, "SUFFICIENT\nParis [1].")).encode()
            )
            _send(writer, packed, headers=f"Content-Encoding: gzip\r\n{ending}")
        elif fault == "bomb":
            _send(writer, _bomb(), headers="Content-Encoding: gzip\r\n")
        elif fault == "echo":
            _send(writer, _error(f"no such key: {_key(head)}"), 401, ending)
        elif fault == "echo_json":
            _send(writer, f'{{"Authorization": "Bearer {_key(head)}", '.encode(), headers=ending)
        elif fault == "broken_json":
            _send(writer, b'{"id": "chatcmpl-1", "choices": [', headers=ending)
        elif fault == "no_choices":
            _send(writer, {"id": "chatcmpl-1", "object": "chat.completion"}, headers=ending)
        else:
            try:
                said = "" if fault == "empty" else self.reply(request["messages"])
            except Exception as error:
                said = f"the test's reply function failed: {error!r}"
                _send(writer, _error(said), 500, ending)
                return self.keep_alive
            if isinstance(said, bytes):
                _send(writer, said, headers=ending)
                return self.keep_alive
            if request.get("stream") and isinstance(said, str):
                return _send_stream(writer, request, said, read, cut=fault == "truncated")
            body = _completion(request, said, read)
            _send(writer, body, headers=ending, cut=fault == "truncated")
        return self.keep_alive and fault != "truncated"

    def _read(self, prompt: list[str]) -> int:
        """The tokens of a prompt that are read from the cache."""
        if not self.cache_step:
            return 0
        shared = [
            sum(
                1
                for _ in takewhile(
                    lambda pair: pair[0] == pair[1], zip(prompt, other, strict=False)
                )
            )
            for other in self._prompts
        ]
        self._prompts.append(prompt)
        return max(shared, default=0) // self.cache_step * self.cache_step

    async def _go_on_for_ever(
        self, fault: Fault, request: dict[str, Any], writer: StreamWriter
    ) -> None:
        """Until the client hangs up, or the test is over."""
        if fault == "hang":
            await self._stop.wait()
        if fault == "drip_head":
            writer.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        else:
            kind = "text/event-stream" if request.get("stream") else "application/json"
            writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n".encode())
            writer.write(b"Transfer-Encoding: chunked\r\n\r\n")
        (event, *_) = _events(request, "word ")
        for number in count():
            if fault == "endless":
                piece = f"data: {event}\n\n" if request.get("stream") else "word " * 1_000
                piece = piece if number or request.get("stream") else '{"id": "' + piece
            elif request.get("stream") and fault == "drip":
                piece = f"data: {event}\n\n"
            elif request.get("stream") and fault == "comments":
                piece = ": still here\n\n"
            elif request.get("stream") and fault == "no_content":
                piece = f"data: {event.replace('word', '').replace(' ', '')}\n\n"
            else:
                piece = " "
            data = piece.encode()
            if fault != "drip_head":
                data = f"{len(data):x}\r\n".encode() + data + b"\r\n"
            writer.write(data)
            await writer.drain()
            await asyncio.sleep(0 if fault == "endless" else 0.1)


def _send(
    writer: StreamWriter,
    body: dict[str, Any] | bytes,
    status: int = 200,
    headers: str = "",
    *,
    cut: bool = False,
) -> None:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = (
        f"HTTP/1.1 {status} {REASONS[status]}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(data)}\r\n{headers}\r\n"
    )
    writer.write(head.encode() + (data[: len(data) // 2] if cut else data))


async def _send_huge(writer: StreamWriter, request: dict[str, Any]) -> None:
    """A good reply of 50 MB."""
    text = "word [1]. " * 5_000_000
    if request.get("stream"):
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
        )
        for start in range(0, len(text), 100_000):
            (event, *_) = _events(request, text[start : start + 100_000].replace(" ", "_"))
            writer.write(f"data: {event}\n\n".encode())
            await writer.drain()
        writer.write(b"data: [DONE]\n\n")
    else:
        _send(writer, _completion(request, text))
        await writer.drain()


def _bomb() -> bytes:
    """A megabyte of spaces, packed once and sent three hundred times."""
    packer = zlib.compressobj(wbits=31)
    first = packer.compress(b" " * 1_000_000) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(b" " * 1_000_000) + packer.flush(zlib.Z_FULL_FLUSH)
    return first + again * 299


def _key(head: str) -> str:
    found = re.search(r"(?i)^authorization: *bearer +(\S+)", head, re.MULTILINE)
    return found[1] if found else ""


def _send_stream(
    writer: StreamWriter, request: dict[str, Any], text: str, read: int, *, cut: bool
) -> bool:
    """Send events in HTTP chunks, so that a missing end is noticed; False when it is missing."""
    writer.write(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    events = list(_events(request, text, read))
    for event in events[: len(events) // 2] if cut else events:
        data = f"data: {event}\n\n".encode()
        writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
    if not cut:
        writer.write(b"0\r\n\r\n")
    return not cut


def _events(request: dict[str, Any], text: str, read: int = 0) -> Iterator[str]:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0}
    head["model"] = request.get("model", "test")
    for piece in re.findall(r"\s*\S+\s*$|\s*\S+", text):
        delta = {"role": "assistant", "content": piece}
        choice = {"index": 0, "delta": delta, "finish_reason": None} | _logprobs(request, [piece])
        yield json.dumps(head | {"choices": [choice]})
    yield json.dumps(head | {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    if (request.get("stream_options") or {}).get("include_usage"):
        yield json.dumps(head | {"choices": [], "usage": _usage(request, text, read)})
    yield "[DONE]"


def _completion(request: dict[str, Any], said: Reply, read: int = 0) -> dict[str, Any]:
    message = {"role": "assistant", "content": said} if isinstance(said, str) else said
    text = str(message.get("content") or "")
    reason = "tool_calls" if "tool_calls" in message else "stop"
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": request.get("model", "test"),
        "choices": [choice | _logprobs(request, text.split())],
        "usage": _usage(request, text, read),
    }


def _usage(request: dict[str, Any], text: str, read: int) -> dict[str, Any]:
    sent, made = len(_words(request)), len(text.split())
    usage = {"prompt_tokens": sent, "completion_tokens": made, "total_tokens": sent + made}
    return {**usage, "prompt_tokens_details": {"cached_tokens": read}}


def _words(request: dict[str, Any]) -> list[str]:
    return " ".join(str(message["content"]) for message in request["messages"]).split()


def _logprobs(request: dict[str, Any], tokens: Sequence[str]) -> dict[str, Any]:
    if not request.get("logprobs"):
        return {}
    return {
        "logprobs": {
            "content": [{"token": token, "logprob": -0.1, "top_logprobs": []} for token in tokens]
        }
    }


def _embeddings(request: dict[str, Any]) -> dict[str, Any]:
    """Words hashed into a bag: texts that share words are near each other."""
    texts = request["input"] if isinstance(request["input"], list) else [request["input"]]
    data = []
    for index, text in enumerate(texts):
        vector = [0.0] * DIMENSIONS
        for word in str(text).lower().split() or [""]:
            vector[hashlib.blake2b(word.encode(), digest_size=4).digest()[0] % DIMENSIONS] += 1
        length = math.hypot(*vector)
        unit = [value / length for value in vector]
        packed = base64.b64encode(struct.pack(f"<{DIMENSIONS}f", *unit)).decode()
        wanted = packed if request.get("encoding_format") == "base64" else unit
        data.append({"object": "embedding", "index": index, "embedding": wanted})
    usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
    model = request.get("model", "test")
    return {"object": "list", "data": data, "model": model, "usage": usage}


def _error(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "test", "code": None}}
