"""What an agent costs with a router that was calibrated on records of itself.

One agent of `create_agent`, with its prompt and a search tool, on questions of a made-up world
(`made.py`), whose model knows half of them, guesses others and misreads some passages. Its model
stands behind an OpenAI-compatible server on loopback and calls the tool where it is given it. Some
questions are collected over the agent itself and calibrated on; the others are asked: without
middleware, with `SKRMiddleware` that searches for each, that never does, and that has the router.
Calls and prompt tokens are those of all requests that reach the server, a draft that is thrown away
included; tokens are counted by tiktoken, tools among them. Intervals are of 95 %, over the
questions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

from benchmarks.cost import prompt_tokens
from benchmarks.made import Item, MadeRetriever, World
from langchain_skr import SKRMiddleware
from skr_core.match import contains_gold
from skr_core.prompts.templates import WITH_REFERENCES
from skr_core.routers import NeverRetrieve
from skr_learn import calibrate, collect
from skr_learn.metrics.bootstrapping import bootstrap
from tests.servers import Messages, OpenAIServer, Reply

WORLD = World("an agent", outdated=0.2)
COUNT, QUICK = 200, 60
SYSTEM = "You are the clerk of an archive. Answer in one sentence."


@dataclass(frozen=True)
class Agent:
    """An agent over the questions that nothing was learnt from: means, and their 95 % intervals.

    Attributes:
        agent: How it is made.
        n: The number of questions.
        right: The share that was answered rightly: mean, low, high.
        gain: That share less the agent's without middleware, on the same questions.
        calls: Calls of the model for a question.
        tokens: Prompt tokens for a question.
    """

    agent: str
    n: int
    right: tuple[float, float, float]
    gain: tuple[float, float, float]
    calls: tuple[float, float, float]
    tokens: tuple[float, float, float]


def rows(quick: bool) -> Iterator[Agent]:
    """Each way of making the agent."""
    yield from measured(QUICK if quick else COUNT)


def measured(count: int) -> Iterator[Agent]:
    """Learn from so many questions, and ask as many others.

    Args:
        count: The number of either.
    """
    items = WORLD.items(2 * count)
    library = MadeRetriever(items)
    with OpenAIServer() as server, TemporaryDirectory() as folder:
        server.reply = model_of(items, server)
        make = agents_over(server.url, library)
        records = collect([item.question for item in items[:count]], make(retriever=library))
        calibrate(records).save(saved := Path(folder) / "router")
        made = {
            "a search tool, no middleware": make(),
            "`SKRMiddleware`, always searching": make(retriever=library),
            "`SKRMiddleware`, never searching": make(router=NeverRetrieve(), retriever=library),
            "`SKRMiddleware`, calibrated on itself": make(router=saved, retriever=library),
        }
        others = items[count:]
        taken = {
            name: [asked(agent, each, server) for each in others] for name, agent in made.items()
        }
    plain = next(iter(taken.values()))
    for name, each in taken.items():
        gain = [one[0] - other[0] for one, other in zip(each, plain, strict=True)]
        right, calls, tokens = (ends(one) for one in zip(*each, strict=True))
        yield Agent(name, count, right, ends(gain), calls, tokens)


def agents_over(url: str, library: MadeRetriever) -> Callable[..., Any]:
    """What makes the agent, with the middleware's options where it has the middleware."""

    @tool
    def search(query: str) -> str:
        """Search the archive."""
        found = enumerate(library.retrieve(query), start=1)
        return "\n\n".join(f"[{number}]\n{each.text}" for number, each in found)

    def make(**options: Any) -> Any:
        model = ChatOpenAI(model="made", base_url=url, api_key="none")  # type: ignore[arg-type]
        middleware = [SKRMiddleware(tools=[search], **options)] if options else []
        return create_agent(model, [search], system_prompt=SYSTEM, middleware=middleware)

    return make


def asked(agent: Any, item: Item, server: OpenAIServer) -> tuple[float, float, float]:
    """Whether a question is answered rightly, and the calls and tokens that it took."""
    before = server.calls
    state = agent.invoke({"messages": [("user", item.text)]})
    right = contains_gold(state["messages"][-1].text, item.question.gold)
    sent = server.requests[before:]
    return float(right), float(len(sent)), float(sum(map(prompt_tokens, sent)))


def ends(values: Sequence[float]) -> tuple[float, float, float]:
    """The mean of some figures, and the ends of its interval."""
    interval = bootstrap(values)
    return interval.mean, interval.low, interval.high


def model_of(items: Sequence[Item], server: OpenAIServer) -> Callable[[Messages], Reply]:
    """The model: it searches where it can, reads what was found, and else remembers."""
    by_text = {item.text: item for item in items}

    def reply(messages: Messages) -> Reply:
        question = next(each["content"] for each in messages if each["role"] == "user")
        request = next(each for each in reversed(server.requests) if each["messages"] is messages)
        told = "\n".join(str(each["content"]) for each in messages)
        item, searched = by_text[question], messages[-1]["role"] == "tool"
        if request.get("tools") and not searched and WITH_REFERENCES.partition("{")[0] not in told:
            function = {"name": "search", "arguments": json.dumps({"query": question})}
            call = {"id": "1", "type": "function", "function": function}
            return {"role": "assistant", "content": None, "tool_calls": [call]}
        number, read = item.read(told)
        return f"{item.worded(read)} [{number}]" if read else item.remembered()

    return reply
