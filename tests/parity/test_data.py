"""What is JSON or stands in a fence is data: it is served byte for byte, whole and streamed."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from skr_core.prompts import INSUFFICIENT
from skr_core.references import MarkerResolver, resolve_citations
from skr_core.references.citations import free_numbers, number_sources, text_with_sources
from skr_core.replies import VerdictStream, read_reply
from skr_core.routers import NeverRetrieve
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_core.types import Reference
from skr_graphs import SKRContext, answer_of, create_self_completion_graph

REFERENCES = [Reference.of(f"Passage {number}.") for number in range(3)]
TEXTS = st.text(max_size=12) | st.sampled_from(
    ["Paris [1].", "[7]", "[1, 3]", "Search: x", "SUFFICIENT", "`x", "```", "【1】"]
)
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 99) | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
CUTS = st.lists(st.integers(1, 9), max_size=40)


def cut(text: str, sizes: list[int]) -> list[str]:
    pieces = []
    for size in [*sizes, len(text)]:
        pieces.append(text[:size])
        text = text[size:]
    return [piece for piece in pieces if piece]


@given(DOCUMENTS, st.sampled_from([None, 2]), CUTS)
def test_a_document_is_served_byte_for_byte_however_it_arrives(
    document: Any, indent: int | None, sizes: list[int]
) -> None:
    text = json.dumps(document, indent=indent, ensure_ascii=False).strip()
    assume(not re.fullmatch(r"\[\d+\]", text))  # a marker alone is no document
    reply = f"SUFFICIENT\n{text}"
    read = read_reply(reply, len(REFERENCES))
    if read.text:  # else the document is a refusal, or no answer
        assert read.text == text
    resolved = resolve_citations(text, REFERENCES)
    assert (resolved.text, resolved.removed) == (text, 0)
    for each in resolved.citations:
        assert str(each.marker) in text[slice(*each.span)]
    resolver, verdict = MarkerResolver(len(REFERENCES)), VerdictStream(len(REFERENCES))
    taken, passed = "", ""
    for piece in cut(reply, sizes):
        passed += verdict.write(piece)
    for piece in cut(text, sizes):
        resolver.write(piece)
        taken += resolver.take()
    assert text.startswith(taken)
    assert text.startswith(passed)
    assert resolver.finish() == text


@given(st.lists(st.sampled_from(["[7]", "x = [1, 3]", "Search: x", "", '{"a": [0]}', "Answer:"])))
def test_what_stands_in_a_fence_is_served_byte_for_byte(lines: list[str]) -> None:
    fenced = "\n".join(["```json", *lines, "```"])
    assert resolve_citations(fenced, REFERENCES).text == fenced
    assert read_reply(f"SUFFICIENT\n{fenced}", 3).text == fenced
    assert read_reply(f"SUFFICIENT\nIt is so [1]:\n{fenced}\nSo it is.", 3).text.count(fenced) == 1


@pytest.mark.parametrize(
    "text",
    [
        '{"sources": [1, 3], "x": [0], "y": "Paris [7]."}',
        '```json\n{"sources": [1, 3], "x": [0]}\n```',
        '{"status": "ok", "query": "SELECT [7]", "rows": [[1], [7]]}',
        '{\n  "search": "x",\n  "items": [7]\n}',
        "[1, 7]",
        '["Search: x [7]"]',
    ],
)
@pytest.mark.parametrize("verdict", ["SUFFICIENT\n", ""])
@pytest.mark.parametrize("router", [None, NeverRetrieve()])
def test_a_graph_serves_data_as_it_is_and_its_tokens_add_up_to_it(
    text: str, verdict: str, router: Any
) -> None:
    said = text if router else verdict + text
    graph = create_self_completion_graph(
        model=ScriptedModel([said]),
        retriever=MappingRetriever({"Where?": ["One.", "Two.", "Three."]}),
        router=router,
        budget={"max_rounds": 1},  # type: ignore[arg-type]
    ).compile()
    output: Any = {}
    streamed = ""
    for mode, event in graph.stream(
        {"question": "Where?"},
        context=SKRContext(stream=True),
        stream_mode=["custom", "values"],
    ):
        if mode == "values":
            output = event
        elif event["type"] == "retract":  # type: ignore[index]
            streamed = ""
        elif event["type"] == "token":  # type: ignore[index]
            streamed += event["text"]  # type: ignore[index]
    assert (output["answer"], streamed) == (text, text)
    answer = answer_of(output)
    shown = text_with_sources(answer, number_sources(answer, {}, free_numbers(after=4)))
    assert shown.startswith(text)


@pytest.mark.parametrize("prose", ["[1] says that [1, 3] do.", '"Paris" [1], it says [7].'])
def test_prose_that_begins_like_json_streams_once_it_cannot_be(prose: str) -> None:
    resolver = MarkerResolver(3)
    taken = ""
    for character in prose:
        resolver.write(character)
        taken += resolver.take()
    assert len(taken) > len(prose) / 2
    assert resolver.finish().startswith(taken)


def test_an_envelope_of_ours_is_still_a_reply() -> None:
    for said in (
        '{"verdict": "SUFFICIENT", "answer": "Paris [1]."}',
        '```json\n{"sufficient": true, "answer": "Paris [1]."}\n```',
    ):
        assert (read_reply(said, 3).text, read_reply(said, 3).sufficient) == ("Paris [1].", True)
    asked = read_reply('{"queries": ["Ada born"]}', 3)
    assert (asked.sufficient, asked.queries) == (False, ("Ada born",))
    partial = read_reply(f'{INSUFFICIENT}\n{{"a": [1, 3]}}', 3)
    assert partial.sufficient is False


def test_long_data_takes_time_in_proportion_to_its_length() -> None:
    resolver, pieces = MarkerResolver(3), ['{"x": [7], "y": ["', *["a word "] * 60_000, '"]}']
    began = time.monotonic()
    for piece in pieces:
        resolver.write(piece)
        resolver.take()
    assert resolver.finish() == "".join(pieces)
    assert time.monotonic() - began < 5
