"""What the baselines share: one flow in both colours, work done once, and the final answer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

from skr_core.flow import Flow, arun, call, run
from skr_core.references.citations import resolve_citations
from skr_core.replies.certainty import final_answer
from skr_core.types import Action, Answer, Decision, Reference, Round, Usage

AnswerFlow = Callable[[str], Flow[Answer]]

T = TypeVar("T")


class FlowAnswerer:
    """A flow from question to answer as a `QuestionAnswerer`.

    Example:
        >>> from skr_core.testing import ScriptedModel
        >>> from skr_lab.baselines.direct import zero_shot
        >>> model = ScriptedModel(["Paris"])
        >>> FlowAnswerer(lambda question: zero_shot(model, question)).answer("Capital?").text
        'Paris'
    """

    def __init__(self, flow: AnswerFlow) -> None:
        self._flow = flow

    def answer(self, question: str, action: Action | None = None) -> Answer:
        """Answer with blocking calls; a baseline decides nothing, so no action changes it."""
        return run(self._flow(question))

    async def aanswer(self, question: str, action: Action | None = None) -> Answer:
        """Answer with awaited calls."""
        return await arun(self._flow(question))


class Once(Generic[T]):
    """Runs a flow the first time its value is wanted, and hands the value out afterwards.

    Questions that are asked at the same time wait for one another; a flow that fails is run again.

    Args:
        flow: Makes a flow that has the value.

    Example:
        >>> def flow():
        ...     yield from ()
        ...     return "made"
        >>> once = Once(flow)
        >>> run(once.value()), run(once.value())
        (('made', True), ('made', False))
    """

    def __init__(self, flow: Callable[[], Flow[T]]) -> None:
        self._flow = flow
        self._made: list[T] = []
        self._lock = threading.Lock()
        self._awaited: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None

    def value(self) -> Flow[tuple[T, bool]]:
        """The value, and whether it was made just now."""
        if self._made:
            return self._made[0], False
        return (yield from call(self._make, self._amake))

    def _make(self) -> tuple[T, bool]:
        with self._lock:
            if self._made:
                return self._made[0], False
            self._made.append(run(self._flow()))
            return self._made[0], True

    async def _amake(self) -> tuple[T, bool]:
        loop = asyncio.get_running_loop()
        if self._awaited is None or self._awaited[0] is not loop:
            self._awaited = loop, asyncio.Lock()
        async with self._awaited[1]:
            if self._made:
                return self._made[0], False
            self._made.append(await arun(self._flow()))
            return self._made[0], True


def concluded(
    question: str,
    reasoning: str,
    usage: Mapping[str, Usage],
    references: Sequence[Reference] = (),
    rounds: Sequence[Round] = (),
) -> Answer:
    """An answer from a finished reasoning; its citations name the references."""
    cited = resolve_citations(final_answer(reasoning), references)
    return Answer(
        question=question,
        text=cited.text,
        citations=cited.citations,
        references=tuple(references),
        decision=Decision(bool(rounds), reason="a baseline decides nothing"),
        rounds=tuple(rounds),
        stop_reason="sufficient" if rounds else "known",
        usage=usage,
        removed_markers=cited.removed,
    )


def round_of(query: str, found: Sequence[Reference], draft: str = "") -> Round:
    """One search as a round."""
    ids = tuple(each.id for each in found)
    return Round((query,), ids, ids, draft)


def spend(spent: dict[str, Usage], task: str, usage: Usage) -> None:
    """Add what a call cost to what a task has cost."""
    spent[task] = spent.get(task, Usage()) + usage
