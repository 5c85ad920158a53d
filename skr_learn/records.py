"""Records of what each action answered, and the file that holds them: one JSON object a line.

A record holds one question's outcomes by action: what the system answered, whether it was right,
and what it cost, without retrieval (``direct``), after one round (``single``) and after as many
rounds as it took (``loop``).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from skr_core.candidates import CandidateAnswer, Confirmation, Standing
from skr_core.errors import DataError, InputError, StampMismatch
from skr_core.files import frame_of, write_rows
from skr_core.references.citations import without_markers
from skr_core.replies.refusals import without_notice
from skr_core.rivals import plain_text
from skr_core.texts import encodable
from skr_core.types import ACTIONS, NO_USAGE, Action, Answer, Effect, Stamp, Usage
from skr_learn.features.views import Seen

if TYPE_CHECKING:
    from pandas import DataFrame

SHOWN = 10
"""Of the values of a field, that an error names."""


@dataclass(frozen=True, slots=True)
class Draft:
    """What a round of the loop drafted, whether it was right, and how it stands by itself.

    Attributes:
        text: The draft, with its markers.
        score: 0 to 1, by the metric of the stamp.
        grounded: Whether it cites a reference.
        standing: How it stands in the references of its prompt.
    """

    text: str
    score: float
    grounded: bool
    standing: Standing

    @property
    def candidate(self) -> CandidateAnswer:
        """The draft as a reflector sees it; its score is not looked at."""
        text = without_markers(plain_text(self.text))
        return CandidateAnswer(text, grounded=self.grounded, standing=self.standing)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one action answered, whether it was right, and what it cost.

    Attributes:
        answer: Its text.
        score: 0 to 1, by the metric of the stamp.
        usage: Calls and tokens; None where nobody counted them.
        retrievals: Searches; None where nobody counted them.
        rounds: Rounds of retrieval.
        stop_reason: Why the loop ended; empty where it is not known.
        reasoning: The chain of thought before the answer, where there is one: for people who read
            the records. Nothing learns from it, as a served answer comes without.
        logprob: Mean natural-log probability of the answer's tokens, where it is known.
        certain: What the model said of its certainty, for people as well; None where it was not
            asked or said neither.
        grounded: Whether the answer rests on references; None where that is not known.
        standing: How the direct answer and this one stand in its references; None as above.
        confirmation: Of the direct answer, how it stands in what the first search found; None as
            above.
        drafts: Of the loop, what its rounds drafted, but for refusals.
    """

    answer: str
    score: float
    usage: Usage | None = None
    retrievals: float | None = None
    rounds: int = 0
    stop_reason: str = ""
    reasoning: str = ""
    logprob: float | None = None
    certain: bool | None = None
    grounded: bool | None = None
    standing: Standing | None = None
    confirmation: Confirmation | None = None
    drafts: tuple[Draft, ...] = ()

    @classmethod
    def of(cls, answer: Answer, score: float) -> Outcome:
        """Make the outcome of an answer and its score."""
        return cls(
            answer.text,
            score,
            answer.total_usage.uncached,
            retrievals=float(sum(len(round_.queries) for round_ in answer.rounds)),
            rounds=len(answer.rounds),
            stop_reason=answer.stop_reason,
            logprob=answer.logprob,
            grounded=answer.grounded if answer.decision.retrieve else None,
        )

    @property
    def candidate(self) -> CandidateAnswer:
        """The answer as whoever chooses among several sees it; its score is not looked at."""
        text = without_markers(plain_text(without_notice(self.answer)))
        return CandidateAnswer(text, self.logprob, self.grounded, self.standing, self.confirmation)


@dataclass(frozen=True, slots=True)
class Statement:
    """What a router that asks the model itself decided on a question, while records were collected.

    Attributes:
        retrieve: Its decision, at its own threshold.
        score: Its score, where it has one.
        usage: What asking cost.
        draft: The direct answer it would have served; empty where it made none.
        draft_score: Of the draft, 0 to 1; None without a draft.
    """

    retrieve: bool
    score: float | None = None
    usage: Usage = NO_USAGE
    draft: str = ""
    draft_score: float | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """One question and what each action made of it (SKR §3.1, equations 1 to 4).

    Attributes:
        question: As it was put to the model, options included.
        gold: Its right answers.
        outcomes: By action; ``direct`` and at least one that retrieves.
        stamp: What it was made with.
        statements: By the name of the router that asked, such as ``confidence:punish_explain``.
        extra: Anything else that was recorded.

    Example:
        >>> record = Record.of("Who?", ["Ada"], direct=("Bob", 0), single=("Ada [1].", 1))
        >>> record.effect, record.benefit, record.known
        ('helps', 1.0, False)
    """

    question: str
    gold: tuple[str, ...]
    outcomes: Mapping[Action, Outcome]
    stamp: Stamp = Stamp()
    statements: Mapping[str, Statement] = field(default_factory=dict, hash=False)
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @classmethod
    def of(
        cls,
        question: str,
        gold: Sequence[str] = (),
        *,
        stamp: Stamp = Stamp(),
        extra: Mapping[str, Any] | None = None,
        **outcomes: tuple[str, float],
    ) -> Record:
        """Make a record of answers and scores alone, as tests and examples want it.

        Args:
            question: As it was put.
            gold: Its right answers.
            stamp: What it was made with.
            extra: Anything else.
            **outcomes: ``direct``, ``single`` and ``loop``, each an answer and its score.

        Example:
            >>> Record.of("Who?", direct=("Ada", 1.0), loop=("Bob", 0.0)).effect
            'hurts'
        """
        made: dict[Action, Outcome] = {
            action: Outcome(outcomes[action][0], float(outcomes[action][1]))
            for action in ACTIONS
            if action in outcomes
        }
        return cls(question, tuple(gold), made, stamp, extra=dict(extra or {}))

    def seen(self, actions: Sequence[Action]) -> Seen:
        """Return what was known when these actions had been taken, as a served system knows it."""
        return Seen(self.question, tuple(self.outcomes[action].candidate for action in actions))

    def value(self, path: str) -> Any:
        """Return a field by its path, such as ``extra.dataset`` or ``dataset``; None if missing.

        Example:
            >>> answers = {"direct": ("", 0), "single": ("", 1)}
            >>> record = Record.of("a?", extra={"id": "7"}, **answers)
            >>> record.value("id"), record.value("extra.id"), record.value("stamp.model")
            ('7', '7', '')
        """
        first, _, rest = path.partition(".")
        named = first in ("question", "gold", "stamp", "extra")
        found: Any = getattr(self, first) if named else self.extra.get(first)
        for name in filter(None, rest.split(".")):
            found = found.get(name) if isinstance(found, dict) else getattr(found, name, None)
        return found

    @property
    def direct(self) -> Outcome:
        """The answer without references."""
        return self.outcomes["direct"]

    @property
    def retrieved(self) -> Outcome:
        """The answer of always retrieving: ``loop`` where it is on record, else ``single``."""
        return self.outcomes["loop" if "loop" in self.outcomes else "single"]

    @property
    def benefit(self) -> float:
        """Score with retrieval minus score without, -1 to 1."""
        return self.retrieved.score - self.direct.score

    @property
    def effect(self) -> Effect:
        """What retrieval did to the score."""
        if self.benefit == 0:
            return "same"
        return "helps" if self.benefit > 0 else "hurts"

    @property
    def known(self) -> bool:
        """Whether the direct answer is at least as good (SKR equation 4)."""
        return self.benefit <= 0

    @property
    def all_wrong(self) -> bool:
        """Whether no answer has any merit; known by equation 4 alone, dropped by SKR."""
        return all(outcome.score == 0 for outcome in self.outcomes.values())


class Records(Sequence[Record]):
    """Records as one value: what a file of them holds. It is never changed in place.

    Args:
        records: The records, in their order.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "records.jsonl"
        >>> records = Records([Record.of("Who?", direct=("Ada", 1), single=("Bob", 0))])
        >>> records.write(path)
        >>> Records.read(path) == records, len(records), records[0].question
        (True, 1, 'Who?')
    """

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._records = tuple(records)

    @classmethod
    def read(
        cls,
        path: Any,
        *,
        skip_bad: bool = False,
        on_skipped: Callable[[DataError], None] | None = None,
        mixed_stamps: bool = False,
    ) -> Records:
        """Read records of a file, plain or gzip-compressed, or of a DataFrame.

        A row is any that `skr_learn.formats` knows.

        Args:
            path: The file: JSON Lines, or by the end of its name JSON or Parquet; or a DataFrame.
            skip_bad: Leave out bad lines instead of raising.
            on_skipped: Told of each bad line that is left out.
            mixed_stamps: Allow records that were not all made with the same.

        Raises:
            InputError: There is no such file.
            DataError: A line is bad, or none is a record.
            StampMismatch: The records were made with different models, retrievers or metrics.

        Example:
            >>> import json, tempfile
            >>> path = Path(tempfile.mkdtemp()) / "pairs.jsonl"
            >>> row = {"question": "Who?", "gold": ["Ada"], "answer_direct": "Bob",
            ...        "answer_retrieved": "Ada", "correct_direct": 0, "correct_retrieved": 1}
            >>> _ = path.write_text(json.dumps(row))
            >>> Records.read(path)[0].benefit
            1.0
        """
        from skr_learn.formats import read_records  # which makes records of what it reads

        records = cls(read_records(path, skip_bad=skip_bad, on_skipped=on_skipped))
        name = path if isinstance(path, str | Path) else type(path).__name__
        if not records:
            raise DataError(name, None, "there is no record of answers in this file")
        if not mixed_stamps:
            stamps = [each.stamp for each in records]
            check_same_stamp(stamps, name, "read them with mixed_stamps=True")
        return records

    def write(self, path: str | Path) -> None:
        """Write them to a file as a whole: JSON Lines (also ``.gz``), or ``.parquet``."""
        write_rows(path, map(row_of, self))

    def to_frame(self) -> DataFrame:
        """Return them as a DataFrame: each value has a column, as ``outcomes.direct.score``.

        Raises:
            MissingDependency: It takes ``skr-rag[formats]``.

        Example:
            >>> frame = Records([Record.of("Who?", direct=("Ada", 1), single=("", 0))]).to_frame()
            >>> frame["outcomes.direct.score"].mean()
            np.float64(1.0)
        """
        return frame_of(map(row_of, self))

    def where(self, **values: Any) -> Records:
        """Return those that have these values, in the stamp or in ``extra``.

        Args:
            **values: By the name of a field, such as ``model="gpt-4.1"`` or ``source="nq"``.

        Raises:
            InputError: None has them; the message names the values that there are.

        Example:
            >>> record = Record.of("Who?", direct=("", 0), single=("", 1), extra={"source": "nq"})
            >>> len(Records([record]).where(source="nq"))
            1
        """
        kept = self._records
        for name, value in values.items():
            found = [_value_of(each, name) for each in kept]
            if value not in found:
                there = sorted({f"{each!r:.60}" for each in found if each is not None})
                more = ", ..." if len(there) > SHOWN else ""
                told = ", ".join(there[:SHOWN]) + more or "no such field"
                raise InputError(f"no record has {name}={value!r}: there is {told}")
            kept = tuple(each for each, own in zip(kept, found, strict=True) if own == value)
        return Records(kept)

    @property
    def keys(self) -> frozenset[str]:
        """What tells their questions apart (`question_key`)."""
        return frozenset(question_key(each.question) for each in self)

    @property
    def stamp(self) -> Stamp:
        """What they were all made with; empty where there are none.

        Raises:
            StampMismatch: They were made with different things.
        """
        check_same_stamp([each.stamp for each in self], "these records")
        return self[0].stamp if self else Stamp()

    @overload
    def __getitem__(self, place: int) -> Record: ...
    @overload
    def __getitem__(self, place: slice) -> Records: ...
    def __getitem__(self, place: int | slice) -> Record | Records:
        """One of them, or those of a slice."""
        return Records(self._records[place]) if isinstance(place, slice) else self._records[place]

    def __len__(self) -> int:
        """How many there are."""
        return len(self._records)

    def __eq__(self, other: object) -> bool:
        """Whether the other, a plain list too, holds the same records in the same order."""
        return isinstance(other, Sequence) and self._records == tuple(other)

    def __repr__(self) -> str:
        """How many there are; a thousand records are no line of text."""
        return f"Records({len(self)} of {len(self.keys)} questions)"


def _value_of(record: Record, name: str) -> Any:
    return getattr(record.stamp, name, None) or record.extra.get(name)


def row_of(record: Record) -> dict[str, Any]:
    """A record as plain values; `effect` is written for human readers alone.

    Example:
        >>> row_of(Record.of("Who?", direct=("Ada", 1), single=("Ada", 1)))["effect"]
        'same'
    """
    return {
        "question": record.question,
        "gold": list(record.gold),
        "effect": record.effect,
        "outcomes": {action: asdict(outcome) for action, outcome in record.outcomes.items()},
        "statements": {name: asdict(said) for name, said in record.statements.items()},
        "stamp": asdict(record.stamp),
        "extra": dict(record.extra),
    }


def question_key(question: str) -> str:
    """What makes two questions the same: their words, whatever the case and the space between.

    Example:
        >>> question_key("Who  wrote Emma?") == question_key("who wrote emma? ")
        True
    """
    return " ".join(encodable(question).casefold().split())


def check_same_stamp(stamps: Sequence[Stamp], source: str | Path, instead: str = "") -> None:
    """Refuse records that were made with different things.

    Args:
        stamps: Of the records.
        source: Where they are.
        instead: What else can be done than to keep those of one.

    Raises:
        StampMismatch: Two stamps differ; the message names the field and its values.

    Example:
        >>> check_same_stamp([Stamp(model="a"), Stamp(model="a", retriever="")], "records.jsonl")
    """
    for each in fields(Stamp):
        values = sorted({getattr(stamp, each.name) for stamp in stamps})
        if len(values) > 1:
            raise StampMismatch(
                f"{source}: the records differ in their {each.name} "
                f"({', '.join(repr(value) for value in values)}), so their scores do not "
                f"compare: keep those of one{instead and f', or {instead}'}"
            )


def question_groups(records: Sequence[Record]) -> NDArray[np.int64]:
    """Return a number for each record; those of equal questions are equal, shape (n,).

    Example:
        >>> answers = {"direct": ("", 0), "single": ("", 1)}
        >>> question_groups([Record.of(each, **answers) for each in ("B?", "a?", "b?")]).tolist()
        [1, 0, 1]
    """
    keys = [question_key(record.question) for record in records]
    groups: NDArray[np.int64] = np.unique(keys, return_inverse=True)[1]
    return groups


def values_of(records: Sequence[Record], path: str) -> NDArray[np.str_]:
    """Return a field of each record as text, for making groups of them, shape (n,).

    Args:
        records: n records.
        path: The field, as `Record.value` takes it.

    Raises:
        InputError: No record has the field.

    Example:
        >>> answers = {"direct": ("", 0), "single": ("", 1)}
        >>> values_of([Record.of("a?", extra={"set": "nq"}, **answers)], "set").tolist()
        ['nq']
    """
    values = [record.value(path) for record in records]
    if all(value is None for value in values):
        raise InputError(f"no record has the field {path}")
    return np.array([str(value) for value in values])


def in_fixed_order(records: Iterable[Record]) -> list[Record]:
    """The records in an order that depends on what they hold alone.

    `collect` writes a record when its question has been answered, so that no two collections have
    the same order; and what is drawn at random, such as the rows that a tree is fitted on, is drawn
    by place. The order is that of a hash of the questions, which is as good as a shuffle. Records
    of the same question stand together.

    Example:
        >>> who, when = (Record.of(each, direct=("", 0), single=("", 1))
        ...              for each in ("Who?", "When?"))
        >>> in_fixed_order([who, when]) == in_fixed_order([when, who])
        True
    """
    kept = list(records)
    keys = [question_key(each.question) for each in kept]
    times = Counter(keys)

    def place(number: int) -> tuple[bytes, str]:
        key = keys[number]
        whole = repr(kept[number]) if times[key] > 1 else ""
        return hashlib.blake2b(key.encode(), digest_size=16).digest(), whole

    return [kept[number] for number in sorted(range(len(kept)), key=place)]


def record_of_feedback(
    output: object,
    right: float,
    *,
    expected_other: float,
    gold: Sequence[str] = (),
    stamp: Stamp = Stamp(),
) -> Record:
    """A record of one answer that was served and judged.

    Only one action was taken, so the score of the other one is what is expected of it: its mean
    over the records collected. A right answer then counts for the action that was taken, a wrong
    one against it, and the more, the less was to be expected. ``extra["imputed"]`` names the action
    whose score was not measured.

    Args:
        output: What was served: an `Answer`, or what a graph, a chain with ``return_sources=True``,
            an engine or an agent returned, see `skr_learn.outputs.answer_of_output`.
        right: Whether it is right, as somebody says of it, or its score from 0 to 1.
        expected_other: Mean score of the action that was not taken, 0 to 1: of retrieving where the
            model answered directly, of answering directly where it used references.
        gold: The right answers, where somebody gave them.
        stamp: Of the records that it joins.

    Raises:
        InputError: A score is not between 0 and 1, or the output says nothing of a question and a
            decision.

    Example:
        >>> from skr_core.types import Decision
        >>> served = Answer("Who?", "Ada", (), (), Decision(False), (), "known", {})
        >>> record = record_of_feedback(served, False, expected_other=0.6)
        >>> record.effect, record.benefit
        ('helps', 0.6)
    """
    if not 0 <= expected_other <= 1:
        raise InputError(f"expected_other must be between 0 and 1, not {expected_other}")
    if not 0 <= right <= 1:
        raise InputError(f"right must be True, False or a score between them, not {right}")
    from skr_learn.outputs import answer_of_output

    answer = answer_of_output(output)
    if not answer.question:
        raise InputError("this output does not hold its question, and a record needs one")
    taken: Action = answer.decision.action
    if answer.verdict is not None:  # the answer of another action may be what was judged
        taken = answer.verdict.served
    other: Action = "loop" if taken == "direct" else "direct"
    return Record(
        question=answer.question,
        gold=tuple(gold),
        outcomes={taken: Outcome.of(answer, float(right)), other: Outcome("", expected_other)},
        stamp=stamp,
        extra={"imputed": other, "feedback": right},
    )
