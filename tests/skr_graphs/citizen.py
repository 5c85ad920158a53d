"""What the tests of the graph among other graphs share: a question of two rounds."""

from __future__ import annotations

import asyncio
from typing import Any

from skr_core.prompts import QUERY_LEAD, REFUSAL
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_graphs import SelfCompletionGraph, create_self_completion_graph

QUESTION = "Where was the engineer born?"
FURTHER = "Where was Ada Quill born?"
ANSWER = "In Port Elm [2]."


class World:
    """A graph with its model and its retriever, which note what they are asked.

    Args:
        **options: Options of `create_self_completion_graph`.
    """

    def __init__(self, **options: Any) -> None:
        self.model = ScriptedModel(
            {
                "answer_with_references": [REFUSAL, ANSWER],
                "self_complete": [f"{QUERY_LEAD}\n1. {FURTHER}"],
            }
        )
        self.retriever = MappingRetriever(
            {
                QUESTION: ["Ada Quill was the engineer."],
                FURTHER: ["Ada Quill was born in Port Elm."],
                "Ada Quill's birthplace": ["Port Elm: Ada Quill's birthplace."],
            }
        )
        self.graph: SelfCompletionGraph = create_self_completion_graph(
            model=self.model, retriever=self.retriever, **options
        )

    @property
    def tasks(self) -> list[str]:
        return [prompt.task for prompt in self.model.prompts]


async def invoke(form: str, graph: Any, *args: Any, **kwargs: Any) -> Any:
    """Invoke sync or async; sync in a thread, because its callers have no event loop."""
    if form == "sync":
        return await asyncio.to_thread(graph.invoke, *args, **kwargs)
    return await graph.ainvoke(*args, **kwargs)
