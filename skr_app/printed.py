"""What the commands print with ``--json``, as types; the page of all commands is made of them.

No command imports them. A test runs each command and compares what it prints with its type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from skr_app.commands.doctor import Check
from skr_app.report import Result
from skr_core.types import Action, Answer, Citation, Decision, Effect, Reference, Round, Usage
from skr_core.types import Verdict as Weighed
from skr_learn.curve import RoutingCurve
from skr_learn.metrics import Interval
from skr_learn.monitoring import Change
from skr_learn.replaying import Replay
from skr_learn.summary import Figures, Summary
from skr_store import IngestReport
from skr_store.database import Source
from skr_store.store import StoreStats


class Asked(TypedDict):
    """A question and its answer.

    Attributes:
        question: The question, as it was asked.
        answer: The text, with [n] markers; n counts `references` from 1.
        citations: The markers, resolved.
        references: The references that the answer was made from.
        decision: The router's decision whether to search.
        rounds: What each round searched, found, drafted and concluded.
        stop_reason: Why it ended.
        usage: What was spent, by task.
        removed_markers: The number of markers that named no reference and were taken out.
        logprob: The mean natural-log probability of a direct answer's tokens, where it is known.
        grounded: Whether the answer rests on references.
        sufficient: Whether it is held to answer the whole question.
        missing: What was found missing; may be empty.
        chance: The estimated chance that the answer is right, where one is estimated.
        verdict: Which of several answers was chosen, where a router weighed them.
        sources: The documents that are cited.
    """

    question: str
    answer: str
    citations: list[Citation]
    references: list[Reference]
    decision: Decision
    rounds: list[Round]
    stop_reason: str
    usage: dict[str, Usage]
    removed_markers: int
    logprob: float | None
    grounded: bool
    sufficient: bool
    missing: str
    chance: float | None
    verdict: NotRequired[Weighed]
    sources: NotRequired[list[CitedDocument]]


class CitedDocument(TypedDict):
    """A document that an answer cites.

    Attributes:
        document: Its name.
        passages: Its passages that are cited.
    """

    document: str
    passages: list[CitedPassage]


class CitedPassage(TypedDict):
    """A passage that an answer cites.

    Attributes:
        marker: The number that the answer cites it by.
        reference_id: The id of the reference.
        place: Where it stands in the document: heading and page, where they are known.
        quotes: The sentences that support the answer.
    """

    marker: int
    reference_id: str
    place: str
    quotes: list[str]


class Demonstrated(TypedDict):
    """What the demonstration showed.

    Attributes:
        two_hops: The question that takes two searches.
        accuracy_by_kind: The accuracy of each way to answer, by kind of question.
        verdict: Whether routing pays, in one sentence.
        sentences: The verdict, and what else has to be known.
        curve: Accuracy against cost.
        routed: Questions that are routed differently.
        out: The folder of the files.
    """

    two_hops: Asked
    accuracy_by_kind: dict[str, dict[Action, float]]
    verdict: str
    sentences: list[str]
    curve: RoutingCurve
    routed: list[Answer]
    out: str


class Diagnosed(TypedDict):
    """What was looked at.

    Attributes:
        ok: Whether nothing is a problem.
        checks: What was found.
        versions: The versions of Python and of the packages.
    """

    ok: bool
    checks: list[Check]
    versions: dict[str, str]


@dataclass(kw_only=True, frozen=True)
class Ingested(IngestReport):
    """What an ingestion did.

    Attributes:
        references: The passages in the store now.
        store: The folder or the address of the store.
    """

    references: int
    store: str


class Removed(TypedDict):
    """What was removed.

    Attributes:
        removed: The number of passages.
    """

    removed: int


@dataclass(kw_only=True, frozen=True)
class Routed(Decision):
    """A router's decision.

    Attributes:
        question: The question, as it was asked.
    """

    question: str


class Made(TypedDict):
    """Questions that were made.

    Attributes:
        out: The review file.
        n: The questions in it.
        reused: How many of them were there already.
        types: How many there are of each type.
        known: How many the model answers from memory.
        dropped: How many were not kept, by reason.
        usage: What was spent.
    """

    out: str
    n: int
    reused: int
    types: dict[str, int]
    known: int
    dropped: dict[str, int]
    usage: Usage


class Accepted(TypedDict):
    """Questions that were accepted.

    Attributes:
        out: The file of questions.
        questions: How many there are.
    """

    out: str
    questions: int


class Collected(TypedDict):
    """What was recorded.

    Attributes:
        out: The file of records.
        n: The records in it.
        accuracy: The accuracy of each way to answer.
        accuracy_ci: The 95 % intervals of these: lower and upper end.
        best_of_all: The accuracy of the best answer to each question.
        best_of_all_ci: Its 95 % interval.
        retrievals: Searches for a question, by way to answer.
        prompt_tokens: Prompt tokens for a question, likewise.
        effects: On how many questions searching helps, hurts, or does neither.
        all_wrong: On how many questions no answer is right.
        statements: What the model was asked about its own knowledge.
        reused: Questions that were on record already.
        failed: Questions that failed.
        missed: Questions without a reply to --ask.
        unscored: Questions without a right answer.
        repeated: Questions that the file holds twice.
        usage: What was spent.
    """

    out: str
    n: int
    accuracy: dict[Action, float]
    accuracy_ci: dict[Action, list[float]]
    best_of_all: float
    best_of_all_ci: list[float]
    retrievals: dict[Action, float]
    prompt_tokens: dict[Action, float]
    effects: dict[Effect, int]
    all_wrong: int
    statements: list[str]
    reused: int
    failed: int
    missed: int
    unscored: int
    repeated: int
    usage: Usage


class Calibrated(TypedDict):
    """What was learnt from records.

    Attributes:
        out: The file of the router, where one was saved.
        verdict: Whether routing pays, in one sentence.
        sentences: The verdict, and what else has to be known.
        summary: The same in figures.
        compared: What each candidate is worth.
        curve: Accuracy against cost.
        about: What was judged on what: records, model, retriever, metric, date and command.
    """

    out: str | None
    verdict: str
    sentences: list[str]
    summary: Summary
    compared: dict[str, Figures]
    curve: RoutingCurve
    about: dict[str, str]


@dataclass(frozen=True)
class Replayed(Replay):
    """What a replay found.

    Attributes:
        about: What was judged on what: records, model, retriever, metric, date and command.
    """

    about: Mapping[str, str] = field(default_factory=dict)


class System(TypedDict):
    """The figures of one system: means over questions.

    Attributes:
        title_recall_at_10: The share of the titles that were to be found, among ten references.
        all_titles_at_10: How often all of them were.
        answer_accuracy: The share of right answers.
        citation_precision: The share of cited titles that were to be found.
        citation_recall: The share of titles to be found that are cited.
        removed_markers: Markers that named no reference.
        rounds: Rounds.
        calls: Calls of the model.
        prompt_tokens: Prompt tokens.
        cached_calls: Calls that the cache answered, of all questions.
        seconds: Seconds for all questions.
        n: Questions that were answered.
        n_failed: Questions that failed.
        stop_reasons: How often each reason ended a question.
    """

    title_recall_at_10: float | None
    all_titles_at_10: float | None
    answer_accuracy: float | None
    citation_precision: float | None
    citation_recall: float | None
    removed_markers: float | None
    rounds: float | None
    calls: float | None
    prompt_tokens: float | None
    cached_calls: int
    seconds: float
    n: int
    n_failed: int
    stop_reasons: dict[str, int]


class Evaluated(TypedDict):
    """Systems beside each other. With another metric its score stands in each of them, too.

    Attributes:
        findings: What follows, in sentences.
        questions: The file of questions.
        model: The name of the model.
        retriever: The name of the retriever.
        left_out: Questions that the router has learnt from.
        never: The system that does not search.
        single_shot: The system that searches once.
        loop: The system that searches until enough was found.
        always: The same, beside `adaptive`.
        adaptive: The system that does what the router decides.
        gain: The loop less one search, on the same questions.
        result: The table.
    """

    findings: list[str]
    questions: str
    model: str
    retriever: str
    left_out: int
    never: NotRequired[System]
    single_shot: NotRequired[System]
    loop: NotRequired[System]
    always: NotRequired[System]
    adaptive: NotRequired[System]
    gain: NotRequired[dict[str, Interval]]
    result: Result


class Monitoring(TypedDict):
    """What is served beside what was expected.

    Attributes:
        alarm: Whether something has surely changed.
        verdict: What follows, in one sentence.
        sentences: The verdict, then what each figure says.
        n: The number of answers.
        changes: The figures.
    """

    alarm: bool
    verdict: str
    sentences: list[str]
    n: int
    changes: list[Change]


PRINTED: Mapping[str, Any] = {
    "demo": Demonstrated,
    "doctor": Diagnosed,
    "ingest": Ingested,
    "store ls": list[Source],
    "store rm": Removed,
    "store stats": StoreStats,
    "ask": Asked,
    "route": Routed,
    "questions make": Made,
    "questions accept": Accepted,
    "collect": Collected,
    "calibrate": Calibrated,
    "replay": Replayed,
    "evaluate": Evaluated,
    "monitor": Monitoring,
}
"""What each command prints that has --json."""

SERVERS: tuple[Literal["store serve", "serve", "mcp"], ...] = ("store serve", "serve", "mcp")
"""The commands that print no result: they serve until they are ended."""
