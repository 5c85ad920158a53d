"""A program that asks one question in some ways, is interrupted (Ctrl-C) in each, and leaves.

It says ``asked`` when it begins, and the class of what it ended with when it is back.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any

from langchain_openai import ChatOpenAI

from langchain_skr import create_skr_chain, create_skr_graph
from langchain_skr import load_model as load_for_langchain
from llamaindex_skr import SKRQueryEngine
from llamaindex_skr import load_model as load_for_llamaindex
from skr_core.testing import MappingRetriever

QUESTION = "What is the capital of France?"
SEARCH = MappingRetriever({QUESTION: ["Paris is the capital of France."]})


def chain(url: str) -> Any:
    return create_skr_chain(load_for_langchain("openai:test", base_url=url), SEARCH)


def chain_of_ones_own_model(url: str) -> Any:
    chat = ChatOpenAI(model="test", base_url=url, api_key="none")  # type: ignore[arg-type]
    return create_skr_chain(chat, SEARCH)


def graph(url: str) -> Any:
    return create_skr_graph(load_for_langchain("openai:test", base_url=url), SEARCH)


def engine(url: str, *, streaming: bool = False) -> Any:
    model = load_for_llamaindex("openai:test", base_url=url)
    return SKRQueryEngine.from_defaults(SEARCH, llm=model, streaming=streaming)


def streaming_engine(url: str) -> Any:
    return engine(url, streaming=True)


async def _all(stream: Any) -> list[Any]:
    return [piece async for piece in stream]


async def _tokens(engine: Any) -> list[Any]:
    return await _all((await engine.aquery(QUESTION)).async_response_gen())


ASKED: Any = {"question": QUESTION}
MODES: Any = {"stream_mode": ["messages", "values"]}
Way = tuple[Callable[[str], Any], Callable[[Any], Any]]
WAYS: dict[str, Way] = {
    "chain.invoke": (chain, lambda made: made.invoke(QUESTION)),
    "chain.stream": (chain, lambda made: list(made.stream(QUESTION))),
    "chain.ainvoke": (chain, lambda made: asyncio.run(made.ainvoke(QUESTION))),
    "chain.astream": (chain, lambda made: asyncio.run(_all(made.astream(QUESTION)))),
    "own.invoke": (chain_of_ones_own_model, lambda made: made.invoke(QUESTION)),
    "own.stream": (chain_of_ones_own_model, lambda made: list(made.stream(QUESTION))),
    "graph.invoke": (graph, lambda made: made.invoke(ASKED)),
    "graph.stream": (graph, lambda made: list(made.stream(ASKED, **MODES))),
    "graph.ainvoke": (graph, lambda made: asyncio.run(made.ainvoke(ASKED))),
    "graph.astream": (graph, lambda made: asyncio.run(_all(made.astream(ASKED, **MODES)))),
    "engine.query": (engine, lambda made: made.query(QUESTION)),
    "engine.query, streamed": (
        streaming_engine,
        lambda made: list(made.query(QUESTION).response_gen),
    ),
    "engine.aquery": (engine, lambda made: asyncio.run(made.aquery(QUESTION))),
    "engine.aquery, streamed": (streaming_engine, lambda made: asyncio.run(_tokens(made))),
}


def say(word: str) -> None:
    """Tell the test."""
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


def main(url: str, *ways: str) -> None:
    """Ask, and say how it ended."""
    for way in ways:
        make, ask = WAYS[way]
        made = make(url)
        say("asked")
        try:
            ask(made)
        except BaseException as error:
            say(type(error).__name__)
        else:
            say("answered")


if __name__ == "__main__":
    main(*sys.argv[1:])
