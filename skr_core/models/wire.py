"""What a server of OpenAI's language replies, read before anybody's client takes it for a reply.

Servers, and the proxies before them, send pages of HTML, errors under status 200, replies without
choices, usage that is no number, and events in pieces of every kind; the frameworks' clients end
there in a ``TypeError`` of their own, or in an empty answer. So `ReplyReader` reads what comes: a
reply passes in the one form that clients understand, and anything else is an error in the server's
words.

Example:
    >>> reader = ReplyReader(streamed=True)
    >>> said = b'data: {"choices": [{"delta": {"content": "Paris"}}]}' + bytes([13, 10, 13, 10])
    >>> b'"Paris"' in b"".join(reader.read(said))
    True
    >>> reader = ReplyReader(streamed=False)
    >>> list(reader.read(b'{"error": {"message": "out of memory"}}'))
    []
    >>> list(reader.end())
    Traceback (most recent call last):
    ...
    openai.OpenAIError: the server says: out of memory
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any

from skr_core.bounds import MAX_CHARACTERS
from skr_core.budget import is_count
from skr_core.errors import extra

with extra("openai"):
    from openai import OpenAIError

MAX_BYTES = 32_000_000
"""The longest reply or event: more than 500,000 characters take, with what stands beside them."""

_REFUSED = "the model refuses: {}"
_LINE_END = re.compile(r"\r\n|\n|\r(?=.)", re.DOTALL)


class ReplyReader:
    """Reads the body of a reply, piece by piece.

    Args:
        streamed: Whether a stream of events was asked for.
    """

    def __init__(self, *, streamed: bool) -> None:
        self.streamed = streamed
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        self._pieces: list[str] = []  # a whole reply, or a line that is not at its end
        self._length = 0
        self._data: list[str] = []
        self._is_stream: bool | None = None
        self._is_done = self._has_choices = self._has_text = False
        self._refusal = ""

    def read(self, piece: bytes) -> Iterator[bytes]:
        """Take a piece of the body; yields what a client may read of it so far.

        Raises:
            OpenAIError: It is no reply.
        """
        text = self._decode(piece)
        self._length += len(piece)
        if self._length > MAX_BYTES:
            raise OpenAIError(f"the reply has over {MAX_CHARACTERS:,} characters")
        self._pieces.append(text)
        if self._is_stream is None and (begun := text.lstrip()):
            self._is_stream = self.streamed and begun[0] not in "{[<"
        if self._is_stream and ("\n" in text or "\r" in text):
            yield from self._lines("".join(self._pieces))

    def end(self) -> Iterator[bytes]:
        """Yield the rest, where the body is at its end.

        Raises:
            OpenAIError: It is no reply.
        """
        rest = "".join(self._pieces) + self._decode(b"", True)
        if not self._is_stream:
            reply = _parsed(rest)
            yield from [_event(_as_chunk(reply))] if self.streamed else [json.dumps(reply).encode()]
            return
        yield from self._lines(rest + "\n\n")
        if not self._has_text and self._refusal:
            raise OpenAIError(_REFUSED.format(self._refusal))
        if not self._has_choices:
            raise OpenAIError("the server sent a stream without choices")

    def _lines(self, text: str) -> Iterator[bytes]:
        *lines, rest = _LINE_END.split(text)
        self._pieces, self._length = [rest], len(rest) + sum(map(len, self._data))
        for line in lines:
            name, _, value = line.partition(":")
            if name == "data":
                self._data.append(value.removeprefix(" "))
            elif line and name not in ("", "event", "id", "retry"):
                raise _no_reply(line)
            elif not line and self._data and not self._is_done:
                data, self._data = "\n".join(self._data), []
                yield self._chunk(data)

    def _chunk(self, data: str) -> bytes:
        if data.strip() == "[DONE]":
            self._is_done = True
            # Nothing is read behind it.
            return b"data: [DONE]\n\n" if self._has_text else b""
        chunk = _parsed(data, "delta")
        for choice in chunk["choices"]:
            said = choice["delta"]
            self._has_choices = True
            self._has_text = self._has_text or bool(said.get("content") or said.get("tool_calls"))
            self._refusal += str(said.get("refusal") or "")
        return _event(chunk)


def _parsed(text: str, part: str = "message") -> dict[str, Any]:
    """A reply, or a chunk of one, as clients understand it.

    Args:
        text: The JSON.
        part: The key of a choice that has what is said.
    """
    try:
        reply = json.loads(text)
    except ValueError:
        raise _no_reply(text) from None
    if not isinstance(reply, dict):
        raise _no_reply(text)
    choices = reply.get("choices")
    if error := reply.get("error") or (
        not choices and (reply.get("message") or reply.get("detail"))
    ):
        said = error.get("message") if isinstance(error, dict) else error
        raise OpenAIError(f"the server says: {said or json.dumps(error)}")
    reply["choices"] = choices = choices or []
    if not isinstance(choices, list) or (part == "message" and not choices):
        raise OpenAIError(f"the server sent a reply without choices: {_short(text)}")
    for choice in choices:
        said = choice.get(part) if isinstance(choice, dict) else None
        if said is None and part == "delta" and isinstance(choice, dict):
            said = choice[part] = {}
        if not isinstance(said, dict):
            raise OpenAIError(f"the server sent a choice without a message: {_short(text)}")
        content = said.get("content")
        if isinstance(content, list):
            said["content"] = content = "".join(
                str(each.get("text") or "") for each in content if isinstance(each, dict)
            )
        if not isinstance(content, str | None):
            raise OpenAIError(f"the server sent no text in its message: {_short(text)}")
        if not content and (refusal := said.get("refusal")) and part == "message":
            raise OpenAIError(_REFUSED.format(refusal))
        if not isinstance(choice.get("logprobs"), dict):
            choice.pop("logprobs", None)
    if not _is_usage(reply.get("usage")):
        reply["usage"] = None
    return reply


def _is_usage(usage: Any) -> bool:
    if not isinstance(usage, dict):
        return False
    details = usage.get("prompt_tokens_details") or {}
    read = details.get("cached_tokens") or 0 if isinstance(details, dict) else None
    sent: Any = usage.get("prompt_tokens")
    return is_count(sent) and is_count(usage.get("completion_tokens")) and is_count(read, sent)


def _as_chunk(reply: dict[str, Any]) -> dict[str, Any]:
    """A whole reply, of a server that does not stream, as the one chunk of a stream."""
    choices = [
        {**choice, "delta": choice["message"], "finish_reason": choice.get("finish_reason")}
        for choice in reply["choices"]
    ]
    return {**reply, "object": "chat.completion.chunk", "choices": choices}


def _event(chunk: dict[str, Any]) -> bytes:
    head = {"id": "", "object": "chat.completion.chunk", "created": 0, "model": ""}
    return f"data: {json.dumps(head | chunk)}\n\n".encode()


def _no_reply(text: str) -> OpenAIError:
    what = f"sent {_short(text)!r} in place of a reply" if text.strip() else "sent nothing"
    return OpenAIError(f"the server {what}; check its address, and what stands before it")


def _short(text: str) -> str:
    line = " ".join(text[:400].split())
    return line if len(line) <= 120 else f"{line[:120]}..."
