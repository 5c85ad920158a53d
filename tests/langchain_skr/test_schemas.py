"""What stands in a server's documentation: the schemas of everything that can be invoked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import FakeListChatModel
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

from langchain_skr import (
    SKRMiddleware,
    SKRRetriever,
    create_skr_chain,
    create_skr_graph,
    create_skr_tool,
)
from skr_core.testing import MappingRetriever, ScriptedModel

ROOT = Path(__file__).resolve().parents[2]
MODEL, RETRIEVER = ScriptedModel(), MappingRetriever({})


def test_the_graph() -> None:
    graph: Any = create_skr_graph(MODEL, RETRIEVER)
    given = graph.get_input_jsonschema()["properties"]
    assert set(given) == {"question", "messages", "history"}
    assert given["question"]["type"] == "string"
    output = graph.get_output_jsonschema()["properties"]
    assert output["answer"]["type"] == "string"
    assert output["citations"]["type"] == "array"
    context = graph.get_context_jsonschema()["properties"]
    assert "when_insufficient" in context
    assert "model" not in context


def test_the_chain() -> None:
    chain = create_skr_chain(MODEL, RETRIEVER)
    schema = chain.get_input_jsonschema()
    text, mapping, messages = schema["anyOf"]
    assert messages["type"] == "array"
    assert text["type"] == "string"
    assert set(schema["$defs"]["SKRInput"]["properties"]) == {"question", "messages", "history"}
    assert mapping["$ref"].endswith("SKRInput")
    assert chain.input_schema.model_validate({"question": "Who?"})
    assert chain.get_output_jsonschema()["type"] == "string"
    assert chain.output_schema.model_validate("Ada.")
    configurable = chain.get_config_jsonschema()["$defs"]["Configurable"]["properties"]
    assert "budget" in configurable


def test_the_retriever_and_the_tool() -> None:
    assert SKRRetriever(retriever=RETRIEVER).get_input_jsonschema()["type"] == "string"
    tool = create_skr_tool(MODEL, RETRIEVER)
    assert tool.get_input_jsonschema()["required"] == ["question"]


def test_an_agent_with_the_middleware() -> None:
    middleware = [SKRMiddleware(retriever=RETRIEVER)]
    agent: Any = create_agent(FakeListChatModel(responses=["Hello."]), middleware=middleware)
    assert "skr_decision" not in agent.get_input_jsonschema()["properties"]
    assert "skr_decision" in agent.get_output_jsonschema()["properties"]


def test_a_graph_around_the_graph() -> None:
    class Mine(TypedDict, total=False):
        question: str
        answer: str

    builder = StateGraph(Mine)
    builder.add_node("ask", create_skr_graph(MODEL, RETRIEVER))
    builder.add_edge(START, "ask")
    assert set(builder.compile().get_output_jsonschema()["properties"]) == {"question", "answer"}


def test_no_page_or_example_shows_a_state_without_a_schema() -> None:
    """Before Python 3.12 pydantic makes no schema of ``typing.TypedDict``."""
    shown = [*ROOT.glob("docs/*.md"), *ROOT.glob("examples/*.py"), ROOT / "README.md"]
    imports = [line for path in shown for line in path.read_text("utf-8").splitlines()]
    assert not [each for each in imports if "from typing import" in each and "TypedDict" in each]
