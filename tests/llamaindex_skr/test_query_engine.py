"""SKRQueryEngine, sync and async, whole and streamed."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from llama_index.core.base.response.schema import (
    AsyncStreamingResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler
from llama_index.core.llms import LLM, MockLLM
from llama_index.core.prompts import PromptTemplate
from llama_index.core.schema import QueryBundle

from llamaindex_skr import LlamaIndexModel, SKRQueryEngine
from skr_core import Budget, Demonstration, PromptTemplates
from skr_core.errors import InputError, ModelError, RetrieverError
from skr_core.prompts import REFUSAL
from skr_core.prompts.papers import RALLM_TEMPLATES, SKR_TEMPLATES, W2R_TEMPLATES
from skr_core.reflectors import JudgeReflector
from skr_core.routers import NeverRetrieve
from skr_core.testing import BrokenModel, MappingRetriever, ScriptedModel
from skr_graphs import create_self_completion_graph
from tests.llamaindex_skr.fakes import (
    ANSWER,
    BORN,
    FOLLOW_UP,
    JAWS,
    QUESTION,
    Search,
    Speaker,
    late,
    two_hops,
)

Ask = Callable[..., Awaitable[Response]]


def half_answered(prompt: str) -> str:
    """Says what the first references support, and nothing with those of the second round."""
    return f"{REFUSAL}." if BORN in prompt else f"INSUFFICIENT\n{JAWS} [1]\nSearch: {FOLLOW_UP}"


MODES = ["sync", "async", "sync stream", "async stream"]


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    mode: str = request.param
    return mode


@pytest.fixture
def ask(mode: str) -> Ask:
    """Asks an engine in one of four ways; a streamed response is read to its end."""

    async def ask(retriever: Any, question: str = QUESTION, **options: Any) -> Response:
        streaming = "stream" in mode
        engine = SKRQueryEngine.from_defaults(retriever, streaming=streaming, **options)
        if mode.startswith("sync"):
            response: Any = await asyncio.to_thread(engine.query, question)
        else:
            response = await engine.aquery(question)
        if isinstance(response, StreamingResponse):
            return await asyncio.to_thread(response.get_response)
        if isinstance(response, AsyncStreamingResponse):
            return await response.get_response()
        assert isinstance(response, Response)
        return response

    return ask


async def test_retrieves_until_the_references_suffice(ask: Ask, mode: str) -> None:
    llm, search = Speaker(), Search()
    response = await ask(search, llm=llm)
    assert response.response == ANSWER
    assert [node.text for node in response.source_nodes] == [JAWS, BORN]
    about: Any = response.metadata
    assert about["stop_reason"] == "sufficient"
    assert about["decision"]["retrieve"]
    assert about["grounded"] is True
    assert [each["queries"] for each in about["rounds"]] == [[QUESTION], [FOLLOW_UP]]
    assert [each["marker"] for each in about["citations"]] == [1, 2]
    assert about["citations"][1]["reference_id"] == response.source_nodes[1].node_id
    assert sum(spent["calls"] for spent in about["usage"].values()) == len(llm.sent) == 3
    assert {each.split()[0] for each in llm.modes + search.modes} == {mode.split()[0]}


async def test_a_known_question_gets_a_direct_answer(ask: Ask) -> None:
    search = Search()
    response = await ask(search, llm=Speaker(), router=NeverRetrieve())
    assert response.response == "Cincinnati, as far as I know."
    assert response.source_nodes == []
    assert response.metadata is not None
    assert response.metadata["stop_reason"] == "known"
    assert response.metadata["decision"]["reason"] == "no question is retrieved for"
    assert response.metadata["grounded"] is False
    assert search.modes == []


async def test_finding_nothing_is_no_empty_response(ask: Ask) -> None:
    for how, said in (
        ("best_draft", f"{REFUSAL}."),
        ("own_knowledge", "Cincinnati, as far as I know."),
    ):
        search = Search({})
        response = await ask(search, llm=Speaker(), when_insufficient=how)
        assert response.response == said
        about: Any = response.metadata
        assert about["stop_reason"] == "no_new_queries"
        assert [each["queries"] for each in about["rounds"]] == [[QUESTION], [FOLLOW_UP]]
        assert about["grounded"] is False


async def test_an_answer_that_cites_nothing_is_marked_as_not_grounded(ask: Ask) -> None:
    response = await ask(Search(), llm=Speaker(lambda prompt: "In Cincinnati."))
    assert response.response == "In Cincinnati."
    assert response.metadata is not None
    assert response.metadata["stop_reason"] != "sufficient"
    assert response.metadata["grounded"] is False


async def test_stock_fakes(ask: Ask) -> None:
    response = await ask(MappingRetriever({"Capital?": ["Paris."]}), "Capital?", llm=MockLLM(3))
    assert response.response == "text text text"
    assert [node.text for node in response.source_nodes] == ["Paris."]


async def test_the_options_reach_the_graph(ask: Ask) -> None:
    response = await ask(
        Search(), llm=Speaker(), budget=Budget(max_rounds=1), when_insufficient="refuse"
    )
    assert response.response == f"{REFUSAL}."
    llm = Speaker(lambda prompt: "sufficient" if "Draft" in prompt else "Yes.")
    response = await ask(Search(), llm=llm, reflector=JudgeReflector(LlamaIndexModel(llm)))
    assert response.response == "Yes."
    assert response.metadata is not None
    assert "reflect" in response.metadata["usage"]


async def test_what_fails_fails_inside_the_query(mode: str) -> None:
    engine = SKRQueryEngine.from_defaults(Search(), llm=BrokenModel(), streaming="stream" in mode)
    if mode.startswith("sync"):
        with pytest.raises(ModelError, match="broken on purpose"):
            engine.query(QUESTION)
    else:
        with pytest.raises(ModelError, match="broken on purpose"):
            await engine.aquery(QUESTION)


@pytest.mark.parametrize("found", [None, "text", [5]])
async def test_what_finds_no_nodes_is_named_once_in_one_line(ask: Ask, found: Any) -> None:
    class Wrong(Search):
        def _of(self, query_bundle: QueryBundle) -> Any:
            return found

    with pytest.raises(RetrieverError) as caught:
        await ask(Wrong(), llm=Speaker())
    said = str(caught.value)
    assert said.count("object") == said.count("Wrong: ") == 1
    assert "\n" not in said
    assert len(said) < 160


async def test_an_empty_question_is_an_input_error(ask: Ask) -> None:
    with pytest.raises(InputError, match="empty"):
        await ask(Search(), " ", llm=Speaker())


def test_a_stream_yields_the_final_answers_tokens_and_is_filled_at_its_end() -> None:
    engine = SKRQueryEngine.from_defaults(Search(), llm=Speaker(), streaming=True)
    response = engine.query(QUESTION)
    assert isinstance(response, StreamingResponse)
    assert response.metadata == {}
    tokens = list(response.response_gen)
    assert tokens[:3] == ["Steven", " Spielberg", " directed"]
    assert "".join(tokens) == ANSWER == str(response)
    assert [node.text for node in response.source_nodes] == [JAWS, BORN]
    assert response.metadata is not None
    assert response.metadata["stop_reason"] == "sufficient"


async def test_an_async_stream_yields_the_final_answers_tokens() -> None:
    engine = SKRQueryEngine.from_defaults(Search(), llm=Speaker(), streaming=True)
    response = await engine.aquery(QUESTION)
    assert isinstance(response, AsyncStreamingResponse)
    tokens = [token async for token in response.async_response_gen()]
    assert len(tokens) > 5
    assert "".join(tokens) == ANSWER == response.response_txt
    assert [node.text for node in response.source_nodes] == [JAWS, BORN]


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize(
    ("reply", "options", "found"),
    [
        (two_hops, {}, [JAWS, BORN]),
        (lambda prompt: "In Cincinnati.", {"router": NeverRetrieve()}, []),
        # The answer in the end is the first draft, so the nodes are the draft's.
        (half_answered, {"budget": Budget(max_rounds=2)}, [JAWS]),
    ],
    ids=["sufficient", "known", "an earlier draft"],
)
async def test_a_stream_has_its_source_nodes_before_it_is_read(
    mode: str, reply: Any, options: dict[str, Any], found: list[str]
) -> None:
    engine = SKRQueryEngine.from_defaults(Search(), llm=Speaker(reply), streaming=True, **options)
    response: Any = engine.query(QUESTION) if mode == "sync" else await engine.aquery(QUESTION)
    nodes = response.source_nodes
    assert [node.text for node in nodes] == found
    if mode == "sync":
        response.get_response()
    else:
        await response.get_response()
    assert response.source_nodes is nodes
    assert [node.text for node in nodes] == found


async def test_a_stream_may_be_left_or_read_in_another_task() -> None:
    engine = SKRQueryEngine.from_defaults(Search(), llm=Speaker(), streaming=True)
    left: Any = engine.query(QUESTION)
    assert next(left.response_gen) == "Steven"
    left.response_gen.close()
    aleft: Any = await engine.aquery(QUESTION)
    await aleft.response_gen.aclose()
    closed: Any = await engine.aquery(QUESTION)
    tokens = closed.async_response_gen()
    assert await anext(tokens) == "Steven"
    await tokens.aclose()
    assert [token async for token in closed.response_gen] == [], "the reply ended with its reader"
    moved: Any = await engine.aquery(QUESTION)
    response = await asyncio.create_task(moved.get_response())
    assert response.response == ANSWER


async def test_no_part_falls_back_on_the_settings(
    ask: Ask, use_default: Callable[[LLM], None]
) -> None:
    from llama_index.core import KeywordTableIndex, SummaryIndex, TreeIndex

    from tests.llamaindex_skr.fakes import index, nodes

    class Poison(MockLLM):
        def __getattribute__(self, name: str) -> Any:
            if name in ("chat", "achat", "complete", "acomplete", "predict", "apredict"):
                raise AssertionError(f"Settings.llm was asked to {name}")
            return super().__getattribute__(name)

    use_default(Poison())
    llm = MockLLM(max_tokens=2)
    sources = [
        index(),
        SummaryIndex(nodes()),
        KeywordTableIndex(nodes(), llm=llm),
        TreeIndex(nodes(), llm=llm),
    ]
    for source in sources:
        response = await ask(
            source, "Who directed Jaws?", llm=llm, when_insufficient="own_knowledge"
        )
        assert response.response == "text text"
        assert response.metadata is not None
        assert response.metadata["rounds"][0]["errors"] == []
    use_default(MockLLM(max_tokens=4))
    assert (await ask(Search())).response == "text text text text"


async def test_prompts_are_read_and_replaced() -> None:
    llm = Speaker(lambda prompt: "Yes.")
    engine = SKRQueryEngine.from_defaults(Search(), llm=llm, router=NeverRetrieve())
    other = SKRQueryEngine.from_defaults(Search(), llm=llm, router=NeverRetrieve())
    before = engine.get_prompts()
    assert list(before) == [
        "answer_directly",
        "answer_with_references",
        "answer_anyway",
        "self_complete",
        "decompose",
        "condense",
    ]
    assert "{question}" in before["answer_directly"].get_template()
    engine.update_prompts({"answer_directly": PromptTemplate("In one word: {query_str}")})
    engine.query(QUESTION)
    await engine.aquery(QUESTION)
    assert llm.sent == [f"In one word: {QUESTION}"] * 2
    assert engine.get_prompts()["answer_directly"].get_template() == "In one word: {question}"
    assert engine.get_prompts()["self_complete"] == before["self_complete"]
    other.query(QUESTION)
    assert "internal knowledge" in llm.sent[-1]


@pytest.mark.parametrize(
    ("templates", "words"),
    [
        (
            SKR_TEMPLATES,
            [
                f'Here are some passages:\n[1]\n"""\n{JAWS}\n"""\n',
                "Question: Of what?\nHere are some",
            ],
        ),
        (W2R_TEMPLATES, ["Given the following information:", "with one or few words"]),
    ],
    ids=["SKR", "W2R"],
)
async def test_the_papers_words(ask: Ask, templates: PromptTemplates, words: list[str]) -> None:
    llm = Speaker(lambda prompt: "Cincinnati.")
    example = Demonstration("Of what?", "Of that.", ("It is of that.",))
    await ask(Search(), llm=llm, templates=templates, demonstrations=[example])
    (prompt,) = llm.sent
    assert [each for each in words if each not in prompt] == []
    assert REFUSAL not in prompt


def test_a_graph_of_ones_own_keeps_its_own() -> None:
    graph = create_self_completion_graph(model=ScriptedModel(["Paris."]), router=NeverRetrieve())
    assert str(SKRQueryEngine(graph.compile()).query("Where?")) == "Paris."


def test_what_cannot_be_used_is_refused() -> None:
    with pytest.raises(InputError, match="nothing to retrieve from"):
        SKRQueryEngine.from_defaults(llm=MockLLM())
    with pytest.raises(InputError, match="a retriever is wanted"):
        SKRQueryEngine.from_defaults(object(), llm=MockLLM())
    with pytest.raises(InputError, match="a model is wanted"):
        SKRQueryEngine.from_defaults(Search(), llm=object())


def test_llamaindex_callbacks_see_the_query() -> None:
    debug = LlamaDebugHandler(print_trace_on_end=False)
    engine = SKRQueryEngine.from_defaults(
        Search(), llm=Speaker(), callback_manager=CallbackManager([debug])
    )
    engine.query(QUESTION)
    ((start, end),) = debug.get_event_pairs(CBEventType.QUERY)
    assert (start.payload or {})["query_str"] == QUESTION
    assert str((end.payload or {})["response"]) == ANSWER


@pytest.mark.parametrize("streaming", [False, True])
def test_sync_calls_start_no_event_loop(monkeypatch: pytest.MonkeyPatch, streaming: bool) -> None:
    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("an event loop was started")

    engine = SKRQueryEngine.from_defaults(Search(), llm=Speaker(), streaming=streaming)
    for name in ("run", "new_event_loop", "get_event_loop"):
        monkeypatch.setattr(asyncio, name, refuse)
    assert str(engine.query(QUESTION)) == ANSWER


async def test_inside_another_graph_it_keeps_to_itself() -> None:
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import START, StateGraph

    engine = SKRQueryEngine.from_defaults(Search(), llm=Speaker())

    def ask_twice(state: dict[str, Any]) -> dict[str, Any]:
        return {"answers": [str(engine.query(QUESTION)), str(engine.query(QUESTION))]}

    outer = StateGraph(dict).add_node("ask", ask_twice).add_edge(START, "ask")
    graph: Any = outer.compile(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}}
    chunks = list(graph.stream({}, config, stream_mode=["values", "custom", "messages"]))
    assert chunks[-1] == ("values", {"answers": [ANSWER, ANSWER]})


async def test_a_stream_that_is_dropped_leaves_no_trouble() -> None:
    troubles: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, about: troubles.append(about))
    engine = SKRQueryEngine.from_defaults(Search(), llm=Speaker(), streaming=True)
    unread: Any = await engine.aquery(QUESTION)
    half_read: Any = await engine.aquery(QUESTION)
    assert await anext(half_read.response_gen) == "Steven"
    tokens = (await engine.aquery(QUESTION)).response_gen  # type: ignore[union-attr]
    del unread, half_read
    gc.collect()
    assert "".join([token async for token in tokens]) == ANSWER
    await asyncio.get_running_loop().shutdown_asyncgens()
    assert troubles == []


@pytest.mark.parametrize("templates", [None, RALLM_TEMPLATES], ids=["verdict", "no verdict"])
async def test_a_refusal_that_comes_late_is_not_in_the_response(
    ask: Ask, templates: PromptTemplates | None
) -> None:
    response = await ask(Search(), llm=Speaker(late), templates=templates)
    assert response.metadata is not None
    assert response.metadata["stop_reason"] == "sufficient"
    assert response.response == ANSWER


def test_a_streams_text_is_the_answers_however_it_is_read(
    capsys: pytest.CaptureFixture[str],
) -> None:
    engine = SKRQueryEngine.from_defaults(
        Search(), llm=Speaker(late), streaming=True, templates=RALLM_TEMPLATES
    )
    assert str(engine.query(QUESTION)) == ANSWER
    begun: Any = engine.query(QUESTION)
    next(begun.response_gen)
    assert begun.get_response().response == str(begun) == ANSWER
    printed: Any = engine.query(QUESTION)
    printed.print_response_stream()
    shown = capsys.readouterr().out
    assert shown.endswith(ANSWER)
    assert printed.response_txt == ANSWER
    printed.print_response_stream()
    assert capsys.readouterr().out == f"{ANSWER}\n"


async def test_an_async_stream_is_safe_to_turn_into_a_string() -> None:
    engine = SKRQueryEngine.from_defaults(
        Search(), llm=Speaker(late), streaming=True, templates=RALLM_TEMPLATES
    )
    async with asyncio.timeout(20):
        response: Any = await engine.aquery(QUESTION)
        assert "await response.get_response()" in str(response)
        tokens = response.async_response_gen()
        assert await anext(tokens) == str(response) != ""
        assert len([token async for token in tokens]) > 1
        assert str(response) == (await response.get_response()).response == ANSWER


def test_turning_an_async_stream_into_a_string_does_not_block() -> None:
    # In a process of its own: a loop that blocks would not notice its timeout.
    code = """
import asyncio
from llamaindex_skr import SKRQueryEngine
from tests.llamaindex_skr.fakes import QUESTION, Search, Speaker
engine = SKRQueryEngine.from_defaults(Search(), llm=Speaker(), streaming=True)
async def main():
    return str(await engine.aquery(QUESTION))
assert "get_response" in asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=150
    )
    assert (done.returncode, done.stderr) == (0, "")
