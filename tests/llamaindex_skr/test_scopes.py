"""The scope of a reference store in LlamaIndex, whose runs have no config."""

from __future__ import annotations

import asyncio
import pickle
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.schema import QueryBundle

from llamaindex_skr import SKRChatEngine, SKRQueryEngine, create_skr_tool
from skr_core import Reference
from skr_core.errors import InputError
from tests.llamaindex_skr.fakes import JAWS, QUESTION, Search, Speaker
from tests.parity.tenants import TENANT
from tests.skr_graphs.doubles import ListStore


def engine(store: ListStore, scope: Any = TENANT.get, **options: Any) -> SKRQueryEngine:
    return SKRQueryEngine.from_defaults(
        Search(),
        llm=Speaker(lambda prompt: "It was he [1]."),
        reference_store=store,
        scope=scope,
        **options,
    )


def kept(store: ListStore) -> dict[str, list[str]]:
    """The texts of each scope that has some."""
    views = store.scopes.items()
    return {name: [each.text for each in view.retrieve(JAWS)] for name, view in views if len(view)}


def test_a_stream_is_read_in_the_scope_of_the_asking() -> None:
    store = ListStore()
    asked = Context()
    asked.run(TENANT.set, "amber")
    response: Any = asked.run(engine(store, streaming=True).query, QUESTION)
    with ThreadPoolExecutor(1) as pool:  # of a server, say, which knows no tenant
        assert pool.submit(lambda: "".join(response.response_gen)).result() == "It was he [1]."
    assert kept(store) == {"amber": [JAWS]}


async def test_an_async_stream_is_too() -> None:
    store = ListStore()
    chat = SKRChatEngine.from_defaults(
        Search(),
        llm=Speaker(lambda prompt: "It was he [1]."),
        reference_store=store,
        scope=TENANT.get,
    )

    async def ask() -> Any:
        TENANT.set("amber")
        return await chat.astream_chat(QUESTION)

    response = await asyncio.create_task(ask(), context=Context())
    TENANT.set("basalt")
    assert "".join([each async for each in response.async_response_gen()]) == "It was he [1]."
    assert kept(store) == {"amber": [JAWS]}


def test_one_who_does_not_say_who_asks_gets_no_answer() -> None:
    store = ListStore()
    with pytest.raises(LookupError):
        Context().run(engine(store).query, QUESTION)
    nameless: Any = lambda: None  # noqa: E731
    with pytest.raises(InputError, match="returned NoneType: nothing is searched"):
        engine(store, nameless).query(QUESTION)
    assert kept(store) == {}


async def test_an_agent_s_tool_asks_in_the_scope_of_its_run() -> None:
    store = ListStore()

    def reply(messages: Any, **_: Any) -> ChatMessage:
        if messages[-1].role == MessageRole.TOOL:
            return ChatMessage("So it is.", role=MessageRole.ASSISTANT)
        call = ToolCallBlock(tool_call_id="1", tool_name="films", tool_kwargs={"input": QUESTION})
        return ChatMessage(role=MessageRole.ASSISTANT, blocks=[call])

    async def ask(tenant: str) -> None:
        TENANT.set(tenant)
        model = MockFunctionCallingLLM(response_generator=reply)
        await FunctionAgent(tools=[tool], llm=model).run(QUESTION)

    tool = create_skr_tool(engine(store), name="films")
    await asyncio.gather(ask("amber"), ask("basalt"))
    assert kept(store) == {"amber": [JAWS], "basalt": [JAWS]}


def test_a_store_alone_is_one_whatever_is_asked_with() -> None:
    store = ListStore()
    store.in_scope("amber").add([Reference.of(JAWS)])
    model = Speaker(lambda prompt: "It was he [1].")
    alone = SKRQueryEngine.from_defaults(store, llm=model, reference_store=store, scope="amber")
    asked = QueryBundle(QUESTION, custom_embedding_strs=["Somebody directed Jaws."])
    assert [each.text for each in alone.query(asked).source_nodes] == [JAWS]
    assert kept(store) == {"amber": [JAWS]}


def amber() -> str:
    return "amber"


@pytest.mark.parametrize("scope", [amber, "amber"])
def test_an_engine_with_a_scope_comes_out_of_a_pickle(scope: Any) -> None:
    store = ListStore()
    store.in_scope("amber").add([Reference.of(JAWS)])
    made = SKRQueryEngine.from_defaults(reference_store=store, llm="extractive", scope=scope)
    again = pickle.loads(pickle.dumps(made))
    assert [each.text for each in again.query(QUESTION).source_nodes] == [JAWS]
