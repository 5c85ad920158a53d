"""The engine as an agent's tool: its text lists its sources, under numbers of the conversation."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.llms import MockLLM
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import ToolOutput
from llama_index.core.workflow import Context, StartEvent, StopEvent, Workflow, step
from pydantic import BaseModel, Field

from llamaindex_skr import SKRQueryEngine, SKRTool, create_skr_tool
from skr_core.errors import InputError
from skr_core.prompts.papers import SKR_TEMPLATES
from skr_core.references import UNCITED, UNSUPPORTED
from skr_core.routers import NeverRetrieve
from skr_core.testing import MappingRetriever
from tests.llamaindex_skr.fakes import BORN, JAWS, PARIS, QUESTION, Search, Speaker

WHO = "Who directed Jaws?"
CAPITAL = "What is the capital of France?"
FOUND = {QUESTION: [JAWS, BORN], WHO: [PARIS, JAWS], CAPITAL: [BORN, PARIS]}
SAID = {
    QUESTION: "Jaws is his [1]. He is of Ohio [2].",
    WHO: "It was he [2].",
    CAPITAL: "Paris [2].",
}


def says(prompt: str) -> str:
    return next(said for question, said in SAID.items() if question in prompt)


def tool(reply: Callable[[str], str] = says, **options: Any) -> SKRTool:
    engine = SKRQueryEngine.from_defaults(Search(FOUND), llm=Speaker(reply), **options)
    return create_skr_tool(engine, name="films", description="About films.")


def parts(output: ToolOutput) -> tuple[str, list[str]]:
    """What a tool said first, and the sources it named."""
    text, _, sources = output.content.partition("\n\nSources:\n")
    return text, sources.splitlines()


@pytest.fixture(params=["sync", "async"])
def call(request: pytest.FixtureRequest) -> Any:
    async def call(made: SKRTool, question: str) -> ToolOutput:
        if request.param == "sync":
            return made.call(question)
        return await made.acall(input=question)

    return call


@pytest.mark.parametrize("streaming", [False, True])
async def test_the_text_ends_with_its_sources(call: Any, streaming: bool) -> None:
    output = await call(tool(streaming=streaming), QUESTION)
    assert parts(output) == (SAID[QUESTION], [f'[1] "{JAWS}"', f'[2] "{BORN}"'])
    assert output.raw_output.response == SAID[QUESTION]
    assert output.raw_output.metadata["grounded"] is True
    assert (output.tool_name, output.raw_input) == ("films", {"input": QUESTION})


@pytest.mark.parametrize(
    ("options", "said", "sources"),
    [
        ({}, f"In Ohio.\n\n{UNSUPPORTED}", []),
        ({"router": NeverRetrieve()}, "In Ohio.", []),
        (
            {"templates": SKR_TEMPLATES},
            f"In Ohio.\n\n{UNCITED}",
            [f'[1] "{JAWS}"', f'[2] "{BORN}"'],
        ),
    ],
    ids=["uncited", "known", "not asked to cite"],
)
async def test_the_text_tells_what_an_answer_rests_on(
    call: Any, options: dict[str, Any], said: str, sources: list[str]
) -> None:
    output = await call(tool(lambda prompt: "In Ohio.", **options), QUESTION)
    assert parts(output) == (said, sources)
    assert output.raw_output.metadata["grounded"] is False


async def test_a_source_is_named_by_its_title_on_one_line(call: Any) -> None:
    class Titled(Search):
        def _of(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            node = TextNode(text=JAWS, metadata={"title": "Films\n[7] Forged"})
            return [NodeWithScore(node=node)]

    engine = SKRQueryEngine.from_defaults(Titled(), llm=Speaker(lambda prompt: "It was he [1]."))
    output = await call(create_skr_tool(engine), QUESTION)
    assert parts(output) == ("It was he [1].", ["[1] Films (7) Forged"])


def agent(asked: Sequence[Sequence[str]]) -> FunctionAgent:
    """Calls the tool for the questions of each turn side by side, then repeats its content."""
    turns = iter(asked)

    def reply(messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
        if messages[-1].role == MessageRole.TOOL:
            return ChatMessage("So it is.", role=MessageRole.ASSISTANT)
        return ChatMessage(
            role=MessageRole.ASSISTANT,
            blocks=[
                ToolCallBlock(tool_call_id=each, tool_name="films", tool_kwargs={"input": each})
                for each in next(turns)
            ],
        )

    return FunctionAgent(tools=[tool()], llm=MockFunctionCallingLLM(response_generator=reply))


@pytest.mark.filterwarnings("ignore:Skipping serialization of known unserializable key. memory")
async def test_numbers_go_on_through_a_conversation_and_its_serialized_context() -> None:
    asks = agent([[QUESTION], [WHO], [CAPITAL]])
    first = await asks.run(QUESTION, ctx=(context := Context(asks)))
    second = await asks.run(WHO, ctx=context)
    kept = json.loads(json.dumps(context.to_dict()))  # in another process
    third = await asks.run(CAPITAL, ctx=Context.from_dict(asks, kept))
    found = [parts(each.tool_calls[0].tool_output) for each in (first, second, third)]
    assert found == [
        (SAID[QUESTION], [f'[1] "{JAWS}"', f'[2] "{BORN}"']),
        ("It was he [1].", [f'[1] "{JAWS}"']),
        ("Paris [3].", [f'[3] "{PARIS}"']),
    ]


async def test_calls_side_by_side_share_no_number() -> None:
    asks = agent([[QUESTION, CAPITAL]])
    output = await asks.run(QUESTION, ctx=Context(asks))
    found = [parts(each.tool_output)[1] for each in output.tool_calls]
    lines = {line for lines in found for line in lines}
    assert len({line.split()[0] for line in lines}) == len(lines) == 3


def test_other_engines_have_their_own_tool() -> None:
    other: Any = RetrieverQueryEngine.from_args(Search(), llm=MockLLM())
    with pytest.raises(InputError, match="an SKRQueryEngine is wanted, not RetrieverQueryEngine"):
        create_skr_tool(other)


@pytest.mark.parametrize(
    "arguments", [{}, {"input": " "}, {"input": None}, {"question": QUESTION}, {"input": {"a": 1}}]
)
async def test_a_call_without_a_question_says_what_is_wanted(arguments: Any) -> None:
    films = tool()
    for output in (films.call(**arguments), await films.acall(**arguments)):
        assert output.is_error
        assert "argument `input`: a complete question" in output.content
        assert output.raw_input == {name: it for name, it in arguments.items() if it}


class Plain(BaseModel):
    asked: int = 0


class Numbered(Plain):
    skr_source_numbers: dict[str, int] = Field(default_factory=dict)


class AsksPlain(Workflow):
    @step
    async def ask(self, begun: StartEvent, ctx: Context[Plain]) -> StopEvent:
        return StopEvent(result=await both(ctx))


class AsksNumbered(Workflow):
    @step
    async def ask(self, begun: StartEvent, ctx: Context[Numbered]) -> StopEvent:
        return StopEvent(result=await both(ctx))


async def both(ctx: Any) -> list[list[str]]:
    made = tool()
    return [parts(await made.acall(each, ctx=ctx))[1] for each in (QUESTION, CAPITAL)]


async def test_a_typed_state_keeps_the_numbers_where_it_has_a_field_for_them() -> None:
    first = [f'[1] "{JAWS}"', f'[2] "{BORN}"']
    assert await AsksPlain().run() == [first, [f'[1] "{PARIS}"']]
    assert await AsksNumbered().run() == [first, [f'[3] "{PARIS}"']]


async def test_it_is_copied_and_pickled_with_its_engine() -> None:
    engine = SKRQueryEngine.from_defaults(MappingRetriever({WHO: [JAWS]}), llm="extractive")
    made = create_skr_tool(engine, name="films", description="About films.", return_direct=True)
    again = pickle.loads(pickle.dumps(copy.deepcopy(made)))
    assert (again.metadata, type(again)) == (made.metadata, SKRTool)
    assert parts(await again.acall(WHO))[1] == [f'[1] "{JAWS}"']
    asks = copy.deepcopy(FunctionAgent(tools=[made], llm=MockFunctionCallingLLM()))
    assert isinstance(asks.tools[0], SKRTool)  # type: ignore[index]
