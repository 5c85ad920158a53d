"""What a server sends becomes a reply that clients understand, or one line in its words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openai import OpenAIError

from skr_core.models.wire import MAX_BYTES, ReplyReader

DONE = b"data: [DONE]\n\n"


def chunk(content: Any, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": content}, **more}]}


def event(data: Any) -> bytes:
    return f"data: {json.dumps(data)}\n\n".encode()


def read(*pieces: bytes, streamed: bool = True) -> bytes:
    reader = ReplyReader(streamed=streamed)
    read = [each for piece in pieces for each in reader.read(piece)]
    return b"".join([*read, *reader.end()])


def text_in(body: bytes) -> str:
    events = [each.removeprefix(b"data: ") for each in body.split(b"\n\n") if each]
    chunks = [json.loads(each) for each in events if each != b"[DONE]"]
    choices = [choice for each in chunks for choice in each["choices"]]
    return "".join(each["delta"].get("content") or "" for each in choices)


GOOD = event(chunk("Par")) + event(chunk("is.")) + DONE


@pytest.mark.parametrize(
    "body",
    [
        GOOD,
        GOOD.replace(b"\n", b"\r\n"),
        GOOD.replace(b"\n", b"\r"),
        b"\xef\xbb\xbf" + GOOD,
        b": still here\n\nevent: message\nid: 1\nretry: 3\n" + GOOD,
        GOOD + DONE + event(chunk(" More.")) + DONE,
        event(chunk([{"type": "text", "text": "Par"}, {"type": "image"}])) + event(chunk("is.")),
        event({"choices": None}) + event({"choices": [{"delta": None}]}) + GOOD,
        json.dumps({"choices": [{"message": {"content": "Paris."}}]}).encode(),
    ],
    ids=["plain", "crlf", "cr", "bom", "comments", "done", "parts", "null", "whole"],
)
def test_a_stream_of_any_kind_is_read(body: bytes) -> None:
    assert text_in(read(body)) == "Paris."
    assert text_in(read(*(body[n : n + 1] for n in range(len(body))))) == "Paris."


def test_broken_letters_end_no_reply() -> None:
    assert text_in(read(GOOD.replace(b"Par", b"Par\xff"))) == "Par\ufffdis."


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", "sent nothing"),
        (b"service is starting", "'service is starting'"),
        (b"data: {nope\n\n", "'{nope'"),
        (b"data: null\n\n", "'null'"),
        (DONE, "without choices"),
        (event(chunk(7)), "no text in its message"),
        (event({"choices": [None]}), "without a message"),
        (event({"choices": {"a": 1}}), "without choices"),
        (event(chunk("Par")) + event({"error": "out of memory"}), "says: out of memory"),
        (event({"choices": [{"delta": {"refusal": "Never."}}]}) + DONE, "refuses: Never."),
    ],
)
def test_anything_else_is_told_in_one_line(body: bytes, told: str) -> None:
    with pytest.raises(OpenAIError, match=told) as caught:
        read(body)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("streamed", [True, False])
def test_a_reply_that_is_packed_to_fill_the_memory_is_not_kept(streamed: bool) -> None:
    reader = ReplyReader(streamed=streamed)
    for _ in range(MAX_BYTES // 1_000_000):
        assert list(reader.read(b" " * 1_000_000)) == []
    with pytest.raises(OpenAIError, match="over 500,000 characters"):
        list(reader.read(b" "))


@pytest.mark.parametrize(
    "usage", ["lots", {"prompt_tokens": 6}, {"prompt_tokens": 6, "completion_tokens": -2}]
)
def test_usage_that_cannot_be_is_left_out(usage: Any) -> None:
    body = read(event(chunk("Paris.") | {"usage": usage}))
    assert b'"usage": null' in body
