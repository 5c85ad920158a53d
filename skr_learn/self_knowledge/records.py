"""The records of self-knowledge, and the file that holds them: one JSON object a line.

A record holds one question's outcomes by action: what the system answered, whether it was right,
and what it cost, without retrieval (``direct``), after one round (``single``) and after as many
rounds as it took (``loop``).
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from skr_core.candidates import Margins, Standing
from skr_core.errors import StampMismatch
from skr_core.files import json_line
from skr_core.texts import encodable
from skr_core.types import ACTIONS, NO_USAGE, Action, Effect, Stamp, Usage


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
        reasoning: The chain of thought before the answer, where there is one.
        logprob: Mean natural-log probability of the answer's tokens, where it is known.
        certain: What the model said of its certainty; None where it was not asked or said neither.
        grounded: Whether the answer rests on references; None where that is not known.
        standing: How the direct answer and this one stand in its references; None as above.
        margins: How much likelier the model finds it than the direct answer; None where no
            likelihoods were asked for.
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
    margins: Margins | None = None

    @property
    def confidence(self) -> float | None:
        """In the answer: the log-probability, else 1 or 0 as the model said, else None."""
        if self.logprob is not None or self.certain is None:
            return self.logprob
        return float(self.certain)


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
class SelfKnowledge:
    """One question and what each action made of it (SKR §3.1, equations 1 to 4).

    Attributes:
        question: As it was put to the model, options included.
        gold: Its right answers.
        outcomes: By action; ``direct`` and at least one that retrieves.
        stamp: What it was made with.
        statements: By the name of the router that asked, such as ``confidence:punish_explain``.
        extra: Anything else that was recorded.

    Example:
        >>> record = SelfKnowledge.of("Who?", ["Ada"], direct=("Bob", 0), single=("Ada [1].", 1))
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
    ) -> SelfKnowledge:
        """Make a record of answers and scores alone, as tests and examples want it.

        Args:
            question: As it was put.
            gold: Its right answers.
            stamp: What it was made with.
            extra: Anything else.
            **outcomes: ``direct``, ``single`` and ``loop``, each an answer and its score.

        Example:
            >>> SelfKnowledge.of("Who?", direct=("Ada", 1.0), loop=("Bob", 0.0)).effect
            'hurts'
        """
        made: dict[Action, Outcome] = {
            action: Outcome(outcomes[action][0], float(outcomes[action][1]))
            for action in ACTIONS
            if action in outcomes
        }
        return cls(question, tuple(gold), made, stamp, extra=dict(extra or {}))

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


def write_self_knowledge(path: str | Path, records: Iterable[SelfKnowledge]) -> None:
    """Write records to a new file, gzip-compressed where its name ends in ``.gz``.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "records.jsonl"
        >>> write_self_knowledge(path, [SelfKnowledge.of("Who?", direct=("A", 1), single=("B", 0))])
        >>> path.read_bytes().count(b"\\n")
        1
    """
    path = Path(path)
    with gzip.open(path, "wb") if path.suffix == ".gz" else path.open("wb") as file:
        file.writelines(json_line(row_of(record)) for record in records)


def row_of(record: SelfKnowledge) -> dict[str, Any]:
    """A record as plain values; `effect` is written for human readers alone.

    Example:
        >>> row_of(SelfKnowledge.of("Who?", direct=("Ada", 1), single=("Ada", 1)))["effect"]
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
