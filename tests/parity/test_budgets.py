"""The limits of a question end it where its model asks for more for ever, in any drop-in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.runnables import RunnablePassthrough

import langchain_skr
import llamaindex_skr
from skr_core import Budget, Reference
from skr_core.prompts import INSUFFICIENT, SEARCH_LEAD
from skr_core.testing import ScriptedModel

QUESTION = "Who lit the lamp?"
NEVER_ENOUGH = [
    f"{INSUFFICIENT}\nIt is not there.\n{SEARCH_LEAD} the lamp of house {number}"
    for number in range(9)
]


class Library:
    """Finds another passage for each query."""

    name = "library"

    def __init__(self) -> None:
        self.queries: list[str] = []

    def retrieve(self, query: str) -> list[Reference]:
        self.queries.append(query)
        return [Reference.of(f"This is said of {query}.")]

    async def aretrieve(self, query: str) -> list[Reference]:
        return self.retrieve(query)


DROP_INS: dict[str, tuple[Callable[..., Any], str, Any]] = {
    "graph": (langchain_skr.create_skr_graph, "invoke", {"question": QUESTION}),
    "chain in a sequence": (
        lambda *parts, **given: (
            RunnablePassthrough() | langchain_skr.create_skr_chain(*parts, **given)
        ),
        "invoke",
        QUESTION,
    ),
    "retriever": (
        lambda model, library, **given: langchain_skr.SKRRetriever(
            retriever=library, model=model, **given
        ),
        "invoke",
        QUESTION,
    ),
    "tool": (langchain_skr.create_skr_tool, "invoke", {"question": QUESTION}),
    "retriever of llamaindex": (
        lambda model, library, **given: llamaindex_skr.SKRRetriever(library, llm=model, **given),
        "retrieve",
        QUESTION,
    ),
}


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("name", DROP_INS)
async def test_limits_end_a_question(name: str, way: str):
    async def ask(**limits: int) -> tuple[int, int]:
        make, verb, given = DROP_INS[name]
        model, library = ScriptedModel(NEVER_ENOUGH), Library()
        drop_in = make(model, library, budget=Budget(**limits))
        if way == "sync":
            await asyncio.to_thread(getattr(drop_in, verb), given)
        else:
            await getattr(drop_in, f"a{verb}")(given)
        return len(library.queries), len(model.prompts)

    assert (await ask())[0] == 3
    assert (await ask(max_rounds=1))[0] == 1
    assert (await ask(max_rounds=8))[0] == 8, "which are more steps than LangChain allows"
    assert (await ask(max_calls=1))[1] == 1
    assert (await ask(max_rounds=9, max_calls=4))[1] <= 4
