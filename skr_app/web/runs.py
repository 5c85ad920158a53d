"""What was asked on the page, how it was answered, and what people said of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from skr_app.web.shown import citations_of, pieces_of
from skr_core.errors import InputError
from skr_core.files import KeyedLog
from skr_core.types import NO_USAGE, Action, Answer, Usage
from skr_graphs import answer_of

Plain = dict[str, Any]

LISTED = 200
"""Runs of the history that are shown, the latest."""
_KEPT = ("conversation", "asked_at", "action", "seconds", "usd")
UNTOLD = frozenset({"token", "retract", "start", "sources", "answer"})
"""Events that the kept answer makes superfluous."""


class Runs:
    """The history: `runs.jsonl` and `votes.jsonl` of a folder, or of this process alone.

    Args:
        folder: Where they are kept; None keeps nothing.

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
            output: Of the graph, plain.
            events: That the graph told.
            conversation: That it belongs to; None begins one.
            action: How the person wanted it answered; None left it to the router.
            model: That answered.
            seconds: That it took.
            usd: What it cost, where that is known.
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
            "events": [each for each in events if each["type"] not in UNTOLD],
        }
        await self._runs.aappend([row])
        return self._page_of(row)

    def one(self, key: str) -> Plain:
        """A run as the page shows it.

        Raises:
            InputError: There is no such run.
        """
        return self._page_of(self._row(key))

    def latest(self) -> list[Plain]:
        """The latest runs in a line each, the last one first."""
        return [self._line_of(row) for row in self._rows()[: -LISTED - 1 : -1]]

    def conversation(self, key: str) -> list[Plain]:
        """The runs of a conversation, the first one first."""
        return [self._page_of(row) for row in self._rows() if row["conversation"] == key]

    def turns(self, conversation: str) -> list[tuple[str, str]]:
        """What was said in a conversation, as the graph takes its history."""
        return [
            turn
            for row in self._runs.rows.values()
            if row["conversation"] == conversation
            for turn in (
                ("user", row["output"]["question"]),
                ("assistant", row["output"]["answer"]),
            )
        ]

    async def vote(self, key: str, right: bool | None) -> None:
        """Keep what a person says of an answer; None takes it back.

        Raises:
            InputError: There is no such run.
        """
        self._row(key)
        await self._votes.aappend([{"key": key, "right": right}])

    def judged(self) -> list[tuple[Answer, bool]]:
        """Every answer that a person has judged."""
        return [
            (answer_of(self._runs.rows[key]["output"]), row["right"])
            for key, row in list(self._votes.rows.items())
            if row["right"] is not None and key in self._runs.rows
        ]

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
            "decided": answer_of(output).decision.action,
            "rounds": len(output["rounds"]),
            "stop_reason": output["stop_reason"],
            "calls": spent.calls,
            "tokens": spent.total_tokens,
            "estimated": spent.estimated,
            "right": self._right(row["key"]),
        }
