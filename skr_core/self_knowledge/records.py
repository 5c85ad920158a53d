"""The records of self-knowledge, and the file that holds them: one JSON object a line."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import orjson

from skr_core.errors import DataError, StampMismatch
from skr_core.files import read_jsonl
from skr_core.types import Effect

OnSkipped = Callable[[DataError], None]
"""Told of each line that is left out."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a record was made with; records of different stamps cannot be compared.

    Attributes:
        model: The language model's name.
        retriever: The retriever's name.
        corpus: What was searched, as its collector calls it.
        prompt_version: `skr_core.prompts.templates.PROMPT_VERSION` and the demonstrations' hash.
        metric: What the scores measure.
    """

    model: str = ""
    retriever: str = ""
    corpus: str = ""
    prompt_version: str = ""
    metric: str = ""


@dataclass(frozen=True, slots=True)
class SelfKnowledge:
    """One question answered without and with references, judged (SKR §3.1, equations 1 to 4).

    Attributes:
        question: The training question.
        gold: Its right answers.
        direct_answer: Given without references.
        augmented_answer: Given with what the retriever found.
        direct_score: Of the direct answer, 0 to 1.
        augmented_score: Of the augmented answer, 0 to 1.
        stamp: What it was made with.
        extra: Anything else that was recorded, such as usage.

    Example:
        >>> record = SelfKnowledge("Who?", ("Ada",), "Bob", "Ada [1].", 0.0, 1.0)
        >>> record.effect, record.benefit, record.known
        ('helps', 1.0, False)
    """

    question: str
    gold: tuple[str, ...]
    direct_answer: str
    augmented_answer: str
    direct_score: float
    augmented_score: float
    stamp: Stamp = Stamp()
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def benefit(self) -> float:
        """Augmented minus direct score, -1 to 1."""
        return self.augmented_score - self.direct_score

    @property
    def effect(self) -> Effect:
        """What retrieval did to the score."""
        if self.augmented_score == self.direct_score:
            return "same"
        return "helps" if self.augmented_score > self.direct_score else "hurts"

    @property
    def known(self) -> bool:
        """Whether the direct answer is at least as good (SKR equation 4)."""
        return self.direct_score >= self.augmented_score

    @property
    def both_wrong(self) -> bool:
        """Whether neither answer has any merit; known by equation 4 alone, dropped by SKR."""
        return self.direct_score == self.augmented_score == 0


def read_self_knowledge(
    path: str | Path,
    *,
    skip_bad: bool = False,
    mixed_stamps: bool = False,
    on_skipped: OnSkipped | None = None,
) -> list[SelfKnowledge]:
    """Read records, plain or gzip-compressed.

    A line is either what `write_self_knowledge` writes, or a pair of recorded answers:
    ``question``, ``gold``, ``answer_direct``, ``answer_retrieved``, ``correct_direct``,
    ``correct_retrieved``, and where known ``model``, ``retriever`` and ``extra``. A pair that was
    never judged on one side (a null) compares nothing and counts as a bad line.

    Args:
        path: The file.
        skip_bad: Leave out bad lines instead of raising.
        mixed_stamps: Allow records that were not all made with the same.
        on_skipped: Told of each bad line that is left out.

    Raises:
        InputError: There is no such file.
        DataError: A line is bad, or none is a record.
        StampMismatch: The records were made with different models, retrievers or metrics.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "pairs.jsonl"
        >>> row = {"question": "Who?", "gold": ["Ada"], "answer_direct": "Bob",
        ...        "answer_retrieved": "Ada", "correct_direct": False, "correct_retrieved": True}
        >>> _ = path.write_bytes(orjson.dumps(row))
        >>> read_self_knowledge(path)[0].benefit
        1.0
    """
    records = list(_read(Path(path), skip_bad, on_skipped))
    if not records:
        raise DataError(path, None, "there is no record of self-knowledge in this file")
    if not mixed_stamps:
        check_same_stamp([record.stamp for record in records], path)
    return records


def write_self_knowledge(path: str | Path, records: Iterable[SelfKnowledge]) -> None:
    """Write records to a new file, gzip-compressed where its name ends in ``.gz``.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "records.jsonl"
        >>> write_self_knowledge(path, [SelfKnowledge("Who?", ("Ada",), "Ada", "Bob", 1.0, 0.0)])
        >>> read_self_knowledge(path)[0].effect
        'hurts'
    """
    path = Path(path)
    with gzip.open(path, "wb") if path.suffix == ".gz" else path.open("wb") as file:
        file.writelines(record_line(record) for record in records)


def record_line(record: SelfKnowledge) -> bytes:
    """A record as one line; `effect` and `both_wrong` are written for human readers alone.

    Example:
        >>> b'"effect":"same"' in record_line(SelfKnowledge("Who?", (), "Ada", "Ada", 1.0, 1.0))
        True
    """
    row = {
        "question": record.question,
        "gold": list(record.gold),
        "direct_answer": record.direct_answer,
        "augmented_answer": record.augmented_answer,
        "direct_score": record.direct_score,
        "augmented_score": record.augmented_score,
        "effect": record.effect,
        "both_wrong": record.both_wrong,
        "stamp": asdict(record.stamp),
        "extra": dict(record.extra),
    }
    return orjson.dumps(encodable(row), option=orjson.OPT_APPEND_NEWLINE)


def check_same_stamp(stamps: Sequence[Stamp], source: str | Path) -> None:
    """Refuse records that were made with different things.

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
                "compare: keep those of one, or allow mixed stamps"
            )


def encodable(value: Any) -> Any:
    """The value with what UTF-8 cannot hold (lone surrogates of model output) replaced.

    Example:
        >>> encodable({"said": ["Paris" + chr(0xD800)]})
        {'said': ['Paris?']}
    """
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {encodable(str(key)): encodable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [encodable(each) for each in value]
    return value


def _read(path: Path, skip_bad: bool, on_skipped: OnSkipped | None) -> Iterator[SelfKnowledge]:
    for number, row in read_jsonl(path, skip_bad=skip_bad):
        try:
            yield _record(path, number, row)
        except DataError as error:
            if not skip_bad:
                raise
            if on_skipped is not None:
                on_skipped(error)


def _record(path: Path, number: int, row: Mapping[str, Any]) -> SelfKnowledge:
    pair = "answer_direct" in row
    names = _PAIR if pair else _OWN

    def wrong(name: str, what: str) -> DataError:
        return DataError(path, number, f'the field "{name}" must be {what}')

    def text(name: str) -> str:
        value = row.get(name)
        if value is None and pair:  # a recorded model that said nothing
            return ""
        if not isinstance(value, str):
            raise wrong(name, "a text")
        return value

    def score(name: str) -> float:
        value = row.get(name)
        if not isinstance(value, bool | int | float) or not 0 <= value <= 1:
            raise wrong(name, f"a number from 0 to 1, not {value!r}")
        return float(value)

    question = row.get("question")
    if not isinstance(question, str) or not question.strip():
        raise wrong("question", "a text that is not empty")
    gold = row.get("gold") or ()
    gold = (gold,) if isinstance(gold, str) else gold
    if not isinstance(gold, list | tuple) or not all(isinstance(each, str) for each in gold):
        raise wrong("gold", "a list of texts")
    stamped = row if pair else row.get("stamp")
    stamped = stamped if isinstance(stamped, Mapping) else {}
    extra = row.get("extra")
    extra = dict(extra) if isinstance(extra, Mapping) else {}
    if pair:
        extra |= {name: row[name] for name in _PAIR_EXTRA if name in row}
    return SelfKnowledge(
        question=question.strip(),
        gold=tuple(gold),
        direct_answer=text(names[0]),
        augmented_answer=text(names[1]),
        direct_score=score(names[2]),
        augmented_score=score(names[3]),
        stamp=Stamp(**{each.name: str(stamped.get(each.name) or "") for each in fields(Stamp)}),
        extra=extra,
    )


_OWN = ("direct_answer", "augmented_answer", "direct_score", "augmented_score")
_PAIR = ("answer_direct", "answer_retrieved", "correct_direct", "correct_retrieved")
_PAIR_EXTRA = ("id", "source", "confidence_raw", "passages")
