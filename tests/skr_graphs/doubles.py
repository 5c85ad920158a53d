"""What the tests of the graph share: doubles, and running a test both sync and async."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping, Sequence
from threading import Condition
from typing import Any

import pytest

from skr_core import Generation, OnToken, Prompt, Reference, Reflection
from skr_core.errors import ModelError, RetrieverError, StoreError
from skr_core.prompts import REFUSAL
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_core.types import Task

QUESTION = "Capital?"
PARIS = "Paris is the capital of France."

Invoke = Callable[..., dict[str, Any]]


def blocking(graph: Any, question: str = QUESTION, **options: Any) -> dict[str, Any]:
    output: dict[str, Any] = graph.invoke({"question": question}, **options)
    return output


def awaited(graph: Any, question: str = QUESTION, **options: Any) -> dict[str, Any]:
    return asyncio.run(graph.ainvoke({"question": question}, **options))


both = pytest.mark.parametrize("invoke", [blocking, awaited])


def refusing(*queries: str, anyway: str = "Perhaps Paris.") -> ScriptedModel:
    """Refuses every time and asks for one query after the other."""
    script: Mapping[Task, Sequence[str]] = {
        "answer_with_references": [REFUSAL],
        "self_complete": queries,
        "answer_anyway": [anyway],
    }
    return ScriptedModel(script)


def searchable(*more: str, failing: Sequence[str] = ()) -> MappingRetriever:
    """Finds Paris for the question, and for each other query a text of its own."""
    texts = {QUESTION: [PARIS], **{query: [f"about {query}"] for query in more}}
    return MappingRetriever(texts, failing=failing)


class FailingModel(ScriptedModel):
    """Fails at one task, from one of its calls on, and has said nothing then that counts.

    Args:
        replies: The replies, as for a `ScriptedModel`.
        fails: The task that fails.
        after: The number of calls of that task that succeed first.
    """

    def __init__(
        self, replies: Mapping[Task, Sequence[str]], *, fails: Task, after: int = 0
    ) -> None:
        super().__init__(replies)
        self._fails, self._left = fails, after

    def generate(self, prompt: Prompt, *, on_token: OnToken | None = None) -> Generation:
        if prompt.task == self._fails:
            if not self._left:
                raise ModelError("the model is away")
            self._left -= 1
        return super().generate(prompt, on_token=on_token)


class NeverSatisfied:
    """Sends every draft back, without a model."""

    def reflect(self, question: str, references: Sequence[Reference], draft: str) -> Reflection:
        return Reflection(False, "it could be better")

    async def areflect(
        self, question: str, references: Sequence[Reference], draft: str
    ) -> Reflection:
        return self.reflect(question, references, draft)


class SlowRetriever:
    """Takes as many seconds as a query says."""

    name = "slow"

    def __init__(self, seconds: Mapping[str, float]) -> None:
        self._seconds = seconds
        self.finished: list[str] = []

    def retrieve(self, query: str) -> Sequence[Reference]:
        time.sleep(self._seconds.get(query, 0))
        self.finished.append(query)
        return [Reference.of(f"about {query}")]

    async def aretrieve(self, query: str) -> Sequence[Reference]:
        await asyncio.sleep(self._seconds.get(query, 0))
        self.finished.append(query)
        return [Reference.of(f"about {query}")]


class OrderedRetriever:
    """Ends searches in a given order, whichever begins first."""

    name = "ordered"

    def __init__(self, order: Sequence[str]) -> None:
        self._order = order
        self.finished: list[str] = []
        self._changed = Condition()

    def retrieve(self, query: str) -> Sequence[Reference]:
        with self._changed:
            assert self._changed.wait_for(lambda: self._is_next(query), timeout=60)
            self.finished.append(query)
            self._changed.notify_all()
        return [Reference.of(f"about {query}")]

    async def aretrieve(self, query: str) -> Sequence[Reference]:
        async with asyncio.timeout(60):
            while not self._is_next(query):  # noqa: ASYNC110  # another task ends that
                await asyncio.sleep(0)
        self.finished.append(query)
        return [Reference.of(f"about {query}")]

    def _is_next(self, query: str) -> bool:
        return self._order[len(self.finished)] == query


class ListStore:
    """A store that finds each text by the words it shares with the query; false while empty.

    Attributes:
        references: The passages of its scope, by id.
        scopes: The views of all its scopes, by name.
        ttl: The seconds for which the latest passages were to be kept.
    """

    name = "list"

    def __init__(self, *, read_only: bool = False, broken: bool = False) -> None:
        self.references: dict[str, Reference] = {}
        self.scopes: dict[str, ListStore] = {"shared": self}
        self.ttl: float | None = None
        self._read_only, self._broken = read_only, broken

    def __len__(self) -> int:
        return len(self.references)

    def add(self, references: Sequence[Reference], *, ttl: float | None = None) -> int:
        if self._read_only:
            raise StoreError("the disk is full")
        self.ttl = ttl
        before = len(self)
        self.references |= {reference.id: reference for reference in references}
        return len(self) - before

    async def aadd(self, references: Sequence[Reference], *, ttl: float | None = None) -> int:
        return self.add(references, ttl=ttl)

    def in_scope(self, scope: str) -> ListStore:
        fresh = ListStore(read_only=self._read_only, broken=self._broken)
        view = self.scopes.setdefault(scope, fresh)
        view.scopes = self.scopes
        return view

    def retrieve(self, query: str) -> Sequence[Reference]:
        if self._broken:
            raise RetrieverError("the store is closed")
        words = set(re.findall(r"\w+", query.lower()))
        shared = {
            key: len(words & set(re.findall(r"\w+", each.text.lower())))
            for key, each in self.references.items()
        }
        best = sorted((key for key in shared if shared[key]), key=lambda key: -shared[key])
        return [self.references[key] for key in best]

    async def aretrieve(self, query: str) -> Sequence[Reference]:
        return self.retrieve(query)
