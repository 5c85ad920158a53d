"""Asking several systems the same questions, with a log: an interrupted run goes on.

A question that fails is counted and not kept, so that the next run asks it again.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count

from skr_core.engines.engine import Engine, Recipe
from skr_core.engines.local import LocalEngine

from skr_core.errors import ModelError, RetrieverError
from skr_core.files import KeyedLog
from skr_core.flow import Flow, call
from skr_core.plain import from_plain, to_plain
from skr_core.ports import OnProgress, QuestionAnswerer
from skr_core.questions import Question
from skr_core.types import Action, Answer

Ask = Callable[[Question], Flow[Answer]]
"""How a system is asked one question; it may use what is recorded of it, such as its contexts."""


@dataclass(frozen=True)
class System:
    """Something that answers questions, under a name.

    Attributes:
        name: The name in tables and in the log.
        ask: Answers one question.
        key: The name in the log where that differs, as of two names for one thing.
    """

    name: str
    ask: Ask = field(repr=False)
    key: str = ""

    @classmethod
    def of(
        cls, name: str, answerer: QuestionAnswerer, *, key: str = "", action: Action | None = None
    ) -> System:
        """A system that sees the question alone.

        Args:
            name: The name in tables and in the log.
            answerer: Answers the questions.
            key: The name in the log where that differs.
            action: What is done for every question; None leaves it to the answerer's router.
        """
        return cls(
            name, lambda each: call(answerer.answer, answerer.aanswer, each.asked, action), key
        )


@dataclass(frozen=True, slots=True)
class Asked:
    """One question put to one system: an answer, or the failure in words."""

    question: Question
    answer: Answer | None
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Answers:
    """What one system answered, in the order of the questions.

    Attributes:
        system: Its name.
        asked: One for each question.
        seconds: All its sessions took together.
    """

    system: str
    asked: tuple[Asked, ...]
    seconds: float

    @property
    def n_failed(self) -> int:
        """Questions without an answer."""
        return sum(each.answer is None for each in self.asked)

    @property
    def last_failure(self) -> str:
        """In words; empty where nothing failed."""
        return next((each.failure for each in reversed(self.asked) if each.failure), "")


def ask_all(
    system: System,
    questions: Sequence[Question],
    log: KeyedLog,
    *,
    concurrency: int = 8,
    on_progress: OnProgress | None = None,
    engine: Engine | None = None,
    make: Callable[[], Mapping[str, System]] | None = None,
) -> Flow[Answers]:
    """Ask a system every question that the log does not hold yet; one that occurs twice, once.

    Args:
        system: What is asked.
        questions: What it is asked.
        log: Holds what was answered before, and gets what is answered now.
        concurrency: Questions under way at a time, over all workers.
        on_progress: Told after each question.
        engine: Where the questions are asked: in this process, or on `skr_core.engines.RayEngine`.
        make: Makes systems by their names, this one among them: what each worker of an engine calls
            once, because no live client leaves a process.

    Example:
        >>> from skr_core.flow import run
        >>> from skr_core.settings import Settings
        >>> from skr_core.testing import ScriptedModel
        >>> from skr_graphs import GraphAnswerer
        >>> answerer = GraphAnswerer(Settings.of(ScriptedModel(["Paris."])))
        >>> system = System.of("never", answerer, action="direct")
        >>> run(ask_all(system, [Question("1", "Capital?", ("Paris",))], KeyedLog(None))).n_failed
        0
    """
    done, started = count(1), time.perf_counter()
    session = f"{time.time():.3f}"
    name = system.key or system.name

    wanted = {log_key(name, question): question for question in questions}
    asked = {
        key: Asked(question, from_plain(Answer, log.rows[key]["answer"]))
        for key, question in wanted.items()
        if key in log.rows
    }

    def tell() -> None:
        if on_progress is not None:
            on_progress(next(done), len(wanted))

    def keep(item: tuple[str, Question], asked: Asked) -> Flow[tuple[str, Asked]]:
        key, question = item
        if asked.answer is not None:
            line = {
                "key": key,
                "system": name,
                "id": question.id,
                "session": session,
                "elapsed": time.perf_counter() - started,
                "answer": to_plain(asked.answer),
            }
            yield from call(log.append, log.aappend, [line])
        tell()
        return key, asked

    for _ in asked:
        tell()
    systems: Mapping[str, System] = {system.name: system}
    answered = yield from (engine or LocalEngine()).map(
        Recipe(systems, make),
        partial(_ask, system.name),
        [each for each in wanted.items() if each[0] not in asked],
        keep,
        concurrency,
    )
    asked |= dict(answered)
    ordered = [replace(asked[log_key(name, each)], question=each) for each in questions]
    return Answers(system.name, tuple(ordered), _seconds(log, name))


def _ask(name: str, systems: Mapping[str, System], item: tuple[str, Question]) -> Flow[Asked]:
    question = item[1]
    try:
        answer = yield from systems[name].ask(question)
    except (ModelError, RetrieverError) as error:
        return Asked(question, None, " ".join(str(error).split()))
    return Asked(question, answer)


def log_key(system: str, question: Question) -> str:
    """What makes two askings the same: the system, and the question with all that it brings."""
    # `repr` writes a lone surrogate as an escape.
    said = repr((question.id, question.asked, question.contexts, question.supporting_titles))
    digest = hashlib.blake2b(said.encode(), digest_size=12).hexdigest()
    return f"{system}/{digest}"


def _seconds(log: KeyedLog, name: str) -> float:
    """The last answer of each session tells how long it worked for the system."""
    sessions: dict[str, float] = {}
    for row in log.rows.values():
        if row["system"] == name:
            session = str(row["session"])
            sessions[session] = max(float(row["elapsed"]), sessions.get(session, 0.0))
    return sum(sessions.values())
