"""The variables of an app's own prompt are filled for each run, through any drop-in."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ModelRequest, dynamic_prompt
from langchain_core.messages import AIMessage
from langchain_core.prompts import ChatPromptTemplate
from llama_index.core import PromptTemplate
from typing_extensions import TypedDict

from langchain_skr import (
    SKRMiddleware,
    SKRRetriever,
    as_templates,
    create_skr_chain,
    create_skr_graph,
    create_skr_tool,
)
from llamaindex_skr import SKRChatEngine, SKRQueryEngine
from llamaindex_skr import SKRRetriever as LlamaRetriever
from skr_core.errors import InputError
from skr_core.routers import NeverRetrieve
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_core.types import Decision, Generation
from skr_graphs import create_route_node
from tests.langchain_skr.fakes import Agent

LIBRARY = MappingRetriever({"Capital?": ["Paris is the capital."]})
OWN = ChatPromptTemplate.from_messages(
    [("system", "You speak to {user}, on {today}.\n\n{context}"), ("human", "{input}")]
)
USERS = ("Ada", "Grace {H.}")
USER: ContextVar[str] = ContextVar("USER")
WAYS = ["sync", "async"]
MADE: dict[str, Any] = {
    "graph": create_skr_graph,
    "chain": create_skr_chain,
    "sourced chain": lambda *given, **options: create_skr_chain(
        *given, return_sources=True, **options
    ),
    "tool": create_skr_tool,
}


def answering() -> ScriptedModel:
    return ScriptedModel(otherwise="SUFFICIENT\nParis [1].")


def said_to(model: ScriptedModel) -> list[str]:
    """The first line of each system message."""
    return [each.system.splitlines()[0] for each in model.prompts]


async def asked(it: Any, way: str, *given: Any, **options: Any) -> Any:
    return it.invoke(*given, **options) if way == "sync" else await it.ainvoke(*given, **options)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", MADE)
async def test_a_run_s_config_fills_a_prompt(name: str, way: str) -> None:
    for router, task in ((None, "answer_with_references"), (NeverRetrieve(), "answer_directly")):
        model = answering()
        made: Any = MADE[name](model, LIBRARY, templates=as_templates(OWN), router=router)
        for user in USERS:
            config = {"configurable": {"user": user, "today": "Monday"}}
            await asked(made, way, {"question": "Capital?"}, config)
        assert said_to(model) == [f"You speak to {user}, on Monday." for user in USERS]
        assert {each.task for each in model.prompts} == {task}
        with pytest.raises(InputError, match=r"name \{user\}, which neither the run's"):
            await asked(made, way, {"question": "Capital?"}, {"configurable": {"today": "Monday"}})


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["chain", "sourced chain"])
async def test_the_other_keys_of_a_chain_s_input_come_first(name: str, way: str) -> None:
    model = answering()
    chain: Any = MADE[name](model, LIBRARY, templates=as_templates(OWN))
    config = {"configurable": {"user": "nobody", "today": "Monday"}}
    for user in USERS:
        await asked(chain, way, {"input": "Capital?", "user": user}, config)
    assert said_to(model) == [f"You speak to {user}, on Monday." for user in USERS]


class Context(TypedDict):
    user: str


class Doubter:
    """A router that looks at the direct answer, and always retrieves."""

    name, drafts = "doubter", True

    def decide(self, question: str) -> Decision:
        return Decision(True)

    async def adecide(self, question: str) -> Decision:
        return Decision(True)

    def decide_on(self, question: str, direct: Generation) -> Decision:
        return Decision(True)

    async def adecide_on(self, question: str, direct: Generation) -> Decision:
        return Decision(True)


@dynamic_prompt
def greeting(request: ModelRequest[Context]) -> str:
    return f"You speak to {request.runtime.context['user']}."


@pytest.mark.parametrize("way", WAYS)
async def test_an_agent_s_own_prompt_is_filled_by_its_context(way: str) -> None:
    given = {"messages": [("user", "Capital?")]}
    for user in USERS:
        model = Agent(replies=[AIMessage("Paris."), AIMessage("Paris [1].")])
        middleware: Any = [greeting, SKRMiddleware(retriever=LIBRARY, router=Doubter())]
        agent: Any = create_agent(model, middleware=middleware, context_schema=Context)
        await asked(agent, way, given, context=Context(user=user))
        draft, found = model.sent
        assert str(draft[0].text) == f"You speak to {user}."
        assert str(found[0].text).startswith(f"You speak to {user}.\n")


def named(**_: Any) -> str:
    return USER.get()


OF_LLAMAINDEX = PromptTemplate("You speak to {user}.", function_mappings={"user": named})


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("made", [SKRQueryEngine, SKRChatEngine])
async def test_llamaindex_s_templates_are_filled_for_each_question(made: Any, way: str) -> None:
    model = answering()
    engine = made.from_defaults(LIBRARY, llm=model, instructions=OF_LLAMAINDEX)
    for user in USERS:
        USER.set(user)
        if made is SKRQueryEngine:
            engine.query("Capital?") if way == "sync" else await engine.aquery("Capital?")
        else:
            engine.reset()
            engine.chat("Capital?") if way == "sync" else await engine.achat("Capital?")
    assert said_to(model) == [f"You speak to {user}." for user in USERS]


def test_a_chat_engine_takes_llamaindex_s_name_for_instructions() -> None:
    model = answering()
    SKRChatEngine.from_defaults(LIBRARY, llm=model, system_prompt="Be brief.").chat("Capital?")
    assert said_to(model) == ["Be brief."]
    with pytest.raises(InputError, match="system_prompt and instructions are the same"):
        SKRChatEngine.from_defaults(LIBRARY, system_prompt="Be brief.", instructions="Be long.")


def speaking(config: Any) -> str:
    return f"You speak to {config['configurable']['user']}."


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["langchain", "llamaindex", "node"])
async def test_what_only_routes_looks_at_the_app_s_own_answer(name: str, way: str) -> None:
    model, router = answering(), Doubter()
    config = {"configurable": {"user": "Ada"}}
    USER.set("Ada")
    if name == "langchain":
        found: Any = SKRRetriever(
            retriever=LIBRARY, router=router, model=model, instructions=speaking
        )
        await asked(found, way, "Capital?", config)
    elif name == "llamaindex":
        of_llama = LlamaRetriever(LIBRARY, router=router, llm=model, instructions=OF_LLAMAINDEX)
        of_llama.retrieve("Capital?") if way == "sync" else await of_llama.aretrieve("Capital?")
    else:
        node = create_route_node(router, model=model, instructions=speaking)
        await asked(node, way, {"question": "Capital?"}, config)
    tasks = ["answer_directly", "answer_with_references"][: 1 if name == "node" else 2]
    assert [each.task for each in model.prompts] == tasks
    assert {each.system for each in model.prompts} == {"You speak to Ada."}
