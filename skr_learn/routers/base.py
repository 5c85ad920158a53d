"""QuestionRouter: what the routers that look at a question alone have in common."""

from __future__ import annotations

import asyncio
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, fields, replace
from hashlib import blake2b
from itertools import compress
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from skr_core.errors import InputError, StampMismatch
from skr_core.flow import Flow, arun, call, run
from skr_core.prompts.asking import checked_question
from skr_core.routers.saving import SavedRouter, embedder_stamp
from skr_core.texts import encodable
from skr_core.types import ACTIONS, Action, Decision, Neighbour, Stamp
from skr_learn.records import Record, question_key

if TYPE_CHECKING:
    from skr_core.ports import Embedder, LanguageModel, Retriever

Arrays = Mapping[str, NDArray[Any]]
Floats = NDArray[np.float64]

_RETRIEVING = ACTIONS[1:]
_CHECKED = ("model", "retriever", "metric")
"""Fields of a stamp in which records that are added must agree with the router."""


@dataclass(frozen=True)
class Learnt:
    """What a router keeps of its records.

    Attributes:
        texts: The questions that count, n of them.
        benefit: Their scores with retrieval minus those without, shape (n,).
        action: The action that retrieving is, ``single`` or ``loop``.
        stamp: What the records were made with.
        questions: Hashes of all questions: see `question_hashes`.

    Example:
        >>> record = Record.of("Who?", direct=("Bob", 0), loop=("Ada", 1))
        >>> Learnt.of([record], informative=True).benefit.tolist()
        [1.0]
    """

    texts: tuple[str, ...]
    benefit: Floats
    action: Action
    stamp: Stamp
    questions: frozenset[str]

    def __post_init__(self) -> None:
        if self.benefit.shape != (len(self.texts),) or not np.isfinite(self.benefit).all():
            raise ValueError("there is not one benefit for each question")
        if self.action not in _RETRIEVING:
            raise ValueError(f"no router retrieves by {self.action!r}")
        if not self.texts:
            raise InputError("no answer is right on any record, so nothing is known")

    @classmethod
    def of(cls, records: Sequence[Record], *, informative: bool) -> Self:
        """Read records.

        Args:
            records: The records.
            informative: Whether those that no answer got right are left out (SKR §3.1).

        Raises:
            InputError: None of them counts, or they lack an action: see `best_action`.
        """
        action = best_action(records)
        texts, benefit = _measured(records, action, informative)
        return cls(
            texts, benefit, action, shared_stamp(records), frozenset(question_hashes(records))
        )

    @property
    def unknown(self) -> NDArray[np.bool_]:
        """Which direct answers are worse than the ones with retrieval (SKR equation 4)."""
        return self.benefit > 0


class QuestionRouter(ABC):
    """A router that gives each question one score and retrieves where it is above a threshold.

    It asks no model, so a decision costs at most the embedding of the question. Make one with
    `fit` of a subclass.

    Attributes:
        kind: The name that its class is registered by.
        threshold: The score above which retrieval happens.
        embedder: Turns questions into vectors; None for a router that reads them itself.
    """

    kind: ClassVar[str]

    def __init__(
        self, learnt: Learnt, *, threshold: float, embedder: Embedder | None = None
    ) -> None:
        if not math.isfinite(threshold):
            raise ValueError(f"no score is above or below {threshold!r}")
        self._learnt, self.threshold, self.embedder = learnt, float(threshold), embedder

    @abstractmethod
    def _judge(self, given: Any) -> tuple[Floats, Any]:
        """Score n questions.

        Args:
            given: Their vectors, shape (n, d), or without an embedder their texts.

        Returns:
            The scores, shape (n,), and whatever `_explain` needs besides.
        """

    @abstractmethod
    def _learn(self, learnt: Learnt, kept: NDArray[np.bool_]) -> None:
        """Learn more.

        Args:
            learnt: The earlier questions that are kept, and the new ones behind them.
            kept: Which of the earlier ones these are.
        """

    @abstractmethod
    def _state(self) -> tuple[dict[str, Any], Arrays]:
        """Return the parameters and arrays for a file, beside those that every router has."""

    @classmethod
    @abstractmethod
    def _restored(cls, parameters: Mapping[str, Any], arrays: Arrays, **common: Any) -> Self:
        """Make a router from what `_state` returned and the arguments of this constructor."""

    def _explain(self, score: float, evidence: Any) -> tuple[str, tuple[Neighbour, ...]]:
        """Return one sentence on the one question that was judged, and its neighbours."""
        reason = (
            f"searching is needed with a chance of {score:.0%}, "
            f"and is done above {self.threshold:.0%}"
        )
        return reason, ()

    @property
    def action(self) -> Action:
        """The action that retrieving is: the best retrieving one on the records."""
        return self._learnt.action

    @property
    def stamp(self) -> Stamp:
        """What the records were made with."""
        return self._learnt.stamp

    @property
    def questions(self) -> frozenset[str]:
        """Hashes of the questions it was fitted on: see `question_hashes`."""
        return self._learnt.questions

    def scores(self, questions: Sequence[str]) -> Floats:
        """Score many questions at once, shape (n,): the higher, the more retrieval helps."""
        return run(self._judged(questions))[0]

    async def ascores(self, questions: Sequence[str]) -> Floats:
        """Async version of `scores`."""
        return (await arun(self._judged(questions)))[0]

    def decide(self, question: str) -> Decision:
        """Decide with blocking calls.

        Raises:
            InputError: The question is empty.
        """
        return run(self._decision(checked_question(question)))

    async def adecide(self, question: str) -> Decision:
        """Async version of `decide`."""
        return await arun(self._decision(checked_question(question)))

    def with_threshold(self, threshold: float) -> Self:
        """Return a copy that retrieves above another threshold."""
        other = copy(self)
        other.threshold = threshold
        return other

    def update(self, records: Sequence[Record], *, force: bool = False) -> None:
        """Learn from more records, each in place of an earlier one of the same question.

        The threshold stays; calibrate anew when much has been added. Nothing is changed on the disk
        until `save` is called.

        Args:
            records: Records made with the same model, retriever and metric.
            force: Whether they are taken although they were made with others.

        Raises:
            InputError: No answer is right on any record that would be left.
            StampMismatch: They were made with others.
        """
        stamp, old = shared_stamp(records), self._learnt
        for name in () if force else _CHECKED:
            mine, theirs = getattr(self.stamp, name), getattr(stamp, name)
            if mine and theirs and mine != theirs:
                raise StampMismatch(
                    f"these records were made with the {name} {theirs!r}, the router with {mine!r}"
                )
        asked = {question_key(record.question) for record in records}
        kept = np.array([question_key(text) not in asked for text in old.texts], dtype=bool)
        texts, benefit = _measured(records, self.action, self._informative)
        learnt = replace(
            old,
            texts=(*compress(old.texts, kept), *texts),
            benefit=np.concatenate([old.benefit[kept], benefit]),
            questions=old.questions | frozenset(question_hashes(records)),
        )
        self._learn(learnt, kept)
        self._learnt = learnt

    def save(self, path: str | Path) -> None:
        """Write the router to one file, which replaces what was there as a whole."""
        parameters, arrays = self._state()
        texts = [encodable(text) for text in self._learnt.texts]
        common = {"action": self.action, "threshold": self.threshold, "texts": texts}
        SavedRouter(
            kind=self.kind,
            parameters={**common, **parameters},
            arrays={"benefit": self._learnt.benefit, **arrays},
            stamp=self.stamp,
            embedder={} if self.embedder is None else embedder_stamp(self.embedder),
            questions=tuple(sorted(self.questions)),
        ).write(path)

    @classmethod
    def load(
        cls,
        path: str | Path | SavedRouter,
        *,
        model: LanguageModel | None = None,
        retriever: Retriever | None = None,
        embedder: Embedder | None = None,
        force: bool = False,
    ) -> Self:
        """Read a router that `save` wrote.

        Args:
            path: The file, or what was read of it.
            model: The model that will answer; compared with the router's.
            retriever: The retriever that will search; compared with the router's.
            embedder: The user's own, needed where the router was fitted with one.
            force: Whether it is loaded although it was made with another model, retriever or
                embedder.

        Raises:
            InputError: There is no such router, or it needs an embedder.
            DataError: The file is broken.
            StampMismatch: It was made with another model, retriever or embedder.
        """
        saved = SavedRouter.read(path, cls.kind)
        made_with = saved.embedder_beside(model, retriever, embedder, force=force)
        with saved.unpacking():
            parameters, arrays = saved.parameters, dict(saved.arrays)
            learnt = Learnt(
                tuple(map(str, parameters["texts"])),
                arrays.pop("benefit").astype(np.float64),
                parameters["action"],
                saved.stamp,
                frozenset(saved.questions),
            )
            common = {"threshold": parameters["threshold"], "embedder": made_with}
            return cls._restored(parameters, arrays, learnt=learnt, **common)

    @property
    def _informative(self) -> bool:
        """Whether records that no answer got right do not count."""
        return True

    def _judged(self, questions: Sequence[str]) -> Flow[tuple[Floats, Any]]:
        given: Any = list(questions)
        if self.embedder is not None:
            given = yield from call(self.embedder.embed, self.embedder.aembed, given)
        return (yield from call(self._judge, self._ajudge, given))

    async def _ajudge(self, given: Any) -> tuple[Floats, Any]:
        # Work for the processor, which must not hold up an event loop.
        return await asyncio.to_thread(self._judge, given)

    def _decision(self, question: str) -> Flow[Decision]:
        scores, evidence = yield from self._judged([question])
        score = float(scores[0])
        retrieve = score > self.threshold
        reason, neighbours = self._explain(score, evidence)
        return Decision(
            retrieve=retrieve,
            max_rounds=1 if retrieve and self.action == "single" else None,
            score=score,
            threshold=self.threshold,
            reason=reason,
            neighbours=neighbours,
        )


def best_action(records: Sequence[Record]) -> Action:
    """Return the retrieving action of highest mean score; of equal ones ``single``, the cheaper.

    Raises:
        InputError: There is no record, or they do not all hold the direct answer and an action.

    Example:
        >>> best_action([Record.of("Who?", direct=("Bob", 0), single=("Ada", 1), loop=("Ada", 1))])
        'single'
    """
    if not records:
        raise InputError("a router is fitted on records; none were given")
    held = [action for action in ACTIONS if all(action in each.outcomes for each in records)]
    if len(held) < 2 or held[0] != "direct":
        raise InputError(
            "a router is fitted on records that all hold the direct answer and that of single or "
            f"of loop; what these all hold is {', '.join(held) or 'nothing'}"
        )
    return max(held[1:], key=lambda action: fmean(each.outcomes[action].score for each in records))


def question_hashes(records: Iterable[Record]) -> tuple[str, ...]:
    """Return what a saved router keeps of the questions it was fitted on: sorted, each once.

    Example:
        >>> asked = [Record.of(text, direct=("", 0), loop=("", 1)) for text in ("Who?", "who?")]
        >>> question_hashes(asked)
        ('a109daa7fbe2e019',)
    """
    return tuple(sorted({hash_of_question(record.question) for record in records}))


def hash_of_question(question: str) -> str:
    """Return the short hash of a question, the same in whatever case it is written.

    Example:
        >>> hash_of_question("Who?") == hash_of_question("who? ")
        True
    """
    return blake2b(question_key(question).encode(), digest_size=8).hexdigest()


def shared_stamp(records: Sequence[Record]) -> Stamp:
    """Return what all records were made with; a field in which they differ is empty.

    Example:
        >>> answers = {"direct": ("", 0), "single": ("", 0)}
        >>> a = Record.of("a?", stamp=Stamp(model="m", retriever="r"), **answers)
        >>> b = Record.of("b?", stamp=Stamp(model="m", retriever="s"), **answers)
        >>> shared_stamp([a, b]).model, shared_stamp([a, b]).retriever
        ('m', '')
    """
    values = {f.name: {getattr(each.stamp, f.name) for each in records} for f in fields(Stamp)}
    return Stamp(**{name: min(found) for name, found in values.items() if len(found) == 1})


def _measured(
    records: Iterable[Record], action: Action, informative: bool
) -> tuple[tuple[str, ...], Floats]:
    """Return the questions that hold the action, and what it did to their scores."""
    texts, benefits = [], []
    for record in records:
        retrieved = record.outcomes.get(action)
        if retrieved is None and record.extra.get("imputed") in _RETRIEVING:
            retrieved = record.retrieved  # feedback on a direct answer: of any that retrieves
        if retrieved is None or "direct" not in record.outcomes:
            continue
        if record.direct.score or retrieved.score or not informative:
            texts.append(record.question)
            benefits.append(retrieved.score - record.direct.score)
    return tuple(texts), np.array(benefits, dtype=np.float64)
