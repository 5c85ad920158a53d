"""How near 32 questions at once come to the time of one, with a model that takes 200 ms a call.

Each question takes three calls, one after the other (a refusal, further queries, an answer), so
the ideal is three times the delay, however many questions there are. `ratio` is the time of all
questions over that ideal, with a chat model that only waits: what this library and LangGraph add.
`wire_ratio` is the same over an OpenAI-compatible server on loopback beside the bare client making
the same number of calls, three after one another for each of 32 askers: what it adds to a client.

Usage: python benchmarks/concurrency.py [--questions 32] [--delay-ms 200] [--repetitions 5]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from statistics import median
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from langchain_skr import create_skr_chain, load_model
from skr_core.prompts.templates import QUERY_LEAD, REFUSAL
from skr_core.types import Reference
from tests.servers import OpenAIServer

CALLS = 3
"""A question's calls that wait for one another."""

ANSWER = "It burns colza oil [2]."


class Library:
    """Finds one reference for a query, at once: the model's time is what is measured."""

    name = "library"

    def retrieve(self, query: str) -> list[Reference]:
        return [Reference.of(f"All about {query}")]

    async def aretrieve(self, query: str) -> list[Reference]:
        return self.retrieve(query)


def reply(prompt: str) -> str:
    """Refuse with one reference, ask further, answer with two."""
    if QUERY_LEAD in prompt:
        return f"{QUERY_LEAD}\n1. What else burns in it?"
    return ANSWER if "\n[2] " in prompt else REFUSAL


class Waiting(BaseChatModel):
    """Waits, then says its words."""

    delay_s: float

    @property
    def _llm_type(self) -> str:
        return "waiting"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        raise NotImplementedError("this model is only ever awaited")

    async def _agenerate(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> ChatResult:
        await asyncio.sleep(self.delay_s)
        message = AIMessage(reply(messages[-1].text))
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _astream(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        await asyncio.sleep(self.delay_s)
        for piece in re.findall(r"\s*\S+", reply(messages[-1].text)):
            yield ChatGenerationChunk(message=AIMessageChunk(piece))


async def timed(work: Callable[[], Awaitable[Any]], repetitions: int) -> float:
    """Median seconds, after one turn that makes what is made once."""
    await work()
    seconds = []
    for _ in range(repetitions):
        started = time.perf_counter()
        await work()
        seconds.append(time.perf_counter() - started)
    return median(seconds)


def all_questions(model: Any, questions: list[str]) -> Callable[[], Awaitable[Any]]:
    chain = create_skr_chain(model, Library())

    async def work() -> None:
        answers = await chain.abatch(questions)
        if set(answers) != {ANSWER}:
            sys.exit(f"unexpected answers: {set(answers)}")

    return work


def bare_calls(chat: BaseChatModel, questions: list[str]) -> Callable[[], Awaitable[Any]]:
    async def three(question: str) -> None:
        for _ in range(CALLS):
            await chat.ainvoke(question)

    async def work() -> None:
        await asyncio.gather(*map(three, questions))

    return work


async def measure(count: int, delay_s: float, repetitions: int) -> dict[str, Any]:
    questions = [f"What burns in lamp {number}?" for number in range(count)]
    ours = await timed(all_questions(Waiting(delay_s=delay_s), questions), repetitions)
    with OpenAIServer(lambda messages: reply(messages[-1]["content"]), delay=delay_s) as server:
        model: Any = load_model("openai:test", base_url=server.url)
        wire = await timed(all_questions(model, questions), repetitions)
        bare = await timed(bare_calls(model.model, questions), repetitions)
        await model.model.root_async_client.close()
        model.model.root_client.close()
    ideal = CALLS * delay_s
    return {
        "questions": count,
        "delay_ms": round(delay_s * 1000),
        "calls_a_question": CALLS,
        "repetitions": repetitions,
        "ideal_s": round(ideal, 3),
        "seconds": round(ours, 3),
        "ratio": round(ours / ideal, 3),
        "peak_in_flight": server.peak,
        "wire_seconds": round(wire, 3),
        "bare_client_seconds": round(bare, 3),
        "wire_ratio": round(wire / bare, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=32, help="asked at once")
    parser.add_argument("--delay-ms", type=float, default=200, help="of each call")
    parser.add_argument("--repetitions", type=int, default=5, help="the median counts")
    options = parser.parse_args()
    report = measure(options.questions, options.delay_ms / 1000, options.repetitions)
    json.dump(asyncio.run(report), sys.stdout)
    print()


if __name__ == "__main__":
    main()
