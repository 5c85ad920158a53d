"""No prompt is longer than the window that a framework's model declares, whatever stands in it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, LLMMetadata
from llama_index.core.llms import MockLLM
from pydantic import Field

import langchain_skr
import llamaindex_skr
from langchain_skr import as_language_model
from llamaindex_skr import as_language_model as as_llama_model
from skr_core import Budget, Demonstration, Reference
from skr_core.budget import count_tokens
from skr_core.models.limited import Spending
from skr_core.models.windows import Window, history_tokens_for, most_tokens, tokens_for, window_of
from skr_core.prompts import INSUFFICIENT, QUERY_LEAD, REFUSAL, SEARCH_LEAD
from skr_core.reflectors import JudgeReflector
from skr_core.testing import ScriptedModel

WINDOW = 4_096
DRAW = random.Random(3)
WORDS = "the keeper of a lamp burned colza oil and wrote letters to Malachy Orr".split()
REPLIES = [
    f"{INSUFFICIENT}\nThe keeper was Orr [1].\n{SEARCH_LEAD} his salary",
    REFUSAL,
    f"{QUERY_LEAD} the letters of Orr",
    f"{INSUFFICIENT}\nIt is not there.\n{SEARCH_LEAD} the oil",
]


def prose(count: int) -> str:
    return " ".join(DRAW.choices(WORDS, k=count))


PASSAGES = [prose(400) for _ in range(10)]
QUESTION = f"And what did he earn there, of whom it is said that {prose(40)}?"
TURNS = [(role, prose(250)) for _ in range(9) for role in ("user", "assistant")]


class Library:
    """Finds ten long passages for any query, others for each."""

    name = "library"

    def retrieve(self, query: str) -> list[Reference]:
        return [Reference.of(f"Found for {query}: {passage}") for passage in PASSAGES]

    async def aretrieve(self, query: str) -> list[Reference]:
        return self.retrieve(query)


class Chat(FakeListChatModel):
    """Notes its prompts, and declares its window."""

    responses: list[str] = REPLIES
    profile: Any = Field(default_factory=lambda: {"max_input_tokens": WINDOW})
    prompts: list[str] = Field(default_factory=list)

    def _call(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> str:
        calls = [each.tool_calls for each in messages if isinstance(each, AIMessage)]
        self.prompts.append("\n".join([*(str(each.text) for each in messages), str(calls)]))
        return super()._call(messages, *args, **kwargs)


class Llama(MockLLM):
    """The same of LlamaIndex."""

    prompts: list[str] = Field(default_factory=list)

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(context_window=WINDOW, num_output=512, is_chat_model=True)

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        self.prompts.append("\n".join(each.content or "" for each in messages))
        said = REPLIES[(len(self.prompts) - 1) % len(REPLIES)]
        return ChatResponse(message=ChatMessage(said, role="assistant"))


def agent(model: Chat, **options: Any) -> Any:
    """An agent whose middleware asks its model for all that it may ask a model for."""
    model.responses = ["insufficient: his salary"]
    middleware = langchain_skr.SKRMiddleware(
        retriever=Library(),
        model=model,
        reflector=JudgeReflector(as_language_model(model)),
        **taken(options, "budget"),
    )
    return create_agent(model, middleware=[middleware], system_prompt=options.get("instructions"))


def taken(options: dict[str, Any], *names: str) -> dict[str, Any]:
    """The options that a drop-in takes, of those that are there."""
    return {name: options[name] for name in names if name in options}


LETTERS = {"name": "write", "args": {"letter": prose(100)}, "id": "1"}
OF_AN_AGENT = [
    *TURNS[:2],
    ("user", prose(20)),
    AIMessage("", tool_calls=[LETTERS]),
    ToolMessage(prose(50), tool_call_id="1"),
    AIMessage(prose(50)),
    ("user", QUESTION),
]
"""The conversation that an agent sends whole: no middleware of ours shortens it."""
CONVERSATION = [("system", prose(80)), *TURNS, ("user", QUESTION)]

LANGCHAIN: dict[str, tuple[Callable[..., Any], Any]] = {
    "graph": (langchain_skr.create_skr_graph, {"messages": CONVERSATION}),
    "chain": (langchain_skr.create_skr_chain, {"messages": CONVERSATION}),
    "sourced chain": (
        lambda *parts, **options: langchain_skr.create_skr_chain(
            *parts, return_sources=True, **options
        ),
        {"messages": CONVERSATION},
    ),
    "looping retriever": (
        lambda model, library, **options: langchain_skr.SKRRetriever(
            retriever=library, model=model, **taken(options, "budget", "instructions")
        ),
        QUESTION,
    ),
    "middleware": (
        lambda model, library, **options: agent(model, **options),
        {"messages": OF_AN_AGENT},
    ),
    "tool": (langchain_skr.create_skr_tool, {"question": QUESTION}),
}
LLAMAINDEX: dict[str, tuple[str, Callable[..., Any]]] = {
    "engine": ("query", llamaindex_skr.SKRQueryEngine.from_defaults),
    "chat": (
        "chat",
        lambda library, **options: llamaindex_skr.SKRChatEngine.from_defaults(
            library,
            chat_history=[ChatMessage(text, role=role) for role, text in CONVERSATION[:-1]],
            **options,
        ),
    ),
    "looping retriever of llamaindex": (
        "retrieve",
        lambda library, llm, **options: llamaindex_skr.SKRRetriever(
            library, llm=llm, **taken(options, "budget", "instructions")
        ),
    ),
}
MUCH = Budget(max_reference_tokens=8_000, max_history_tokens=8_000, max_rounds=5)
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "instructions": {"instructions": prose(300)},
    "demonstrations": {
        "demonstrations": [Demonstration(prose(30), prose(60), (prose(80),)) for _ in range(3)]
    },
    "all": {
        "instructions": prose(80),
        "demonstrations": [Demonstration(prose(10), prose(20), (prose(30),))],
        "budget": MUCH,
        "when_insufficient": "own_knowledge",
        "decompose": True,
    },
}


SYSTEM = (prose(80), prose(1_300))
"""The system prompts of an LLM of LlamaIndex: a short one, and one as long as its references."""

CASES = [
    (name, options)
    for name in (*LANGCHAIN, *LLAMAINDEX)
    for options in OPTIONS
    if options in ("plain", "all") or name in ("chain", "engine")
]


async def prompts_of(name: str, way: str, chosen: str) -> list[str]:
    model: Any
    options = OPTIONS[chosen]
    if name in LANGCHAIN:
        make, given = LANGCHAIN[name]
        model, verb = Chat(), "invoke"
        drop_in = make(model, Library(), **options)
    else:
        verb, make = LLAMAINDEX[name]
        model, given = Llama(system_prompt=SYSTEM[chosen == "plain"]), QUESTION
        drop_in = make(Library(), llm=model, **options)
    if way == "sync":
        await asyncio.to_thread(getattr(drop_in, verb), given)
    else:
        await getattr(drop_in, f"a{verb}")(given)
    prompts: list[str] = model.prompts
    return prompts


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize(("name", "options"), CASES)
async def test_no_prompt_is_longer_than_what_is_declared(name: str, options: str, way: str):
    prompts = await prompts_of(name, way, options)
    lengths = [count_tokens(each).tokens for each in prompts]
    assert len(lengths) >= 2
    assert max(lengths) <= WINDOW
    shown = [length for length, each in zip(lengths, prompts, strict=True) if "Found for" in each]
    assert max(shown) > WINDOW / 3, "there is room for references all the same"


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_a_middleware_s_model_may_have_a_smaller_window_than_the_agent_s(way: str):
    small, large = Chat(), Chat(profile={"max_input_tokens": 4 * WINDOW})
    middleware = langchain_skr.SKRMiddleware(retriever=Library(), model=small, budget=MUCH)
    made, given = create_agent(large, middleware=[middleware]), {"messages": CONVERSATION}
    await (made.ainvoke(given) if way == "async" else asyncio.to_thread(made.invoke, given))
    (condensing,) = small.prompts
    assert WINDOW / 8 < count_tokens(condensing).tokens <= WINDOW
    (answering,) = large.prompts
    assert WINDOW < count_tokens(answering).tokens <= 4 * WINDOW


def test_what_a_model_declares():
    plain = FakeListChatModel(responses=["So it is."])
    small = Chat(profile={"max_input_tokens": 8_000})
    assert window_of(as_language_model(plain)) is None
    for model in (small, small.with_retry(), small.bind(stop=["x"]), plain.with_fallbacks([small])):
        assert window_of(as_language_model(model)) == Window(8_000)
    assert window_of(as_llama_model(Llama())) == Window(WINDOW, 512)
    spoken = Llama(system_prompt="Be brief.")
    assert window_of(as_llama_model(spoken)) == Window(WINDOW - most_tokens("Be brief."), 512)
    assert window_of(as_llama_model(MockLLM())) is None
    limited = Spending(max_calls=9).limit(as_language_model(small))
    assert window_of(limited) == Window(8_000)


def test_what_is_declared_comes_before_what_a_name_tells():
    class Declaring(ScriptedModel):
        window = Window(4_000, 2_000)

    named, declaring = ScriptedModel(name="openai:gpt-4.1"), Declaring(name="openai:gpt-4.1")
    assert tokens_for(Budget(), named) == int(1_047_576 * 0.75)
    assert tokens_for(Budget(), declaring) == 2_000
    assert tokens_for(Budget(), declaring, ["x" * 3_000]) == 1_000
    assert tokens_for(Budget(max_reference_tokens=9_000), declaring) == 2_000
    assert tokens_for(Budget(max_reference_tokens=9_000), named) == 9_000
    assert tokens_for(Budget(), declaring, ["x" * 30_000]) == 0
    assert history_tokens_for(Budget(), declaring) == 1_000
    assert history_tokens_for(Budget(), named) == Budget().max_history_tokens
    assert history_tokens_for(Budget(), None) == Budget().max_history_tokens
