"""Reflectors beside each other: who sees that references do not suffice (RaLLM §6.4, Table 4)."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from skr_core import types
from skr_core.errors import InputError, ModelError
from skr_core.files import KeyedLog
from skr_core.flow import Flow, arun, call, gather
from skr_core.plain import from_plain, to_plain
from skr_core.ports import Embedder, OnProgress, Reflector, Retriever
from skr_core.prompts.judging import JUDGING_VERSION
from skr_core.replies.reply import cited_numbers
from skr_core.texts import encodable
from skr_lab.experiment import Bench, Found, Names, Recorded, Searching
from skr_lab.experiments.drafts import (
    Draft,
    complete_and_partial,
    falls_short,
    made_drafts,
    read_drafts,
    searching,
)
from skr_lab.experiments.knowledge import can_be_partial
from skr_lab.metrics import ReflectionScores
from skr_lab.opening import (
    Comparison,
    Result,
    Row,
    make_model,
    open_embedder,
    open_reflector,
    progress,
    read_templates,
)
from skr_learn.estimator import folds
from skr_learn.evaluate import Judged, difference, mean, numbers_of
from skr_learn.metrics import Interval
from skr_learn.records import question_groups
from skr_learn.reflector import LearnedReflector, best_threshold

FEWEST = 40
"""Drafts to learn from; from fewer every estimate is the average."""
CONSTANTS = {"always sufficient": False, "always insufficient": True}
ACCURACY, F1 = "reflection_accuracy", "reflection_f1"
WRONG = "Insufficient is what was answered wrongly; a refusal is."
AS_SERVED = "A reply that refuses is sent back without asking any other reflector, as in the loop."
COMPLETE_AND_PARTIAL = "complete and partial contexts"


class Reflection(Searching):
    """Who sees that the references do not suffice? Reflectors beside each other.

    Each question is answered once from all its gold references and once from half of them, which do
    not suffice; with a store or a corpus from what is found, which does not suffice where the draft
    is wrong.
    """

    name: ClassVar[str] = "reflection"
    reproduces: ClassVar[str] = "RaLLM §6.4, Table 4"

    reflectors: Names = ("refusal", "judge", "entailment:lexical", "learned")
    """The reflectors: refusal, judge[:MODEL], entailment:JUDGE, learned[:FILE]."""
    templates: str | None = None
    """The words to ask in: default, rallm, skr, w2r, or a JSON file."""
    search: Literal["hybrid", "dense", "bm25"] = "hybrid"
    """How the store is searched."""

    async def run(self, bench: Bench) -> Found:
        """Draft, and ask every reflector of every draft."""
        model, words, read = self.language_model, read_templates(self.templates), self.read()
        retriever: Retriever | None = None
        searched = COMPLETE_AND_PARTIAL
        if self.store is not None or self.corpus is not None:
            retriever, searched = self.open_store(bench, read)
        bench.open_folder(
            command=self.name,
            model=model.name,
            prompts=words.version,
            judges=JUDGING_VERSION,
            references=searched,
        )
        if retriever is None:
            systems = complete_and_partial(model, words)
            usable = [each for each in read if can_be_partial(each)]
            needs = "contexts of which two are supporting at least: give a store or a corpus"
        else:
            systems = [searching(model, retriever, words)]
            usable = [each for each in read if each.gold]
            needs = "a right answer"
        if not usable:
            raise InputError(f"no question has {needs}")
        _, judged = await self.ask(bench, systems, usable)
        drafts, failed = made_drafts(
            judged,
            lambda name, each: name == "partial" if retriever is None else falls_short(each),
            must_cite=words.asks_for_citations,
        )
        left_out = len(read) - len(usable)
        notes = [f"{left_out} questions lack {needs}"] if left_out else []
        settings = {
            "questions": f"{self.questions.name} ({len(read)})",
            "model": model.name,
            "references": searched,
        }
        asking = AskingReflectors(
            self.reflectors,
            drafts,
            lambda name: open_reflector(name, model, base_url=self.base_url),
            None,
            bench,
            self.concurrency,
        )
        notes += [*([] if retriever is None else [WRONG]), AS_SERVED]
        return await asking.found(settings, notes, n_failed=failed)


class RecordedReflection(Recorded):
    """Who sees that the references do not suffice? Of recorded answers, of which wrong ones lack.

    A line is a record of `skr collect`, a recorded pair, or a labelled reply.
    """

    name: ClassVar[str] = "recorded-reflection"
    reproduces: ClassVar[str] = "RaLLM §6.4, Table 4"

    reflectors: Names = ("refusal", "learned")
    """The reflectors: refusal, judge[:MODEL], entailment:JUDGE, learned[:FILE]."""
    model: str = "extractive"
    """The model of the reflector judge."""
    base_url: str | None = None
    """The address of an OpenAI-compatible server."""
    embedder: str | None = None
    """The embedder that the reflector that learns looks at beside words."""
    concurrency: int = Field(default=8, ge=1)
    """Drafts under way at a time."""

    async def run(self, bench: Bench) -> Found:
        """Ask every reflector of every recorded answer."""
        model = make_model(self.model, self.base_url)
        bench.open_folder(
            command=self.name, model=model.name, judges=JUDGING_VERSION, recorded=self.recorded.name
        )
        drafts = read_drafts(self.recorded, limit=self.limit, skip_bad=self.skip_bad)
        asking = AskingReflectors(
            self.reflectors,
            drafts,
            lambda name: open_reflector(name, model, base_url=self.base_url),
            None if self.embedder is None else open_embedder(self.embedder),
            bench,
            self.concurrency,
        )
        settings = {"recorded": self.told(each.question.question for each in drafts)}
        return await asking.found(settings, [WRONG, AS_SERVED])


@dataclass(frozen=True)
class AskingReflectors:
    """Several reflectors, and the drafts that each is asked about.

    Attributes:
        names: The names of the reflectors.
        drafts: The drafts.
        open_one: Makes a reflector by its name.
        embedder: The embedder of the one that learns from the other drafts; None for words alone.
        bench: Keeps what was reflected.
        concurrency: Drafts under way at a time.
    """

    names: Sequence[str]
    drafts: Sequence[Draft]
    open_one: Callable[[str], Reflector]
    embedder: Embedder | None
    bench: Bench
    concurrency: int

    async def found(
        self, settings: Mapping[str, str], notes: Sequence[str], *, n_failed: int = 0
    ) -> Found:
        """The table of all verdicts.

        Args:
            settings: Shown above the table.
            notes: Shown below it.
            n_failed: Drafts that could not be made.
        """
        verdicts: dict[str, list[Verdict]] = {}
        remarks: list[str] = []
        for name in dict.fromkeys(self.names):
            if name == "learned" and len(self.drafts) < FEWEST:
                few = f"it needs {FEWEST} drafts, not {len(self.drafts)}"
                remarks.append(f"learned is left out: {few}")
            elif name == "learned":
                with progress("Learning from the other drafts"):
                    verdicts[name] = await asyncio.to_thread(learned, self.drafts, self.embedder)
            elif name == "refusal":
                verdicts[name] = stated(self.drafts)
            else:
                remarks += self._remarks(name)
                verdicts[name] = await self._asked(name)
        result, judged = reflection_result(
            self.drafts, verdicts, settings, n_failed=n_failed, notes=(*notes, *remarks)
        )
        figures = {
            row.name: {
                "n": row.cells[ACCURACY].n,
                "n_failed": row.cells[ACCURACY].n_failed,
                **{measure: cell.mean for measure, cell in row.cells.items() if cell.n},
            }
            for row in result.rows
        }
        return Found(result, judged, {"reflectors": figures})

    async def _asked(self, name: str) -> list[Verdict]:
        reflector = self.open_one(name)
        with progress(f"Reflecting ({name})") as advance:
            flow = reflect_on(
                reflector,
                str(getattr(reflector, "name", name)),
                self.drafts,
                self.bench.folder.judgements,
                concurrency=self.concurrency,
                on_progress=advance,
            )
            found = await arun(flow)
        if all(each.insufficient is None for each in found):
            raise ModelError(f"every draft failed ({name})")
        return found

    def _remarks(self, name: str) -> list[str]:
        """Remarks on a reflector that looks at the references of recorded answers."""
        if any(draft.answer is not None for draft in self.drafts):
            return []
        n = len(self.drafts)
        if bare := sum(not draft.references for draft in self.drafts):
            raise InputError(
                f"reflectors {name}: {bare} of {n} recorded answers keep no references to look at; "
                "refusal and learned need none"
            )
        uncited = sum(not cited_numbers(each.text, len(each.references)) for each in self.drafts)
        if uncited and name.startswith("entailment"):
            return [f"{name}: {uncited} of {n} answers cite nothing, and so follow from nothing."]
        return []


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a reflector judged a draft insufficient, and the cost of asking it.

    Attributes:
        insufficient: None where it failed.
        calls: Calls of a model.
        prompt_tokens: Tokens sent to it.
    """

    insufficient: bool | None
    calls: int = 0
    prompt_tokens: int = 0


def reflect_on(
    reflector: Reflector,
    name: str,
    drafts: Sequence[Draft],
    log: KeyedLog,
    *,
    concurrency: int = 8,
    on_progress: OnProgress | None = None,
) -> Flow[list[Verdict]]:
    """The loop's verdicts on drafts with a reflector; what the log holds is not asked again.

    A refusal is sent back without asking, and a failure is not kept.

    Args:
        reflector: The reflector that is asked.
        name: Its name in the log.
        drafts: The drafts that it is asked about.
        log: Keeps reflections.
        concurrency: Drafts under way at a time.
        on_progress: Called after each.

    Example:
        >>> from skr_core.flow import run
        >>> from skr_core.questions import Question
        >>> from skr_core.reflectors import RefusalReflector
        >>> from skr_learn.records import Record
        >>> record = Record.of("Who?", direct=("", 0), single=("", 0))
        >>> said = {"refused": False, "accepted": False}
        >>> draft = Draft(Question("1", "Who?", ()), "I do not know.", (), True, record, **said)
        >>> run(reflect_on(RefusalReflector(), "refusal", [draft], KeyedLog(None)))[0].insufficient
        True
    """
    done = count(1)

    def one(draft: Draft) -> Flow[Verdict]:
        key = _key(name, draft)
        if draft.refused:
            verdict = Verdict(True)
        elif (row := log.rows.get(key)) is not None:
            verdict = _verdict(from_plain(types.Reflection, row["reflection"]))
        else:
            try:
                reflection = yield from call(
                    reflector.reflect,
                    reflector.areflect,
                    draft.question.asked,
                    draft.references,
                    draft.text,
                )
            except ModelError:
                verdict = Verdict(None)
            else:
                verdict = _verdict(reflection)
                line = {"key": key, "reflection": to_plain(reflection)}
                yield from call(log.append, log.aappend, [line])
        if on_progress is not None:
            on_progress(next(done), len(drafts))
        return verdict

    return (yield from gather([one(draft) for draft in drafts], limit=concurrency))


def stated(drafts: Sequence[Draft]) -> list[Verdict]:
    """The verdicts of `RefusalReflector`, or of the recorded answers those on record."""
    return [Verdict(not draft.accepted) for draft in drafts]


def learned(drafts: Sequence[Draft], embedder: Embedder | None = None) -> list[Verdict]:
    """The verdicts of `LearnedReflector` on each draft, learnt from the others alone.

    Neither the estimate nor its threshold has seen a draft of the question that it judges.

    Args:
        drafts: The drafts, `FEWEST` at least.
        embedder: For questions and drafts; without one words and numbers are looked at.
    """
    records = [draft.record for draft in drafts]
    _, chances = LearnedReflector.with_held_out(records, embedder=embedder)
    right = np.array([record.retrieved.score for record in records])
    verdicts = [Verdict(None)] * len(drafts)
    for fit, judge in folds(question_groups(records)):
        threshold = best_threshold(chances[fit], right[fit])
        for place in judge.tolist():
            verdicts[place] = Verdict(drafts[place].refused or bool(chances[place] < threshold))
    return verdicts


def reflection_result(
    drafts: Sequence[Draft],
    verdicts: Mapping[str, Sequence[Verdict]],
    settings: Mapping[str, str],
    *,
    n_failed: int = 0,
    notes: Sequence[str] = (),
) -> tuple[Result, dict[str, list[Judged]]]:
    """The table: both constants, then every reflector, each beside the better constant.

    Args:
        drafts: The drafts that were judged.
        verdicts: The verdicts of each reflector by its name, in the order of the drafts.
        settings: Shown above the table.
        n_failed: Drafts that could not be made, which are in no mean.
        notes: Notes for the reader.

    Returns:
        The result, and each draft with the values of its measures, by reflector.
    """
    every: dict[str, Sequence[Verdict]] = {
        name: [Verdict(said)] * len(drafts) for name, said in CONSTANTS.items()
    }
    every |= verdicts
    judged = {
        name: [_judged(draft, each) for draft, each in zip(drafts, each_verdict, strict=True)]
        for name, each_verdict in every.items()
    }
    rows = [_row(name, drafts, every[name], judged[name], n_failed) for name in every]
    best = max(CONSTANTS, key=lambda name: mean(judged[name], ACCURACY).mean)
    comparisons = tuple(
        Comparison(name, best, {ACCURACY: difference(judged[name], judged[best], ACCURACY)})
        for name in verdicts
    )
    return (
        Result(
            "reflection",
            "who sees that the references do not suffice? (RaLLM §6.4, Table 4)",
            settings,
            tuple(rows),
            comparisons,
            (ACCURACY, F1),
            tuple(notes),
        ),
        judged,
    )


def _judged(draft: Draft, verdict: Verdict) -> Judged:
    said, lacks = verdict.insufficient, draft.insufficient
    values: dict[str, float | None] = {ACCURACY: None if said is None else float(said == lacks)}
    values["insufficient_found" if lacks else "sufficient_sent_back"] = (
        None if said is None else float(said)
    )
    values |= {"calls": float(verdict.calls), "prompt_tokens": float(verdict.prompt_tokens)}
    return Judged(draft.question, draft.answer, values)


def _row(
    name: str,
    drafts: Sequence[Draft],
    verdicts: Sequence[Verdict],
    judged: Sequence[Judged],
    n_failed: int,
) -> Row:
    known = [
        (draft, each.insufficient)
        for draft, each in zip(drafts, verdicts, strict=True)
        if each.insufficient is not None
    ]
    scores = ReflectionScores.of(
        [draft.insufficient for draft, _ in known],
        [said for _, said in known],
        numbers_of([draft.question for draft, _ in known]),
    )
    failed = n_failed + len(drafts) - len(known)
    cells = {ACCURACY: _failed(scores.accuracy, failed), F1: _failed(scores.f1, failed)}
    for measure in ("insufficient_found", "sufficient_sent_back"):
        cells[measure] = mean(judged, measure)
    if any(each.calls for each in verdicts):
        cells |= {measure: mean(judged, measure) for measure in ("calls", "prompt_tokens")}
    return Row(name, cells)


def _failed(interval: Interval, n_failed: int) -> Interval:
    return Interval(interval.mean, interval.low, interval.high, interval.n, n_failed)


def _verdict(reflection: types.Reflection) -> Verdict:
    usage = reflection.usage or types.NO_USAGE
    return Verdict(not reflection.sufficient, usage.calls, usage.prompt_tokens)


def _key(name: str, draft: Draft) -> str:
    said = repr((draft.question.asked, draft.text, [each.id for each in draft.references]))
    digest = hashlib.blake2b(encodable(said).encode(), digest_size=12).hexdigest()
    return f"reflection/{name}/{digest}"
