"""Events and tokens: in order, typed, and never a word that the answer does not say."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core import Budget, Reference
from skr_core.prompts import REFUSAL
from skr_core.prompts.papers import RALLM_TEMPLATES
from skr_core.references import resolve_citations
from skr_core.reflectors import JudgeReflector
from skr_core.routers import NeverRetrieve
from skr_core.testing import ScriptedModel
from skr_graphs import SKRContext, create_self_completion_graph
from skr_graphs.asking import TokenStream
from tests.skr_graphs.doubles import QUESTION, refusing, searchable

Stream = Callable[..., list[Any]]
EAGER = SKRContext(stream=True)


def blocking(graph: Any, mode: Any, **options: Any) -> list[Any]:
    options = {"context": EAGER, **options}
    return list(graph.stream({"question": QUESTION}, stream_mode=mode, **options))


def awaited(graph: Any, mode: Any, **options: Any) -> list[Any]:
    options = {"context": EAGER, **options}

    async def collect() -> list[Any]:
        stream = graph.astream({"question": QUESTION}, stream_mode=mode, **options)
        return [each async for each in stream]

    return asyncio.run(collect())


both = pytest.mark.parametrize("stream", [blocking, awaited])

REFUSING_OPENERS = [
    REFUSAL,
    REFUSAL.replace("'", "’") + ".",
    "I am sorry, but I cannot answer the question based on the provided references.",
    "Unfortunately, I cannot answer the question from the given information.",
]


def two_rounds(refusal: str = REFUSAL, answer: str = "Paris is the capital [1].") -> Any:
    """A refusal, and an answer behind its verdict."""
    drafts = [refusal, f"SUFFICIENT\n{answer}"]
    model = ScriptedModel({"answer_with_references": drafts, "self_complete": ["one"]})
    return create_self_completion_graph(model=model, retriever=searchable("one")).compile()


def without_verdicts(refusal: str, answer: str, **options: Any) -> Any:
    """The same with words that ask for no verdict, so that a refusal shows only as it comes."""
    script: Any = {"answer_with_references": [refusal, answer], "self_complete": ["one"]}
    options = {"retriever": searchable("one"), "templates": RALLM_TEMPLATES, **options}
    return create_self_completion_graph(model=ScriptedModel(script), **options).compile()


@both
def test_events_come_in_order_and_typed(stream: Stream):
    events = stream(two_rounds(), "custom")
    kinds = [event["type"] for event in events]
    tokens = kinds.count("token")
    assert tokens > 3
    assert [kind for kind in kinds if kind != "token"] == [
        *("start", "route", "query", "references", "start", "draft", "reflection"),
        *("start", "query", "references", "start", "sources", "draft", "reflection", "answer"),
    ]
    assert [event["round"] for event in events if "round" in event] == [0] + [1] * 6 + [2] * 5
    assert [event["task"] for event in events if event["type"] == "start"] == [
        *("route", "answer_with_references", "self_complete", "answer_with_references")
    ]
    of = {event["type"]: event for event in events}
    assert of["route"]["decision"]["retrieve"] is True
    assert of["query"]["query"] == "one"
    assert [each["text"] for each in of["references"]["added"]] == ["about one"]
    assert of["references"]["total"] == 2
    found = [each["id"] for event in events for each in event.get("added", ())]
    assert sorted(of["sources"]["references"]) == sorted(found)
    assert kinds.index("sources") + 1 == kinds.index("token")
    assert of["draft"]["text"] == "Paris is the capital [1]."
    assert of["reflection"]["reflection"]["sufficient"] is True
    assert of["answer"]["answer"] == "Paris is the capital [1]."
    assert of["answer"]["stop_reason"] == "sufficient"
    assert [each["marker"] for each in of["answer"]["citations"]] == [1]


@both
def test_events_of_a_known_question(stream: Stream):
    graph = create_self_completion_graph(
        model=ScriptedModel(["It is Paris."]), router=NeverRetrieve()
    ).compile()
    kinds = [event["type"] for event in stream(graph, "custom")]
    assert kinds == ["start", "route", "start", "sources", *["token"] * 3, "answer"]


def graphs() -> dict[str, Any]:
    searching = {"retriever": searchable("one")}
    judge = JudgeReflector(ScriptedModel(["insufficient: it", "sufficient"]))
    drafts = ScriptedModel(
        {"answer_with_references": ["Rome [1].", "Paris [1]."], "self_complete": ["one"]}
    )
    direct = ScriptedModel(["Paris [1] it is."])
    return {
        "two rounds": two_rounds(),
        **{f"refusal {n}": two_rounds(each) for n, each in enumerate(REFUSING_OPENERS)},
        "invalid markers": two_rounds(answer="[7] Paris [1, 9] is [0] large [-1]. So [8]"),
        "wide brackets": two_rounds(answer="Paris 【1†source】 is【2】large [1-2] [x] [1"),
        "no verdict": without_verdicts(REFUSAL, "Paris is the capital [1]."),
        "thoughts": two_rounds("<think>Lyon? [1]</think>\n" + REFUSAL),
        "thoughts, no verdict": without_verdicts(
            REFUSAL, "<think>Lyon? [1]\n</think>\nParis [1].\n"
        ),
        "direct, thoughts": create_self_completion_graph(
            model=ScriptedModel(["<think>Is it Lyon? No.</think>\n\nIt is Paris. \n"]),
            router=NeverRetrieve(),
        ).compile(),
        "direct": create_self_completion_graph(model=direct, router=NeverRetrieve()).compile(),
        "anyway": create_self_completion_graph(model=refusing(QUESTION), **searching).compile(),
        "refuse": create_self_completion_graph(
            model=refusing(QUESTION), when_insufficient="refuse", **searching
        ).compile(),
        "judged": create_self_completion_graph(
            model=drafts, reflector=judge, **searching
        ).compile(),
    }


@both
@pytest.mark.parametrize("name", list(graphs()))
def test_streams_say_exactly_the_answer(name: str, stream: Stream):
    """`messages`, the token events and the output agree, whatever the drafts were."""
    parts = stream(graphs()[name], ["custom", "messages", "values"])
    answer = [data for mode, data in parts if mode == "values"][-1]["answer"]
    assert answer
    tokens = [d["text"] for mode, d in parts if mode == "custom" and d["type"] == "token"]
    messages = [data[0] for mode, data in parts if mode == "messages"]
    assert "".join(tokens) == answer
    assert "".join(message.content for message in messages) == answer
    assert len({message.id for message in messages}) == 1


@both
def test_an_answer_is_streamed_as_it_is_made(stream: Stream):
    """Its tokens come before its draft event, not at the end."""
    events = stream(two_rounds(), "custom")
    kinds = [event["type"] for event in events]
    drafted = len(kinds) - 1 - kinds[::-1].index("draft")
    assert kinds[:drafted].count("token") >= 3


@both
def test_a_draft_that_refuses_late_is_retracted_once(stream: Stream):
    """What was shown of it is cleared, and the answer is a message of its own."""
    graph = without_verdicts(f"Paris is old. {REFUSAL}", "Paris is the capital [1].")
    parts = stream(graph, ["custom", "messages", "values"])
    events = [data for mode, data in parts if mode == "custom"]
    kinds = [event["type"] for event in events]
    assert kinds.count("retract") == 1
    retracted = kinds.index("retract")
    assert kinds.index("draft") < retracted < kinds.index("query", retracted)
    shown: list[str] = []
    for event in events:
        if event["type"] == "retract":
            assert "".join(shown).startswith("Paris is old.")
            shown.clear()
        elif event["type"] == "token":
            shown.append(event["text"])
    answer = [data for mode, data in parts if mode == "values"][-1]["answer"]
    assert "".join(shown) == answer == "Paris is the capital [1]."
    messages = [data[0] for mode, data in parts if mode == "messages"]
    assert len({message.id for message in messages}) == 2
    last = [message.content for message in messages if message.id == messages[-1].id]
    assert "".join(last) == answer


@both
def test_nothing_is_streamed_before_an_abstention(stream: Stream):
    graph = without_verdicts(
        f"Old. {REFUSAL}", "", budget=Budget(max_rounds=1), when_insufficient="refuse"
    )
    kinds = [event["type"] for event in stream(graph, "custom")]
    assert (kinds.count("token"), kinds.count("retract")) == (1, 0)
    assert kinds[-2:] == ["token", "answer"]


# By hand


class Reader:
    """Notes what a `TokenStream` emits as events, and what it shows as messages."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.pieces: list[str] = []
        self.ids: set[str] = set()

    def stream(self, references: Sequence[Reference] = (), **options: Any) -> TokenStream:
        return TokenStream(self.events.append, references, show=self.show, **options)

    def show(self, piece: str, message_id: str) -> None:
        self.pieces.append(piece)
        self.ids.add(message_id)

    @property
    def texts(self) -> list[str]:
        return [event["text"] for event in self.events if event["type"] == "token"]


REFERENCES = [Reference.of("one"), Reference.of("two")]


def test_a_marker_waits_until_it_is_known():
    reader = Reader()
    tokens = reader.stream(REFERENCES)
    for piece in ["Paris", " [", "1", "]", " and", " [", "9", "]", "."]:
        tokens.write(piece)
    assert reader.texts == ["Paris", " [1] and", "."]
    assert reader.pieces == reader.texts
    assert reader.ids == {tokens.message_id}


def test_an_open_bracket_in_text_holds_back_no_more_than_its_line():
    reader = Reader()
    tokens = reader.stream(REFERENCES)
    for piece in ["The interval [0, 1) is", " half open.", "\nNext", " line"]:
        tokens.write(piece)
    assert reader.texts == ["The interval", " [0, 1) is half open.\nNext", " line"]


def test_a_refusal_is_held_back_and_an_answer_is_not():
    reader = Reader()
    tokens = reader.stream(REFERENCES, hold_refusals=True)
    for piece in re.findall(r"\s*\S+", REFUSAL):
        tokens.write(piece)
    assert reader.events == []
    tokens = reader.stream(REFERENCES, hold_refusals=True)
    tokens.write("Par")
    tokens.write("is")
    assert reader.texts == ["Par", "is"]


def test_a_later_step_goes_on_with_what_was_streamed():
    reader = Reader()
    draft = reader.stream(REFERENCES)
    draft.write("Paris [1")
    reader.stream(streamed=draft.streamed).finish("Paris [1].")
    assert reader.texts == ["Paris", " [1]."]
    assert [event["type"] for event in reader.events] == ["sources", "token", "token"]
    assert len(reader.ids) == 1


def test_another_answer_is_another_message():
    reader = Reader()
    draft = reader.stream(REFERENCES)
    draft.write("Rome.")
    reader.stream(streamed=draft.streamed).finish("Paris.")
    assert [event.get("text", event["type"]) for event in reader.events] == [
        *("sources", "Rome.", "retract"),
        *("sources", "Paris."),
    ]
    assert len(reader.ids) == 2


def test_nothing_is_retracted_where_nothing_was_shown():
    reader = Reader()
    reader.stream().retract()
    reader.stream(streamed=reader.stream().streamed).finish("Paris.")
    assert reader.texts == ["Paris."]


@pytest.mark.parametrize("opening", ["Paris. ", "Based on the map [1 ", "I could " * 60])
def test_a_long_reply_adds_up(opening: str):
    text = opening + "it is [1] said [0, 1) " * 2_000
    reader = Reader()
    tokens = reader.stream(REFERENCES, hold_refusals=True)
    for start in range(0, len(text), 4):
        tokens.write(text[start : start + 4])
    answer = resolve_citations(text, REFERENCES).text
    assert len("".join(reader.texts)) > len(answer) - 100, "it does not wait for the end"
    tokens.finish(answer)
    assert "".join(reader.texts) == answer


def test_only_the_opening_is_asked_whether_it_refuses():
    reader = Reader()
    tokens = reader.stream(hold_refusals=True)
    for piece in ["Paris is old. ", REFUSAL, " It is."]:
        tokens.write(piece)
    assert reader.texts == ["Paris is old.", f" {REFUSAL}", " It is."]


pieces = st.sampled_from(
    [
        *"[]【】129-, .x†\n\u00a0",
        *("Paris", " and ", "0" * 9),
        *("[1]", "[7]", "[0]", "[1-2]", "[1, 9]"),
    ]
)
replies = st.lists(pieces, max_size=30).map("".join) | st.text()


@given(replies, st.lists(st.integers(0, 60), max_size=12), st.integers(0, 3), st.booleans())
def test_chopped_anywhere_the_pieces_add_up(
    text: str, cuts: list[int], count: int, hold_refusals: bool
):
    references = [Reference.of(str(number)) for number in range(count)]
    reader = Reader()
    tokens = reader.stream(references, hold_refusals=hold_refusals)
    ends = [0, *sorted(cut for cut in cuts if cut < len(text)), len(text)]
    for start, end in pairwise(ends):
        tokens.write(text[start:end])
    answer = resolve_citations(text, references).text
    tokens.finish(answer)
    assert "".join(reader.texts) == answer
    assert all(reader.texts)


@both
def test_the_model_is_not_asked_to_stream_where_nobody_reads_tokens(stream: Stream):
    """A whole reply is quicker and gives its usage; the events still add up to the answer."""
    graph = two_rounds()
    events = stream(graph, "custom", context=SKRContext())
    assert [event["text"] for event in events if event["type"] == "token"] == [
        "Paris is the capital [1]."
    ]


@both
def test_a_stream_of_messages_is_token_by_token(stream: Stream):
    chunks = stream(two_rounds(), "messages", context=SKRContext())
    assert len(chunks) > 3
