"""An answer may be an object of the caller's schema, in every drop-in: one call a round."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.documents import Document
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.runnables import RunnableLambda
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from llama_index.core.llms import MockLLM
from llama_index.llms.openai_like import OpenAILike
from pydantic import BaseModel
from typing_extensions import TypedDict

import langchain_skr
import llamaindex_skr
from langchain_skr import SKRMiddleware, create_skr_chain, create_skr_graph, create_skr_tool
from langchain_skr.sourced import SourcesChunk
from llamaindex_skr import SKRChatEngine, SKRQueryEngine
from llamaindex_skr.llms import openai_like
from skr_core import Settings
from skr_core.errors import InputError, SchemaError
from skr_core.prompts.papers import RALLM_TEMPLATES
from skr_core.references import resolve_citations
from skr_core.schemas import ObjectStream, ResponseFormat
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_core.types import Reference
from skr_graphs import answer_of
from tests.servers import OpenAIServer

QUESTION = "Capital of France?"
PASSAGE = "Paris is the capital of France."


class Capital(BaseModel):
    """A capital."""

    name: str
    sources: list[int] = []
    country: str = "France"


class CapitalDict(TypedDict):
    name: str


@dataclass
class CapitalData:
    name: str


OBJECT: dict[str, Any] = {"name": "Paris [7]", "sources": [1, 3]}
ASKED: dict[str, Any] = {"name": "Paris [7]", "sources": [1, 3], "country": "France"}


def said(answer: Any = OBJECT, **parts: Any) -> str:
    whole = {"verdict": "SUFFICIENT", "missing": "", "queries": [], "answer": answer}
    return json.dumps({**whole, "citations": [1, 9], **parts})


MORE = said(None, verdict="INSUFFICIENT", missing="its name", queries=["capital"], citations=[])
SEARCH = {QUESTION: [PASSAGE], "capital": ["Lyon is not the capital."]}


def search(query: str) -> list[Document]:
    return [Document(text) for text in SEARCH.get(query, [])]


def in_chain(model: Any, wanted: Any) -> tuple[Any, Any]:
    chain = create_skr_chain(model, RunnableLambda(search), response_format=wanted)
    return chain.invoke, chain.ainvoke


def in_sources_chain(model: Any, wanted: Any) -> tuple[Any, Any]:
    chain = create_skr_chain(
        model, RunnableLambda(search), response_format=wanted, return_sources=True
    )
    return (
        lambda asked: chain.invoke(asked)["structured_response"],
        lambda asked: _then(chain.ainvoke(asked), lambda each: each["structured_response"]),
    )


def in_graph(model: Any, wanted: Any) -> tuple[Any, Any]:
    graph: Any = create_skr_graph(model, RunnableLambda(search), response_format=wanted)
    made = ResponseFormat.of(wanted).made_of
    return (
        lambda asked: made(graph.invoke({"question": asked})["structured_response"]),
        lambda asked: _then(
            graph.ainvoke({"question": asked}), lambda each: made(answer_of(each).structured)
        ),
    )


def in_tool(model: Any, wanted: Any) -> tuple[Any, Any]:
    tool = create_skr_tool(model, RunnableLambda(search), response_format=wanted)
    schema = ResponseFormat.of(wanted)

    def made(content: str) -> Any:
        return schema.made_of(schema.object_in(content))

    return (
        lambda asked: made(tool.invoke({"question": asked})),
        lambda asked: _then(tool.ainvoke({"question": asked}), made),
    )


def in_engine(model: Any, wanted: Any) -> tuple[Any, Any]:
    engine = SKRQueryEngine.from_defaults(
        MappingRetriever(SEARCH), llm=model, response_format=wanted
    )
    return (
        lambda asked: _object(engine.query(asked), wanted),
        lambda asked: _then(engine.aquery(asked), lambda each: _object(each, wanted)),
    )


def in_chat_engine(model: Any, wanted: Any) -> tuple[Any, Any]:
    engine = SKRChatEngine.from_defaults(
        MappingRetriever(SEARCH), llm=model, response_format=wanted
    )

    def made(response: Any) -> Any:
        return _object(response.sources[0].raw_output, wanted)

    return (
        lambda asked: made(engine.chat(asked)),
        lambda asked: _then(engine.achat(asked), made),
    )


def in_engines_tool(model: Any, wanted: Any) -> tuple[Any, Any]:
    tool = llamaindex_skr.create_skr_tool(
        SKRQueryEngine.from_defaults(MappingRetriever(SEARCH), llm=model, response_format=wanted)
    )
    schema = ResponseFormat.of(wanted)

    def made(output: Any) -> Any:
        return schema.made_of(schema.object_in(output.content))

    return lambda asked: made(tool.call(asked)), lambda asked: _then(tool.acall(asked), made)


async def _then(awaited: Any, made: Callable[[Any], Any]) -> Any:
    return made(await awaited)


def _object(response: Any, wanted: Any) -> Any:
    if isinstance(wanted, type) and issubclass(wanted, BaseModel):
        return response.response
    return ResponseFormat.of(wanted).made_of(response.metadata["structured_response"])


LANGCHAIN = [in_chain, in_sources_chain, in_graph, in_tool]
LLAMAINDEX = [in_engine, in_chat_engine, in_engines_tool]
DOORS = [*LANGCHAIN, *LLAMAINDEX]


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Callable[[tuple[Any, Any]], Any]:
    def asked(forms: tuple[Any, Any]) -> Any:
        sync, awaited = forms
        if request.param == "sync":
            return sync(QUESTION)
        return asyncio.run(awaited(QUESTION))

    return asked


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("wanted", "right"),
    [
        (Capital, Capital(**ASKED)),
        (Capital.model_json_schema(), OBJECT),
        (CapitalData, CapitalData("Paris [7]")),
        (CapitalDict, {"name": "Paris [7]"}),
    ],
)
def test_each_drop_in_gives_the_object_and_one_call_is_made(
    door: Any, wanted: Any, right: Any, ask: Any
) -> None:
    given = OBJECT if wanted in (Capital, Capital.model_json_schema()) else {"name": "Paris [7]"}
    model = ScriptedModel([said(given)])
    assert ask(door(model, wanted)) == right
    (prompt,) = model.prompts
    assert prompt.schema is not None
    assert '"Capital' in prompt.text


@pytest.mark.parametrize("door", DOORS)
def test_a_round_more_takes_one_call_more(door: Any, ask: Any) -> None:
    model = ScriptedModel([MORE, said()])
    assert ask(door(model, Capital)) == Capital(**ASKED)
    assert [each.task for each in model.prompts] == ["answer_with_references"] * 2
    assert "its name" in model.prompts[1].text


@pytest.mark.parametrize("door", DOORS)
def test_a_reply_that_is_no_object_is_asked_for_once_more(door: Any, ask: Any) -> None:
    model = ScriptedModel([said({"title": "Paris"}), f"<think>Well.</think>```json\n{said()}\n```"])
    assert ask(door(model, Capital)) == Capital(**ASKED)
    assert "answer.name: Field required" in model.prompts[1].text
    for budget in (None, {"max_calls": 1}):
        stubborn = ScriptedModel(["Paris."])
        settings: Any = {"response_format": Capital, "budget": budget}
        with pytest.raises(SchemaError, match="scripted: the reply is no Capital"):
            create_skr_chain(stubborn, RunnableLambda(search), **settings).invoke(QUESTION)
        assert len(stubborn.prompts) == (2 if budget is None else 1)


@pytest.mark.parametrize("door", [in_chain, in_sources_chain, in_graph, in_engine, in_chat_engine])
def test_where_the_references_do_not_suffice_there_is_no_object(door: Any, ask: Any) -> None:
    assert ask(door(ScriptedModel([MORE]), Capital)) is None


def test_what_stands_beside_the_object() -> None:
    graph: Any = create_skr_graph(
        ScriptedModel([said()]),
        RunnableLambda(search),
        response_format=Capital,
        checkpointer=InMemorySaver(),
    )
    config: Any = {"configurable": {"thread_id": "1"}}
    output = graph.invoke({"question": QUESTION}, config)
    answer = answer_of(output)
    assert json.loads(answer.text) == OBJECT
    assert answer.structured == graph.get_state(config).values["structured_response"] == ASKED
    assert [each.marker for each in answer.citations] == [1]
    assert (answer.removed_markers, answer.grounded, answer.stop_reason) == (1, True, "sufficient")
    refused = create_skr_graph(ScriptedModel([MORE]), RunnableLambda(search))
    assert "structured_response" not in refused.invoke({"question": QUESTION})


@pytest.mark.parametrize("option", [{"router": "never"}, {"when_insufficient": "own_knowledge"}])
def test_a_direct_answer_and_one_at_any_rate_are_objects_too(option: Any) -> None:
    model = ScriptedModel(
        {
            "answer_directly": ['Sure: {"answer": {"name": "Paris"}} I hope this helps.'],
            "answer_with_references": [MORE],
            "answer_anyway": ['{"name": "Paris"}'],
        }
    )
    chain = create_skr_chain(model, RunnableLambda(search), response_format=Capital, **option)
    assert chain.invoke(QUESTION) == Capital(name="Paris")
    assert "verdict" not in (model.prompts[-1].schema or {})["properties"]


def test_a_routers_own_draft_is_served_only_where_it_is_an_object() -> None:
    replies = ['{"answer": {"name": "Paris"}}']
    model = ScriptedModel({"answer_directly": replies, "ask_certainty": ["Paris. I am sure."]})
    chain = create_skr_chain(
        model, RunnableLambda(search), response_format=Capital, router="confidence:explain"
    )
    assert chain.invoke(QUESTION) == Capital(name="Paris")


def test_a_chain_streams_the_object_as_it_grows() -> None:
    chain = create_skr_chain(
        ScriptedModel([MORE, said()]), RunnableLambda(search), response_format=Capital
    )
    for pieces in (list(chain.stream(QUESTION)), asyncio.run(_listed(chain.astream(QUESTION)))):
        assert pieces[-1] == OBJECT
        assert len(pieces) > 3
        assert all(set(each) <= set(OBJECT) for each in pieces)
    with_sources = create_skr_chain(
        ScriptedModel([said()]),
        RunnableLambda(search),
        response_format=Capital,
        return_sources=True,
    )
    whole: Any = sum(with_sources.stream(QUESTION), SourcesChunk())
    assert whole == with_sources.invoke(QUESTION) | {"run_id": whole["run_id"]}
    assert whole["structured_response"] == Capital(**ASKED)


async def _listed(pieces: Any) -> list[Any]:
    return [each async for each in pieces]


def test_an_engine_streams_the_json_of_the_object() -> None:
    engine = SKRQueryEngine.from_defaults(
        MappingRetriever(SEARCH), llm=ScriptedModel([said()]), output_cls=Capital, streaming=True
    )
    response: Any = engine.query(QUESTION)
    assert json.loads("".join(response.response_gen)) == OBJECT
    assert response.metadata["structured_response"] == ASKED


# ------------------------------------------------------- the providers' own means


def replying(messages: list[dict[str, Any]]) -> str:
    return said()


def calling(messages: list[dict[str, Any]]) -> dict[str, Any]:
    call = {"id": "1", "type": "function", "function": {"name": "Capital", "arguments": said()}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


@pytest.fixture(params=["provider", "tool"])
def server(request: pytest.FixtureRequest) -> Iterator[tuple[str, OpenAIServer]]:
    with OpenAIServer(
        replying if request.param == "provider" else calling, keep_alive=False
    ) as serving:
        yield request.param, serving


def langchain_model(way: str, url: str) -> Any:
    model: Any = langchain_skr.load_model("openai:test", base_url=url)
    model.model.profile = {"structured_output": way == "provider"}
    return model.model


def llamaindex_model(way: str, url: str) -> Any:
    model = openai_like("test", base_url=url)
    model.is_function_calling_model = way == "tool"
    model.should_use_structured_outputs = way == "provider"
    return model


@pytest.mark.parametrize("door", [in_chain, in_engine])
def test_a_provider_is_sent_the_schema_in_its_own_way(door: Any, server: Any, ask: Any) -> None:
    way, serving = server
    model = langchain_model if door is in_chain else llamaindex_model
    assert ask(door(model(way, serving.url), Capital)) == Capital(**ASKED)
    (request,) = serving.requests
    assert "JSON object" not in request["messages"][-1]["content"]
    if way == "provider":
        schema = request["response_format"]["json_schema"]["schema"]
        assert "tools" not in request
    else:
        (tool,) = request["tools"]
        schema = tool["function"]["parameters"]
        choice = request["tool_choice"]
        assert choice == "required" or choice["function"]["name"] == "Capital"
    assert [*schema["properties"]] == ["verdict", "missing", "queries", "answer", "citations"]


def test_objects_stream_from_a_provider() -> None:
    with OpenAIServer(replying, keep_alive=False) as serving:
        model = langchain_model("provider", serving.url)
        chain = create_skr_chain(
            model.with_retry(), RunnableLambda(search), response_format=Capital
        )
        assert list(chain.stream(QUESTION))[-1] == OBJECT
        engine = SKRQueryEngine.from_defaults(
            MappingRetriever(SEARCH),
            llm=llamaindex_model("provider", serving.url),
            output_cls=Capital,
            streaming=True,
        )
        tokens: Any = engine.query(QUESTION)
        assert json.loads("".join(tokens.response_gen)) == OBJECT


class Calling(GenericFakeChatModel):
    """Calls the tool it is given, and streams its arguments."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self.bind(tools=tools, **kwargs)

    def _stream(self, *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        for piece in said().split(" "):
            call: Any = {"name": None, "args": f"{piece} ", "id": None, "index": 0}
            message = AIMessageChunk(content="", tool_call_chunks=[call])
            yield ChatGenerationChunk(message=message)


def test_objects_stream_from_a_tools_arguments() -> None:
    chain = create_skr_chain(
        Calling(messages=iter(())), RunnableLambda(search), response_format=Capital
    )
    pieces = list(chain.stream(QUESTION))
    assert pieces[-1] == OBJECT
    assert len(pieces) > 2


@pytest.mark.parametrize("way", ["provider", "tool"])
@pytest.mark.parametrize("router", ["always", "never"])
@pytest.mark.parametrize("form", ["sync", "async"])
def test_an_agent_with_the_middleware_gives_its_own_objects(
    way: str, router: str, form: str
) -> None:
    def reply(messages: Any) -> Any:
        text = json.dumps(OBJECT)
        if way == "provider":
            return text
        call = {"id": "1", "type": "function", "function": {"name": "Capital", "arguments": text}}
        return {"role": "assistant", "content": None, "tool_calls": [call]}

    wanted: Any = ProviderStrategy(Capital) if way == "provider" else ToolStrategy(Capital)
    with OpenAIServer(reply, keep_alive=False) as serving:
        agent: Any = create_agent(
            langchain_model(way, serving.url),
            [],
            middleware=[SKRMiddleware(router, retriever=RunnableLambda(search))],
            response_format=wanted,
        )
        asked = {"messages": [HumanMessage(QUESTION)]}
        output = agent.invoke(asked) if form == "sync" else asyncio.run(agent.ainvoke(asked))
        assert output["structured_response"] == Capital(**ASKED)
        texts = [str(each.text) for each in output["messages"] if isinstance(each, AIMessage)]
        assert texts[-1] == (json.dumps(OBJECT) if way == "provider" else "")
        assert serving.calls == 1


# ------------------------------------------------------------------------ refused


def test_what_cannot_be_combined_is_refused_by_name() -> None:
    chat: Any = ChatOpenAI(model="test", base_url="http://localhost:1/v1", api_key="none")  # type: ignore[arg-type]
    for given_schema in (
        chat.with_structured_output(Capital),
        chat.with_structured_output(Capital, method="json_schema", include_raw=True),
        chat.with_structured_output(Capital, method="function_calling"),
        chat.bind(response_format={"type": "json_object"}).with_retry(),
    ):
        with pytest.raises(InputError, match=r"given a schema already.*response_format="):
            create_skr_chain(given_schema, RunnableLambda(search))
    for llm in (
        MockLLM().as_structured_llm(Capital),
        OpenAILike(model="test", additional_kwargs={"response_format": {"type": "json_object"}}),
    ):
        with pytest.raises(InputError, match=r"given a schema already.*output_cls="):
            SKRQueryEngine.from_defaults(MappingRetriever({}), llm=llm)
    with pytest.raises(InputError, match=r"these templates.*protocol of its own"):
        Settings.of(ScriptedModel(), templates=RALLM_TEMPLATES, response_format=Capital)
    with pytest.raises(InputError, match="response_format and output_cls are the same"):
        SKRQueryEngine.from_defaults(
            MappingRetriever({}), llm=ScriptedModel(), response_format=Capital, output_cls=Capital
        )
    for wrong in ("Capital", Capital(name="Paris"), {"name": "str"}, int):
        with pytest.raises(InputError, match="give a pydantic model, a dataclass"):
            Settings.of(ScriptedModel(), response_format=wrong)  # type: ignore[arg-type]


def test_records_of_other_schemas_are_told_apart() -> None:
    versions = {
        Settings.of(ScriptedModel(), response_format=each).version
        for each in (None, Capital, CapitalData)
    }
    assert len(versions) == 3


# ---------------------------------------------------------------- reading envelopes

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "kind": {"enum": ["city", "town"]},
        "size": {"type": ["number", "null"]},
        "parts": {"type": "array", "items": {"$ref": "#/$defs/part"}},
        "of": {"anyOf": [{"type": "string"}, {"const": 3}]},
    },
    "required": ["kind"],
    "additionalProperties": False,
    "$defs": {"part": {"type": "object", "properties": {"n": {"type": "integer"}}}},
}


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({"kind": "city", "size": None, "parts": [{"n": 1}], "of": 3}, ""),
        ({}, "answer: 'kind' is a required property"),
        ({"kind": "hamlet"}, "answer.kind: 'hamlet' is not one of"),
        ({"kind": "city", "size": "big"}, "answer.size: 'big' is not of type 'number', 'null'"),
        ({"kind": "city", "size": True}, "answer.size: True is not of type"),
        (
            {"kind": "city", "parts": [{"n": 1}, {"n": "1"}]},
            "answer.parts.1.n: '1' is not of type 'integer'",
        ),
        ({"kind": "city", "of": 4}, "answer.of: "),
        (
            {"kind": "city", "mayor": "Ada"},
            r"answer: Additional properties are not allowed \('mayor' was",
        ),
        ([], r"answer: \[\] is not of type 'object'"),
    ],
)
def test_a_json_schema_is_checked(value: Any, fault: str) -> None:
    schema = ResponseFormat.of(SCHEMA)
    if fault:
        with pytest.raises(ValueError, match=fault):
            schema.read(json.dumps({"answer": value}), "answer_directly", 0)
    else:
        assert schema.object_in(json.dumps(value)) == value


NESTED: dict[str, Any] = {"type": "array", "items": {"$ref": "#"}}


def test_a_schema_that_is_none_that_refers_elsewhere_or_that_is_nested_too_deeply() -> None:
    with pytest.raises(InputError, match="no JSON Schema: 'list' is not valid under any of"):
        ResponseFormat.of({"type": "list"})
    elsewhere = ResponseFormat.of({"type": "object", "$ref": "http://localhost:1/schema.json"})
    with pytest.raises(ValueError, match=r"refers to what is not in it: .*schema\.json"):
        elsewhere.read('{"answer": {}}', "answer_directly", 0)
    deep = "[" * 900 + "]" * 900
    assert ResponseFormat.of(NESTED).object_in(deep) is None
    with pytest.raises(ValueError, match=r"there is no JSON object|nested too deeply"):
        ResponseFormat.of(NESTED).read(f'{{"answer": {deep}}}', "answer_directly", 0)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=9) | st.just('"answer": ['),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


@given(
    st.dictionaries(st.text(max_size=5), VALUES, max_size=3),
    st.sampled_from([(", ", ": "), (",", ":")]),
    st.lists(st.integers(1, 9), max_size=40),
    st.text(max_size=9),
)
def test_no_cut_changes_what_streams_of_an_envelope(
    value: Any, separators: Any, sizes: list[int], missing: str
) -> None:
    text = json.dumps(value, separators=separators, ensure_ascii=False)
    quoted = json.dumps(missing + ' \\"answer": {"no": 1}')
    envelope = (
        f'{{"verdict": "SUFFICIENT", "missing": {quoted}, "answer": {text}, "citations": []}}'
    )
    stream, rest, passed = ObjectStream(states_verdict=True), envelope, ""
    for size in [*sizes, len(envelope)]:
        passed += stream.write(rest[:size])
        rest = rest[size:]
    assert passed == text
    reply = ResponseFormat.of({"type": "object"}).read(envelope, "answer_with_references", 1)
    assert reply.text == text
    assert resolve_citations(reply.text, [Reference.of(PASSAGE)]).text == text
    refused = envelope.replace("SUFFICIENT", "INSUFFICIENT", 1)
    assert ObjectStream(states_verdict=True).write(refused) == ""
