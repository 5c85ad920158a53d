"""A synthesizer of the user's own writes the answer; an engine retrieves without answering."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from llama_index.core.base.response.schema import Response
from llama_index.core.postprocessor import LongContextReorder
from llama_index.core.prompts import PromptTemplate
from llama_index.core.query_engine import SubQuestionQueryEngine
from llama_index.core.response_synthesizers import (
    BaseSynthesizer,
    ResponseMode,
    get_response_synthesizer,
)
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import QueryEngineTool

from llamaindex_skr import SKRQueryEngine, create_skr_tool
from skr_core import Decision
from skr_core.errors import InputError, RetrieverError
from skr_core.prompts import REFUSAL
from skr_core.routers import NeverRetrieve
from skr_core.settings import answerer_of
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_graphs import create_self_completion_graph
from tests.llamaindex_skr.fakes import BORN, FOLLOW_UP, JAWS, PARIS, QUESTION, Search, Speaker
from tests.skr_graphs.doubles import ListStore

SAID = "In Cincinnati, says the synthesizer."

Ask = Callable[..., Awaitable[Any]]


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Ask:
    """Calls a method of an engine, or its async form."""

    async def ask(engine: SKRQueryEngine, *given: Any, name: str = "query") -> Any:
        if request.param == "sync":
            return await asyncio.to_thread(getattr(engine, name), *(given or [QUESTION]))
        return await getattr(engine, f"a{name}")(*(given or [QUESTION]))

    return ask


async def whole(response: Any) -> str:
    """The text of a response; a stream is read to its end."""
    if hasattr(response, "async_response_gen"):
        return "".join([each async for each in response.async_response_gen()])
    if hasattr(response, "response_gen"):
        return "".join(response.response_gen)
    return str(response)


def synthesizer(said: str = SAID, **options: Any) -> tuple[BaseSynthesizer, Speaker]:
    llm = Speaker(lambda prompt: said)
    return get_response_synthesizer(llm=llm, **options), llm


@pytest.mark.parametrize("mode", [ResponseMode.COMPACT, ResponseMode.TREE_SUMMARIZE])
async def test_it_writes_the_answer_from_the_nodes_that_the_loop_finds(
    ask: Ask, mode: ResponseMode
) -> None:
    written, llm = synthesizer(response_mode=mode)
    model = Speaker()
    engine = SKRQueryEngine.from_defaults(Search(), llm=model, response_synthesizer=written)
    response = await ask(engine)
    assert str(response) == SAID
    assert [each.text for each in response.source_nodes] == [JAWS, BORN]
    about = response.metadata
    assert (about["stop_reason"], len(about["rounds"])) == ("sufficient", 2)
    assert about["decision"]["retrieve"]
    assert about["grounded"], "the loop's own draft cites what it rests on"
    assert about["citations"] == [], "the synthesizer's text is its own"
    assert sum(each["calls"] for each in about["usage"].values()) == len(model.sent)
    (prompt,) = llm.sent
    assert JAWS in prompt
    assert BORN in prompt
    assert response.source_nodes[0].node_id in about, "what LlamaIndex itself keeps there"


@pytest.mark.parametrize("streaming", [True, False])
async def test_it_streams_where_the_synthesizer_does(ask: Ask, streaming: bool) -> None:
    written, _ = synthesizer(streaming=True)
    engine = SKRQueryEngine.from_defaults(
        Search(), llm=Speaker(), response_synthesizer=written, streaming=streaming
    )
    response = await ask(engine)
    assert not isinstance(response, Response)
    assert response.metadata["stop_reason"] == "sufficient"
    assert [each.text for each in response.source_nodes] == [JAWS, BORN]
    assert await whole(response) == SAID


@pytest.mark.parametrize("streaming", [True, False])
async def test_what_needs_no_node_is_told_by_the_loop(ask: Ask, streaming: bool) -> None:
    written, llm = synthesizer(streaming=streaming)
    known = SKRQueryEngine.from_defaults(
        Search(),
        llm=Speaker(lambda prompt: "Paris."),
        router=NeverRetrieve(),
        response_synthesizer=written,
    )
    response = await ask(known)
    assert isinstance(response, Response) != streaming
    assert (await whole(response), response.metadata["stop_reason"]) == ("Paris.", "known")
    assert response.source_nodes == []
    refusing = SKRQueryEngine.from_defaults(
        Search({QUESTION: [PARIS]}), llm=Speaker(), response_synthesizer=written
    )
    response = await ask(refusing)
    assert (await whole(response)).startswith(REFUSAL)
    assert response.metadata["stop_reason"] != "sufficient"
    assert llm.sent == []


async def test_a_part_of_an_answer_is_written_by_it_too(ask: Ask) -> None:
    written, _ = synthesizer()
    model = ScriptedModel(["INSUFFICIENT\nSpielberg directed it [1].\nSearch: nothing else"])
    engine = SKRQueryEngine.from_defaults(
        MappingRetriever({QUESTION: [JAWS]}), llm=model, response_synthesizer=written
    )
    response = await ask(engine)
    assert str(response) == SAID
    assert response.metadata["stop_reason"] != "sufficient"
    assert not response.metadata["sufficient"]


async def test_in_a_tool_and_under_sub_questions(ask: Ask) -> None:
    written, _ = synthesizer(streaming=True)
    engine = SKRQueryEngine.from_defaults(Search(), llm=Speaker(), response_synthesizer=written)
    output = await ask(create_skr_tool(engine), name="call")
    assert output.content.startswith(f'{SAID}\n\nSources:\n[1] "{JAWS}"')
    tool = QueryEngineTool.from_defaults(engine, name="films", description="Films.")

    class One:
        def generate(self, tools: Any, query: Any) -> list[Any]:
            from llama_index.core.question_gen.types import SubQuestion

            return [SubQuestion(sub_question=QUESTION, tool_name="films")]

        async def agenerate(self, tools: Any, query: Any) -> list[Any]:
            return self.generate(tools, query)

    divided: Any = SubQuestionQueryEngine(
        question_gen=One(),  # type: ignore[arg-type]
        response_synthesizer=synthesizer("All told.")[0],
        query_engine_tools=[tool],
        verbose=False,
        use_async=False,
    )
    response = await ask(divided)
    assert SAID in response.source_nodes[0].text


def test_its_prompts_are_read_and_replaced_with_the_engine_s() -> None:
    written, llm = synthesizer()
    engine = SKRQueryEngine.from_defaults(Search(), llm=Speaker(), response_synthesizer=written)
    name = "response_synthesizer:text_qa_template"
    assert {"answer_directly", name} <= {*engine.get_prompts()}
    engine.update_prompts({name: PromptTemplate("In brief, {query_str} {context_str}")})
    engine.query(QUESTION)
    assert llm.sent[0].startswith("In brief, ")


def test_what_does_not_fit_is_refused_by_name() -> None:
    written, _ = synthesizer()
    wrong: Any = Search()
    with pytest.raises(InputError, match="a synthesizer is wanted, not Search"):
        SKRQueryEngine.from_defaults(Search(), llm=Speaker(), response_synthesizer=wrong)
    with pytest.raises(InputError, match="this response_synthesizer does not stream: make it by"):
        SKRQueryEngine.from_defaults(
            Search(), llm=Speaker(), response_synthesizer=written, streaming=True
        )
    with pytest.raises(InputError, match="give schema and template to it"):
        SKRQueryEngine.from_defaults(
            Search(), llm=Speaker(), response_synthesizer=written, output_cls=Speaker
        )
    with pytest.raises(InputError, match=r"own_knowledge.* which the response_synthesizer writes"):
        SKRQueryEngine.from_defaults(
            Search(),
            llm=Speaker(),
            response_synthesizer=written,
            when_insufficient="own_knowledge",
        )
    served = SKRQueryEngine.from_defaults(Search(), llm=Speaker(), response_synthesizer=written)
    with pytest.raises(InputError, match="collect over the same engine without response_synth"):
        answerer_of(served)
    with pytest.raises(TypeError, match="no 'response_mode': give response_synthesizer=get_resp"):
        SKRQueryEngine.from_defaults(Search(), response_mode="compact")  # type: ignore[call-arg]


# To retrieve, and to synthesize, without asking


async def test_retrieve_routes_and_searches_once(ask: Ask) -> None:
    model = Speaker()
    engine = SKRQueryEngine.from_defaults(Search(), llm=model)
    (node,) = await ask(engine, QueryBundle(QUESTION), name="retrieve")
    assert (node.text, node.score) == (JAWS, 0.5)
    assert [each.text for each in await ask(engine, FOLLOW_UP, name="retrieve")] == [BORN]
    assert model.sent == [], "nothing is answered"
    known = engine.with_options(router=NeverRetrieve())
    assert await ask(known, QueryBundle(QUESTION), name="retrieve") == []
    assert await ask(engine, QueryBundle("Nobody knows"), name="retrieve") == []


async def test_retrieve_searches_the_store_in_its_scope_and_reads_in_order(ask: Ask) -> None:
    store = ListStore()
    found = {QUESTION: [JAWS, BORN, PARIS, "It sank."]}
    engine = SKRQueryEngine.from_defaults(
        Search(found),
        llm=Speaker(),
        node_postprocessors=[LongContextReorder()],
        reference_store=store,
        scope="amber",
    )
    nodes = await ask(engine, QueryBundle(QUESTION), name="retrieve")
    assert sorted(each.text for each in nodes) == sorted(found[QUESTION])
    assert nodes[-1].text == JAWS, "read last, for it is the best of an even number"
    assert store.in_scope("amber").retrieve(JAWS)[0].text == JAWS, "as the loop remembers it"
    assert store.scopes.keys() <= {"amber", "shared"}


async def test_a_search_that_fails_and_a_router_of_one_round(ask: Ask) -> None:
    class Failing(Search):
        def _of(self, query_bundle: QueryBundle) -> Any:
            raise OSError("no connection")

    engine = SKRQueryEngine.from_defaults(Failing(), llm=Speaker())
    with pytest.raises(RetrieverError, match="no connection"):
        await ask(engine, QueryBundle(QUESTION), name="retrieve")

    class Once:
        def decide(self, question: str) -> Decision:
            return Decision(True, max_rounds=1)

    engine = SKRQueryEngine.from_defaults(Search(), llm=Speaker(), router=Once())
    assert len(await ask(engine, QueryBundle(QUESTION), name="retrieve")) == 1


async def test_synthesize_is_the_synthesizer_s(ask: Ask) -> None:
    written, _ = synthesizer()
    nodes = [NodeWithScore(node=TextNode(text=JAWS))]
    graph = create_self_completion_graph(model=ScriptedModel()).compile()
    engine = SKRQueryEngine(graph, response_synthesizer=written)
    response = await ask(engine, QueryBundle(QUESTION), nodes, name="synthesize")
    assert (str(response), response.source_nodes) == (SAID, nodes)
    with pytest.raises(InputError, match="answers from what its own loop finds: ask query"):
        await ask(SKRQueryEngine(graph), QueryBundle(QUESTION), nodes, name="synthesize")
