"""The system that the page asks, and the history: what was asked, answered and voted."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from skr_app.web.showing import citations_of, document_of, pieces_of
from skr_app.web.streaming import Event
from skr_core.budget import Price, cost, price_of
from skr_core.errors import InputError
from skr_core.files import KeyedLog
from skr_core.prompts.asking import checked_question
from skr_core.routers import AlwaysRetrieve, FixedDecision
from skr_core.settings import Settings
from skr_core.types import NO_USAGE, Action, Answer, Usage
from skr_graphs import SKRContext, answer_of, create_self_completion_graph, without_messages
from skr_graphs.graph import DECISIONS
from skr_learn import Calibration
from skr_store import Store

Plain = dict[str, Any]

LISTED = 20
"""The runs of the history that are listed at a time, at most."""
_KEPT = ("conversation", "asked_at", "action", "seconds", "usd")
NOT_KEPT = frozenset({"token", "retract", "start", "sources", "answer"})
"""Events that the kept answer makes superfluous."""


class Runs:
    """The history: `runs.jsonl` and `votes.jsonl` of a folder, or of this process alone.

    Args:
        folder: The folder that keeps them; None keeps nothing.

    Raises:
        InputError: The folder cannot be written, or another process writes to it.

    Example:
        >>> with Runs(None) as runs:
        ...     runs.conversation("unheard of")
        []
    """

    def __init__(self, folder: Path | None) -> None:
        self._runs = KeyedLog(folder and folder / "runs.jsonl")
        try:
            self._votes = KeyedLog(folder and folder / "votes.jsonl")
        except BaseException:
            self._runs.close()
            raise

    def __enter__(self) -> Runs:
        return self

    def __exit__(self, *_: object) -> None:
        self._runs.close()
        self._votes.close()

    async def keep(
        self,
        output: Mapping[str, Any],
        events: Sequence[Mapping[str, Any]],
        *,
        conversation: str | None,
        action: Action | None,
        model: str,
        seconds: float,
        usd: float | None,
    ) -> Plain:
        """Keep an answered question; returns it as the page shows it.

        Args:
            output: The output of the graph, plain.
            events: The events of the graph.
            conversation: The conversation that it belongs to; None begins one.
            action: The way the person wanted it answered; None left it to the router.
            model: The name of the model that answered.
            seconds: The seconds that it took.
            usd: The money that it cost, where that is known.
        """
        key = uuid4().hex
        row = {
            "key": key,
            "conversation": conversation or key,
            "asked_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "action": action,
            "model": model,
            "seconds": round(seconds, 3),
            "usd": usd,
            "output": dict(output),
            "events": [each for each in events if each["type"] not in NOT_KEPT],
        }
        await self._runs.aappend([row])
        return self._page_of(row)

    def one(self, key: str) -> Plain:
        """A run as the page shows it.

        Raises:
            InputError: There is no such run.
        """
        return self._page_of(self._row(key))

    def find(self, text: str = "", page: int = 1) -> Plain:
        """The runs whose question or answer contains a text, the latest first.

        Args:
            text: The text, in upper or lower case; empty finds all.
            page: The page of them, from 1.

        Returns:
            A line for each run of the page, how many runs there are, and how many a page holds.
        """
        wanted = text.casefold().strip()
        found = [row for row in self._rows()[::-1] if wanted in _said(row)]
        runs = [self._line_of(row) for row in found[(page - 1) * LISTED : page * LISTED]]
        return {"runs": runs, "total": len(found), "listed": LISTED}

    def conversation(self, key: str) -> list[Plain]:
        """The runs of a conversation, the first one first."""
        return [self._page_of(row) for row in self._rows() if row["conversation"] == key]

    def turns(self, conversation: str) -> list[tuple[str, str]]:
        """The turns of a conversation, as the graph takes its history."""
        return [
            turn
            for row in self._runs.rows.values()
            if row["conversation"] == conversation
            for turn in (
                ("user", row["output"]["question"]),
                ("assistant", row["output"]["answer"]),
            )
        ]

    async def vote(self, key: str, right: bool | None, answer: str = "") -> None:
        """Keep what a person says of an answer.

        Args:
            key: The run.
            right: Whether it is right; None takes the vote back.
            answer: The right answer of one that is wrong; may be empty.

        Raises:
            InputError: There is no such run.
        """
        self._row(key)
        said = {"answer": answer.strip()} if right is False and answer.strip() else {}
        await self._votes.aappend([{"key": key, "right": right, **said}])

    def questions(self) -> list[Plain]:
        """What was asked and a person has given the right answer of, as a file of questions.

        A question of a conversation comes with the messages before it.
        """
        found = []
        for key, vote in list(self._votes.rows.items()):
            row = self._runs.rows.get(key)
            if row is None or not vote.get("answer"):
                continue
            talk = [
                each["key"] for each in self._rows() if each["conversation"] == row["conversation"]
            ]
            before = self.turns(row["conversation"])[: 2 * talk.index(key)]
            question = {
                "id": key,
                "question": row["output"]["question"],
                "answers": [vote["answer"]],
                "history": [{"role": role, "content": said} for role, said in before],
            }
            found.append(question)
        return found

    def judged(self) -> list[tuple[Answer, bool]]:
        """Every answer that a person has judged."""
        return [
            (answer_of(self._runs.rows[key]["output"]), row["right"])
            for key, row in list(self._votes.rows.items())
            if row["right"] is not None and key in self._runs.rows
        ]

    def outcomes(self, keys: Sequence[str]) -> tuple[list[Plain], list[bool | None]]:
        """What came out of runs, and what a person says of each."""
        return [self._runs.rows[key]["output"] for key in keys], [self._right(key) for key in keys]

    def _rows(self) -> list[Mapping[str, Any]]:
        return list(self._runs.rows.values())  # a thread may be adding one

    def _row(self, key: str) -> Mapping[str, Any]:
        row = self._runs.rows.get(key)
        if row is None:
            raise InputError("there is no such run: it may be of an earlier start of skr serve")
        return row

    def _right(self, key: str) -> bool | None:
        right: bool | None = self._votes.rows.get(key, {}).get("right")
        return right

    def _page_of(self, row: Mapping[str, Any]) -> Plain:
        output = row["output"]
        return {
            **self._line_of(row),
            "model": row["model"],
            "events": row["events"],
            "output": {key: each for key, each in output.items() if key != "citations"},
            "documents": {each["id"]: document_of(each) for each in output["references"]},
            "pieces": pieces_of(output),
            "citations": citations_of(output),
        }

    def _line_of(self, row: Mapping[str, Any]) -> Plain:
        output = row["output"]
        spent = sum((Usage(**each) for each in output["usage"].values()), NO_USAGE)
        return {
            "id": row["key"],
            **{
                name: row[name] for name in ("conversation", "asked_at", "action", "seconds", "usd")
            },
            "question": output["question"],
            "answer": output["answer"],
            "grounded": output["grounded"],
            "partial": answer_of(output).is_partial,
            "decided": answer_of(output).decision.action,
            "rounds": len(output["rounds"]),
            "stop_reason": output["stop_reason"],
            "calls": spent.calls,
            "tokens": spent.total_tokens,
            "estimated": spent.estimated,
            "right": self._right(row["key"]),
            "right_answer": self._votes.rows.get(row["key"], {}).get("answer", ""),
        }


def _said(row: Mapping[str, Any]) -> str:
    output = row["output"]
    return f"{output['question']}\n{output['answer']}".casefold()


@dataclass(frozen=True)
class Serving:
    """What answers from one moment on, until another takes its place as a whole.

    Attributes:
        settings: The settings.
        found: What the calibration found that chose the router; None where none did.
        graph: The graph of the settings.
        alone: The graph without router and arbiter, for a question that a person routes.
        routed: The runs that the router decided.
    """

    settings: Settings
    found: Calibration | None
    graph: Any
    alone: Any
    routed: list[str] = field(default_factory=list)


class ServedSystem:
    """The system that answers the page's questions.

    Args:
        settings: The settings; another router may take the place of theirs while it is served.
        store: The store that is searched, and that uploads go to.
        runs: The history.
        prices: The prices of models' tokens; None where nobody gave any.

    Attributes:
        serving: What answers the next question.
    """

    def __init__(
        self,
        settings: Settings,
        store: Store,
        runs: Runs,
        prices: Mapping[str, Price] | None = None,
    ) -> None:
        self.store, self.runs, self.prices = store, runs, prices
        self.serve(settings)

    @property
    def settings(self) -> Settings:
        """The settings that the next question is answered with."""
        return self.serving.settings

    def serve(self, settings: Settings, found: Calibration | None = None) -> None:
        """Answer with other settings from the next question on.

        Args:
            settings: The settings.
            found: What the calibration found that chose their router.
        """
        graph = create_self_completion_graph(**vars(settings)).compile(name="skr")
        # How a person wants a question answered is neither routed nor weighed.
        unrouted = settings.but(arbiter=None, router=AlwaysRetrieve())
        alone = create_self_completion_graph(**vars(unrouted)).compile(name="skr")
        self.serving = Serving(settings, found, graph, alone)

    async def ask(
        self, question: str, conversation: str | None = None, action: Action | None = None
    ) -> AsyncGenerator[Event]:
        """Answer a question; the events are the graph's, then the run that is kept.

        Args:
            question: The question.
            conversation: The conversation that it belongs to.
            action: The way it is to be answered; None leaves it to the router.

        Raises:
            InputError: The question is empty or too long.
            ModelError: The model failed.
            RetrieverError: Every search failed.
        """
        given = {
            "question": checked_question(question),
            "history": self.runs.turns(conversation) if conversation else [],
        }
        serving = self.serving
        graph, router = serving.graph, None
        if action is not None:
            decision = replace(DECISIONS[action], reason="you asked for it")
            graph, router = serving.alone, FixedDecision(decision)
        elif serving.found is None and type(serving.settings.router) is AlwaysRetrieve:
            decision = serving.settings.router.decide(question)
            router = FixedDecision(replace(decision, reason="no router is set"))
        context = SKRContext(stream=True, router=router)
        events: list[Any] = []
        output: Any = None
        begun = time.monotonic()
        stream = graph.astream(given, context=context, stream_mode=["custom", "values"])
        async with aclosing(stream):
            async for mode, event in stream:
                if mode == "values":
                    output = event
                else:
                    events.append(event)
                    yield "", event
        run = await self.runs.keep(
            without_messages(output),
            events,
            conversation=conversation,
            action=action,
            model=serving.settings.model.name,
            seconds=time.monotonic() - begun,
            usd=self._usd(answer_of(output).total_usage),
        )
        if action is None:
            serving.routed.append(run["id"])
        yield "run", run

    def _usd(self, usage: Usage) -> float | None:
        if self.prices is None:
            return None
        return cost(usage, price_of(self.prices, self.settings.model.name))
