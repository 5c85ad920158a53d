"""One reply says it all: its verdict, what is supported, and what to search next."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from skr_core import Budget
from skr_core.errors import RetrieverError
from skr_core.prompts import REFUSAL
from skr_core.prompts.papers import SKR_TEMPLATES, W2R_TEMPLATES
from skr_core.replies import refuse, say_partial
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_graphs import SKRContext, create_self_completion_graph
from tests.skr_graphs.doubles import PARIS, QUESTION, Invoke, ListStore, both, searchable

HALF = "INSUFFICIENT\nFrance has a capital [1].\nMissing: its name\nSearch: one\nSearch: two"
SERVED = say_partial(QUESTION, "France has a capital [1].", "its name")
CITED = "SUFFICIENT\nParis is the capital [1]."
UNCITED = "SUFFICIENT\nParis, surely."


def model_of(*drafts: str, queries: Sequence[str] = ("None",)) -> ScriptedModel:
    return ScriptedModel(
        {
            "answer_with_references": list(drafts),
            "self_complete": list(queries),
            "answer_anyway": ["Perhaps Paris [1]."],
        }
    )


def graph_of(model: ScriptedModel, retriever: Any = None, **options: Any) -> Any:
    retriever = searchable("one", "two") if retriever is None else retriever
    return create_self_completion_graph(model=model, retriever=retriever, **options).compile()


def tasks(model: ScriptedModel) -> list[str]:
    return [prompt.task for prompt in model.prompts]


# What a round costs


@both
def test_a_round_costs_one_call_where_the_reply_names_queries(invoke: Invoke):
    model = model_of(HALF, CITED)
    output = invoke(graph_of(model))
    assert tasks(model) == ["answer_with_references"] * 2
    assert list(output["usage"]) == ["answer_with_references"]
    assert output["rounds"][1]["queries"] == ["one", "two"]
    assert (output["answer"], output["stop_reason"]) == ("Paris is the capital [1].", "sufficient")
    assert output["grounded"] is True


@both
def test_a_reply_without_queries_is_followed_by_a_request_for_them(invoke: Invoke):
    model = model_of("INSUFFICIENT\nFrance has a capital [1].", CITED, queries=["two"])
    output = invoke(graph_of(model))
    assert tasks(model) == ["answer_with_references", "self_complete", "answer_with_references"]
    assert output["rounds"][1]["queries"] == ["two"]


@both
def test_what_a_reply_asks_for_is_not_searched_twice(invoke: Invoke):
    model = model_of(
        f"INSUFFICIENT\nSearch: {QUESTION.upper()}\nSearch: one",
        "INSUFFICIENT\nFrance has a capital [1].\nSearch: ONE",
    )
    retriever = searchable("one")
    output = invoke(graph_of(model, retriever))
    assert retriever.queries == [QUESTION, "one"]
    assert output["stop_reason"] == "no_new_queries"
    assert tasks(model) == ["answer_with_references"] * 2


@both
def test_the_next_round_reads_what_was_missing_and_what_was_searched(invoke: Invoke):
    model = model_of(HALF, CITED)
    first = invoke(graph_of(model))["rounds"][0]
    assert first["draft"] == "France has a capital [1]."
    assert first["reflection"]["missing"] == "its name"
    assert "its name" not in model.prompts[0].text
    assert "its name" in model.prompts[1].text
    assert model.prompts[1].queries == (QUESTION, "one", "two")


# What is served in the end


@both
def test_a_cited_half_answer_is_kept_and_served(invoke: Invoke):
    """A later round that refuses, and an uncited one behind it, do not push it out."""
    model = model_of(HALF, f"INSUFFICIENT\n{REFUSAL}.\nSearch: three", "Paris, surely.")
    output = invoke(graph_of(model, searchable("one", "two", "three")))
    assert [each["draft"] for each in output["rounds"]] == [
        "France has a capital [1].",
        "",
        "Paris, surely.",
    ]
    assert (output["answer"], output["stop_reason"]) == (SERVED, "max_rounds")
    assert (output["grounded"], output["sufficient"]) == (False, False)
    assert output["missing"] == "its name"
    assert [each["text"] for each in output["references"]] == [PARIS]
    assert "answer_anyway" not in output["usage"]


@both
@pytest.mark.parametrize("draft", [UNCITED, "SUFFICIENT\nParis [7]."])
def test_an_answer_said_to_suffice_that_cites_nothing_given_is_marked(draft: str, invoke: Invoke):
    """The model would say so again; what it said is no answer from the references."""
    output = invoke(graph_of(model_of(draft, queries=["one", "two"])))
    assert (output["stop_reason"], len(output["rounds"])) == ("uncited", 1)
    assert not output["rounds"][0]["reflection"]["sufficient"]
    assert output["answer"].startswith("Paris")
    assert (output["grounded"], output["citations"]) == (False, [])


@both
@pytest.mark.parametrize("draft", ["Paris, surely.", "Paris [7]."])
def test_an_answer_that_cites_nothing_given_is_searched_further(draft: str, invoke: Invoke):
    model = model_of(draft, queries=["one", "two"])
    output = invoke(graph_of(model))
    assert output["stop_reason"] == "max_rounds"
    assert len(output["rounds"]) == 3
    assert not any(each["reflection"]["sufficient"] for each in output["rounds"])
    assert output["answer"].startswith("Paris")
    assert (output["grounded"], output["citations"]) == (False, [])


@both
def test_an_uncited_answer_that_is_cited_later_suffices(invoke: Invoke):
    output = invoke(graph_of(model_of("Paris, surely.", CITED, queries=["one"])))
    assert (output["answer"], output["stop_reason"]) == ("Paris is the capital [1].", "sufficient")
    assert output["grounded"] is True


@both
@pytest.mark.parametrize("templates", [SKR_TEMPLATES, W2R_TEMPLATES])
def test_words_that_ask_for_no_citation_need_none(templates: Any, invoke: Invoke):
    output = invoke(graph_of(model_of("Paris, surely."), templates=templates))
    assert (output["answer"], output["stop_reason"]) == ("Paris, surely.", "sufficient")
    assert output["grounded"] is False


@both
@pytest.mark.parametrize(
    ("question", "refusal"),
    [
        ("Wo wurde sie geboren?", "Die Quellen nennen ihren Geburtsort nicht."),
        ("她在哪里出生？", "参考资料中没有提到她的出生地。"),
    ],
)
@pytest.mark.parametrize("verdict", ["", "INSUFFICIENT\n", "SUFFICIENT\n"])
def test_refusals_in_other_languages_go_on(
    question: str, refusal: str, verdict: str, invoke: Invoke
):
    retriever = MappingRetriever({question: ["about her"], "one": ["more about her"]})
    output = invoke(
        graph_of(model_of(verdict + refusal, CITED, queries=["one"]), retriever), question
    )
    assert output["rounds"][0]["draft"] == ""
    assert output["rounds"][0]["reflection"]["missing"] == refusal
    assert (output["answer"], output["stop_reason"]) == ("Paris is the capital [1].", "sufficient")
    output = invoke(graph_of(model_of(verdict + refusal), retriever), question)
    assert (output["answer"], output["grounded"]) == (refusal, False)


@both
def test_a_refusal_is_in_the_language_of_the_question(invoke: Invoke):
    question = "Wo wurde sie geboren?"
    model = model_of("INSUFFICIENT\nMissing: ihr Geburtsort")
    output = invoke(graph_of(model, MappingRetriever({question: ["about her"]})), question)
    assert output["answer"] == refuse(question, "ihr Geburtsort")
    assert output["answer"].startswith("Die vorliegenden Quellen")


@both
@pytest.mark.parametrize(
    ("when", "draft", "answer", "grounded", "last"),
    [
        ("best_draft", HALF, SERVED, False, False),
        ("best_draft", UNCITED, "Paris, surely.", False, False),
        ("best_draft", REFUSAL, REFUSAL, False, False),
        ("best_draft", "INSUFFICIENT\nMissing: it", refuse(QUESTION, "it"), False, False),
        ("own_knowledge", HALF, SERVED, False, False),
        ("own_knowledge", UNCITED, "Perhaps Paris [1].", False, True),
        ("own_knowledge", REFUSAL, "Perhaps Paris [1].", False, True),
        ("refuse", HALF, refuse(QUESTION, "its name"), False, False),
        ("refuse", UNCITED, refuse(QUESTION), False, False),
        ("refuse", REFUSAL, REFUSAL, False, False),
    ],
)
def test_what_is_answered_where_nothing_sufficed(
    when: Any, draft: str, answer: str, grounded: bool, last: bool, invoke: Invoke
):
    model = model_of(draft)
    options = {"budget": Budget(max_rounds=1), "when_insufficient": when}
    output = invoke(graph_of(model, **options))
    assert (output["answer"], output["grounded"]) == (answer, grounded)
    assert output["stop_reason"] == ("uncited" if draft == UNCITED else "max_rounds")
    assert tasks(model) == ["answer_with_references", "answer_anyway"][: 1 + last]


# Thoughts

THOUGHTS = "<think>\nSUFFICIENT\nLyon [1]?\nSearch: thought\n</think>\n"


@both
def test_thoughts_are_neither_searched_nor_served(invoke: Invoke):
    retriever = searchable("one", "two", "thought")
    output = invoke(graph_of(model_of(THOUGHTS + HALF, THOUGHTS + CITED), retriever))
    assert retriever.queries[0] == QUESTION
    assert sorted(retriever.queries[1:]) == ["one", "two"]
    assert (output["answer"], output["removed_markers"]) == ("Paris is the capital [1].", 0)
    assert not any("Lyon" in each["draft"] for each in output["rounds"])
    model = model_of(REFUSAL, queries=["<think>\nthought\n</think>\none", "None"])
    retriever = searchable("one", "two", "thought")
    invoke(graph_of(model, retriever))
    assert retriever.queries == [QUESTION, "one"]


# Streams

Stream = Callable[..., list[Any]]


def streamed(graph: Any) -> list[Any]:
    return list(
        graph.stream({"question": QUESTION}, stream_mode="custom", context=SKRContext(stream=True))
    )


def streamed_awaited(graph: Any) -> list[Any]:
    async def collect() -> list[Any]:
        events = graph.astream(
            {"question": QUESTION}, stream_mode="custom", context=SKRContext(stream=True)
        )
        return [each async for each in events]

    return asyncio.run(collect())


both_streams = pytest.mark.parametrize("stream", [streamed, streamed_awaited])


class Watched(ScriptedModel):
    """Notes between its pieces what has been streamed by then."""

    def __init__(self, *drafts: str) -> None:
        super().__init__({"answer_with_references": list(drafts)})
        self.heard: list[str] = []

    def generate(self, prompt: Any, *, on_token: Any = None) -> Any:
        def note(piece: str) -> None:
            self.heard.append(piece)
            on_token(piece)

        return super().generate(prompt, on_token=on_token and note)


@both_streams
@pytest.mark.parametrize("thoughts", ["", THOUGHTS])
def test_the_first_token_comes_right_behind_the_verdict(
    thoughts: str, stream: Stream, monkeypatch: pytest.MonkeyPatch
):
    from skr_graphs import events

    model = Watched(HALF, f"{thoughts}{CITED}")
    after: list[str] = []
    made = events.token
    monkeypatch.setattr(
        events, "token", lambda text: (after.append(model.heard[-1]), made(text))[1]
    )
    parts = stream(graph_of(model))
    kinds = [event["type"] for event in parts]
    tokens = [event["text"] for event in parts if event["type"] == "token"]
    assert tokens[0] == "Paris"
    assert after[0].endswith("SUFFICIENT\nParis"), "it waits for nothing behind the verdict's line"
    assert "".join(tokens) == parts[-1]["answer"] == "Paris is the capital [1]."
    assert "retract" not in kinds
    assert kinds.index("token") > kinds.index("reflection"), "nothing of the half-answer is shown"


@both_streams
@pytest.mark.parametrize("draft", [HALF, THOUGHTS + HALF, f"SUFFICIENT\n{REFUSAL}.", REFUSAL])
def test_what_does_not_suffice_is_not_streamed_before_the_end(draft: str, stream: Stream):
    parts = stream(graph_of(model_of(draft)))
    kinds = [event["type"] for event in parts]
    assert kinds[-2:] == ["token", "answer"]
    assert (kinds.count("token"), kinds.count("retract")) == (1, 0)
    assert parts[-2]["text"] == parts[-1]["answer"]


@both_streams
@pytest.mark.parametrize("rounds", [1, 3])
def test_an_uncited_answer_is_shown_once_and_not_taken_back(rounds: int, stream: Stream):
    parts = stream(graph_of(model_of(UNCITED, CITED), budget=Budget(max_rounds=rounds)))
    kinds = [event["type"] for event in parts]
    assert "retract" not in kinds
    assert "".join(each["text"] for each in parts if each["type"] == "token") == "Paris, surely."
    assert parts[-1]["answer"] == "Paris, surely."


@both_streams
@pytest.mark.parametrize(
    ("drafts", "options"),
    [
        ([UNCITED], {"when_insufficient": "refuse"}),
        ([UNCITED], {"when_insufficient": "own_knowledge"}),
    ],
    ids=["refuse", "own_knowledge"],
)
def test_an_uncited_answer_waits_where_another_is_served_in_its_place(
    drafts: list[str], options: dict[str, Any], stream: Stream
):
    parts = stream(graph_of(model_of(*drafts), **options))
    assert "retract" not in [event["type"] for event in parts]
    tokens = "".join(each["text"] for each in parts if each["type"] == "token")
    assert tokens == parts[-1]["answer"] != "Paris, surely."


@both_streams
def test_a_waiting_answer_is_shown_from_its_first_citation_on(stream: Stream):
    graph = graph_of(
        model_of(HALF, "SUFFICIENT\nIt is Paris [1]. It lies on the Seine."),
        when_insufficient="refuse",
    )
    tokens = [each["text"] for each in stream(graph) if each["type"] == "token"]
    assert tokens[0].startswith("It is Paris [1]")
    assert len(tokens) > 1


# Searches that find nothing, or fail


@both
def test_a_first_search_that_finds_nothing_is_followed_by_another(invoke: Invoke):
    model = model_of(CITED, queries=["one"])
    output = invoke(graph_of(model, MappingRetriever({"one": [PARIS]})))
    assert tasks(model) == ["self_complete", "answer_with_references"]
    assert [each["queries"] for each in output["rounds"]] == [[QUESTION], ["one"]]
    assert (output["stop_reason"], output["grounded"]) == ("sufficient", True)


@both
def test_searches_that_find_nothing_end_with_the_rounds(invoke: Invoke):
    model = model_of(queries=["one", "two", "three"])
    output = invoke(graph_of(model, MappingRetriever({})))
    assert tasks(model) == ["self_complete"] * 2
    assert (output["answer"], output["stop_reason"]) == (refuse(QUESTION), "max_rounds")


class Down:
    """Fails for some queries, or for all, with an error of its own."""

    name = "down"

    def __init__(self, *queries: str) -> None:
        self._queries = queries

    def retrieve(self, query: str) -> Any:
        if not self._queries or query in self._queries:
            raise OSError("no route to host")
        return searchable("one", "two").retrieve(query)

    async def aretrieve(self, query: str) -> Any:
        return self.retrieve(query)


@both
@pytest.mark.parametrize("store", [None, ListStore(), ListStore(broken=True)])
def test_a_first_search_that_fails_raises(store: Any, invoke: Invoke):
    model = model_of(CITED)
    with pytest.raises(RetrieverError, match="no route to host") as failure:
        invoke(
            graph_of(
                model, Down(), reference_store=store, scope=None if store is None else "shared"
            )
        )
    assert isinstance(failure.value.__cause__, OSError)
    assert "no route" in str(failure.value.__cause__)
    assert not model.prompts


@both
def test_a_broken_store_does_not_make_an_empty_search_a_failure(invoke: Invoke):
    model = model_of(CITED, queries=["one"])
    retriever = MappingRetriever({"one": [PARIS]})
    output = invoke(
        graph_of(model, retriever, reference_store=ListStore(broken=True), scope="shared")
    )
    assert (output["stop_reason"], output["grounded"]) == ("sufficient", True)
    assert output["rounds"][0]["errors"] == [f"{QUESTION}: the store is closed"]


@both
def test_a_later_search_that_fails_keeps_what_is_in_hand(invoke: Invoke):
    output = invoke(graph_of(model_of(HALF), Down("one", "two")))
    assert output["stop_reason"] == "retriever_failed"
    assert (output["answer"], output["grounded"]) == (SERVED, False)
    assert len(output["rounds"][1]["errors"]) == 2


@both
def test_a_caller_may_go_on_without_references(invoke: Invoke):
    model = model_of(CITED)
    options = {"on_retriever_error": "continue", "when_insufficient": "own_knowledge"}
    output = invoke(graph_of(model, Down(), **options))
    assert output["stop_reason"] == "retriever_failed"
    assert output["rounds"][0]["errors"] == [f"{QUESTION}: no route to host"]
    assert (output["answer"], output["grounded"]) == ("Perhaps Paris.", False)
    assert tasks(model) == ["answer_anyway"]


class Wrong:
    """Gives a text in place of references, to some queries or to all."""

    name = "wrong"

    def __init__(self, *queries: str) -> None:
        self._queries = queries

    def retrieve(self, query: str) -> Any:
        if not self._queries or query in self._queries:
            return "a text"
        return searchable().retrieve(query)

    async def aretrieve(self, query: str) -> Any:
        return self.retrieve(query)


@both
@pytest.mark.parametrize("queries", [(), ("one",)], ids=["first", "later"])
@pytest.mark.parametrize("chosen", ["raise", "continue"])
def test_a_wrong_type_always_raises(queries: Sequence[str], chosen: Any, invoke: Invoke):
    graph = graph_of(model_of(HALF), Wrong(*queries), on_retriever_error=chosen)
    with pytest.raises(RetrieverError, match="Wrong gave str"):
        invoke(graph)


# The same references again


@both
def test_only_the_same_references_again_end_the_loop(invoke: Invoke):
    """What was found before and cut away is new to the model, where it is handed over now."""
    retriever = MappingRetriever({QUESTION: ["a", "b", "c"], "one": ["c"], "two": ["c", "a"]})
    model = model_of("INSUFFICIENT\nSearch: one", "INSUFFICIENT\nSearch: two")
    output = invoke(graph_of(model, retriever, budget=Budget(max_references=2)))
    handed = [[each.text for each in prompt.references] for prompt in model.prompts]
    assert [set(each) for each in handed[:2]] == [{"a", "b"}, {"a", "c"}]
    assert output["stop_reason"] == "no_new_references"
