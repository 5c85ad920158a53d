"""RememberingEntailment: verdicts are kept in a file, so that none is asked for twice."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import cast

from skr_core.files import KeyedLog
from skr_core.flow import Flow, arun, call, run
from skr_core.ports import Entailment, EntailmentModel, OnProgress
from skr_core.texts import encodable

CHUNK = 64
"""Pairs judged before their verdicts are written: what a kill may cost."""


class RememberingEntailment:
    """Asks another model once for each pair; failures are not kept, so they are asked again.

    Args:
        model: Judges what the log does not hold.
        log: Of verdicts by that model.
        on_progress: Told how many of the pairs that are not known have been judged.

    Example:
        >>> from skr_app.extractive import LexicalEntailment
        >>> judge = RememberingEntailment(LexicalEntailment(), KeyedLog(None))
        >>> judge.predict([("Paris is old.", "Paris is old.")])
        ['entailment']
    """

    def __init__(
        self, model: EntailmentModel, log: KeyedLog, on_progress: OnProgress | None = None
    ) -> None:
        self._model = model
        self._log = log
        self._on_progress = on_progress

    def predict(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Entailment | None]:
        """Judge with blocking calls what is not known."""
        return run(self._judge(pairs))

    async def apredict(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Entailment | None]:
        """Judge with awaited calls what is not known."""
        return await arun(self._judge(pairs))

    def _judge(self, pairs: Sequence[tuple[str, str]]) -> Flow[list[Entailment | None]]:
        keys = {pair: self._key(pair) for pair in pairs}
        open_ = [pair for pair, key in keys.items() if key not in self._log.rows]
        for start in range(0, len(open_), CHUNK):
            chunk = open_[start : start + CHUNK]
            verdicts = yield from call(self._model.predict, self._model.apredict, chunk)
            rows = [
                {"key": keys[pair], "verdict": verdict}
                for pair, verdict in zip(chunk, verdicts, strict=True)
                if verdict is not None
            ]
            yield from call(self._log.append, self._log.aappend, rows)
            if self._on_progress is not None:
                self._on_progress(start + len(chunk), len(open_))
        return [self._verdict(keys[pair]) for pair in pairs]

    def _verdict(self, key: str) -> Entailment | None:
        row = self._log.rows.get(key)
        return cast("Entailment", row["verdict"]) if row else None

    def _key(self, pair: tuple[str, str]) -> str:
        """Of a pair and its judge: another judge is asked anew."""
        judge = getattr(self._model, "name", type(self._model).__name__)
        joined = encodable("\x00".join((judge, *pair)))
        return hashlib.blake2b(joined.encode(), digest_size=16).hexdigest()
