"""Does the model take its answer from the document, and the less, the surer it is? (W2R §5).

A question belongs to a level by what the model said without documents (Figure 1). The levels
overlap: level 1 is wherever Vanilla is uncertain, so that level 0, where Punish+Explain is too, is
a part of it; and level 3 is a part of level 2. That is how the paper defines them, and why two of
them can hold "nearly identical" samples there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from skr_core.errors import InputError
from skr_core.flow import Flow, arun, call, gather
from skr_core.match import is_right
from skr_core.ports import AnswerArbiter, LanguageModel
from skr_core.prompts.papers import W2R_TEMPLATES
from skr_core.prompts.routing import ROUTING_VERSION, Strategy
from skr_core.prompts.templates import PROMPT_VERSION, PromptTemplates
from skr_core.questions import Question
from skr_core.rivals import candidate_of_answer
from skr_core.routers import load_router
from skr_core.types import Answer, Reference
from skr_lab.experiment import Asking, Bench, Found, means_of
from skr_lab.experiments.certainty import ALL, is_certain, strategy_system
from skr_lab.experiments.knowledge import (
    MEASURES as KNOWLEDGE_MEASURES,
)
from skr_lab.experiments.knowledge import (
    Conditions,
    Given,
    KnowledgeExperiment,
    answer_given,
    can_be_corrupted,
    complete,
    corrupted,
)
from skr_lab.metrics import relies
from skr_lab.opening import Result, Row, router_stamp, row_of
from skr_learn.evaluate import Judged, System
from skr_learn.metrics import Interval, bootstrap

TITLE = "does the model take its answer from the document? (W2R §5, Figure 1)"
NEEDS = "supporting contexts that name an answer"
VANILLA: Strategy = "vanilla"
PRUDENT: Strategy = "punish_explain"
GOLD, CORRUPTED = "gold document", "corrupted document"
UTILISATION, CORRUPTION = "utilisation_ratio", "corruption_rate"
AFTER = "_arbiter"
"""Behind the name of a measure: of the answers that an arbiter serves."""
MEASURES = (
    UTILISATION,
    CORRUPTION,
    UTILISATION + AFTER,
    CORRUPTION + AFTER,
    "accuracy_none",
    "accuracy_gold",
    "accuracy_corrupted",
    "accuracy_retrieved",
)
LEVELS = (
    "0: both uncertain",
    "1: Vanilla uncertain",
    "2: Vanilla certain",
    "3: both certain",
)


class Reliance(KnowledgeExperiment):
    """Does the model take its answer from the document? None, the gold one, and a corrupted one."""

    name: ClassVar[str] = "reliance"
    reproduces: ClassVar[str] = "W2R §5"
    title: ClassVar[str] = "does the model take its answer from the document? (W2R §5)"
    needs: ClassVar[str] = NEEDS
    plotted: ClassVar[tuple[str, ...]] = ("answer_accuracy", UTILISATION, CORRUPTION)
    # A corrupted title is no longer a supporting one.
    measures: ClassVar[tuple[str, ...]] = tuple(
        each for each in KNOWLEDGE_MEASURES if not each.startswith("citation")
    )
    words: ClassVar[PromptTemplates] = W2R_TEMPLATES

    gamma: float = 0.0
    """The γ of the utilisation ratio: the overlap must grow by more."""

    def usable(self, question: Question) -> bool:
        """Whether a gold reference names a right answer."""
        return can_be_corrupted(question)

    def conditions(self, pool: Sequence[Reference]) -> dict[str, Given]:
        """No document, the gold one, and the one whose answer was replaced."""
        return {"no document": lambda question: (), GOLD: complete, CORRUPTED: corrupted}

    def rows(self, judged: Conditions) -> list[Row]:
        """The rows with both rates."""
        direct, gold, wrong = judged.values()
        uses: list[float | None] = []
        corrupts: list[float | None] = []
        for before, with_gold, with_wrong in zip(direct, gold, wrong, strict=True):
            if before.answer is None or with_gold.answer is None:
                uses.append(None)
            else:
                document = " ".join(each.text for each in with_gold.answer.references)
                texts = before.answer.text, with_gold.answer.text
                uses.append(float(relies(*texts, document, gamma=self.gamma)))
            was, is_ = before.values["answer_accuracy"], with_wrong.values["answer_accuracy"]
            corrupts.append(None if was is None or is_ is None else float(was == 1 and is_ == 0))
        first, second, third = super().rows(judged)
        return [
            first,
            Row(second.name, {UTILISATION: _mean(uses), **second.cells}),
            Row(third.name, {CORRUPTION: _mean(corrupts), **third.cells}),
        ]


class RelianceByCertainty(Asking):
    """Does it lean on documents the less, the surer it is? A row for each level of certainty."""

    name: ClassVar[str] = "reliance-by-certainty"
    reproduces: ClassVar[str] = "W2R §5, Figure 1"

    gamma: float = 0.0
    """The γ of the utilisation ratio: the overlap must grow by more."""
    arbiter: Path | None = None
    """The file of a saved arbiter: the rates after it too."""

    async def run(self, bench: Bench) -> Found:
        """Ask for certainties, and with both documents."""
        model, read = self.language_model, self.read()
        usable = [each for each in read if can_be_corrupted(each)]
        if not usable:
            raise InputError(f"{self.questions}: no question has {NEEDS}")
        arbiter = None if self.arbiter is None else load_router(self.arbiter, model=model)
        if arbiter is not None and not isinstance(arbiter, AnswerArbiter):
            raise InputError(
                f"{self.arbiter} weighs no answers: skr calibrate --router arbiter makes what does"
            )
        bench.open_folder(
            command=self.name,
            model=model.name,
            prompts=f"{PROMPT_VERSION} {ROUTING_VERSION}",
            **router_stamp(self.arbiter),
        )
        _, judged = await self.ask(bench, level_systems(model), usable, may_fail=True)
        found = await arun(
            levelled(judged, gamma=self.gamma, arbiter=arbiter, concurrency=self.concurrency)
        )
        settings = {
            "questions": f"{self.questions.name} ({len(usable)} of {len(read)})",
            "model": model.name,
        }
        left_out = len(read) - len(usable)
        notes = [f"{left_out} questions lack {NEEDS}."] if left_out else []
        return found_by_level(found, settings, notes, gamma=self.gamma)


def found_by_level(
    found: Sequence[Levelled],
    settings: Mapping[str, str],
    notes: Sequence[str],
    *,
    gamma: float,
) -> Found:
    """The table by levels, with its means.

    Args:
        found: Every question.
        settings: Shown above the table.
        notes: Shown below it.
        gamma: The γ that the rates were made with.
    """
    if gamma:
        settings = {**settings, "gamma": f"gamma {gamma:g}"}
    result, groups = level_result(found, settings, notes)
    return Found(result, groups, {"n": len(found), "groups": means_of(result)})


def levels_of(vanilla: bool | None, prudent: bool | None) -> list[str]:
    """The levels that a question belongs to, none where it is not known what the model said.

    Args:
        vanilla: Certain when asked by Vanilla.
        prudent: Certain when asked by Punish+Explain; None where it was not asked or did not say.

    Example:
        >>> levels_of(False, False), levels_of(True, None)
        (['0: both uncertain', '1: Vanilla uncertain'], ['2: Vanilla certain'])
    """
    if vanilla is None:
        return []
    plain, both = (LEVELS[2], LEVELS[3]) if vanilla else (LEVELS[1], LEVELS[0])
    return sorted([plain, both]) if prudent is vanilla else [plain]


@dataclass(frozen=True, slots=True)
class Levelled:
    """One question with the levels that it belongs to.

    Attributes:
        levels: The levels; none where the model did not state its certainty.
        judged: The question, and the values of some of `MEASURES`.
    """

    levels: Sequence[str]
    judged: Judged


def level_result(
    found: Sequence[Levelled], settings: Mapping[str, str], notes: Sequence[str] = ()
) -> tuple[Result, dict[str, list[Judged]]]:
    """The table: a row for all questions and for each level that holds any, and its values.

    Args:
        found: Every question.
        settings: Shown above the table.
        notes: Shown below it.
    """
    groups = {ALL: [each.judged for each in found]}
    for level in LEVELS:
        if chosen := [each.judged for each in found if level in each.levels]:
            groups[level] = chosen
    if unknown := sum(not each.levels for each in found):
        notes = (*notes, f"{unknown} questions have no level: the certainty is not known.")
    result = Result(
        "reliance",
        TITLE,
        settings,
        rows=tuple(row_of(name, each, MEASURES) for name, each in groups.items()),
        plotted=(UTILISATION, CORRUPTION),
        notes=tuple(notes),
    )
    return result, groups


def level_systems(model: LanguageModel) -> list[System]:
    """The systems that are asked: two ways of stating a certainty, and two documents (§5.1)."""
    return [
        *(strategy_system(model, strategy) for strategy in (VANILLA, PRUDENT)),
        _given(GOLD, model),
        _given(CORRUPTED, model),
    ]


def levelled(
    judged: Mapping[str, Sequence[Judged]],
    *,
    gamma: float = 0.0,
    arbiter: AnswerArbiter | None = None,
    concurrency: int = 8,
) -> Flow[list[Levelled]]:
    """Which level each question belongs to, and whether its answers rely on their document.

    The answer without a document is the one whose certainty Vanilla stated.

    Args:
        judged: Answers of `level_systems`, by the system.
        gamma: The γ of the utilisation ratio: the overlap has to grow by more; the paper sets 0.
        arbiter: Chooses between the answer without and the one with the document; measured beside.
        concurrency: Choices side by side.
    """
    vanilla, prudent, gold, wrong = (judged[name] for name in (VANILLA, PRUDENT, GOLD, CORRUPTED))
    rows = zip(vanilla, prudent, gold, wrong, strict=True)
    flows = [_levelled(*row, gamma=gamma, arbiter=arbiter) for row in rows]
    return (yield from gather(flows, limit=concurrency))


def _given(name: str, model: LanguageModel) -> System:
    choose = complete if name == GOLD else corrupted
    return System(
        name, lambda each: answer_given(model, each, choose(each), templates=W2R_TEMPLATES)
    )


def _levelled(
    vanilla: Judged,
    prudent: Judged,
    gold: Judged,
    wrong: Judged,
    *,
    gamma: float,
    arbiter: AnswerArbiter | None,
) -> Flow[Levelled]:
    question, direct = vanilla.question, vanilla.answer
    values: dict[str, float | None] = {
        "accuracy_none": vanilla.values["answer_accuracy"],
        "accuracy_gold": gold.values["answer_accuracy"],
        "accuracy_corrupted": wrong.values["answer_accuracy"],
    }
    document = "" if gold.answer is None else " ".join(each.text for each in gold.answer.references)
    values |= _rates(question, direct, gold.answer, wrong.answer, document, gamma)
    if arbiter is not None:
        right = yield from _served(arbiter, question, direct, gold.answer)
        misled = yield from _served(arbiter, question, direct, wrong.answer)
        after = _rates(question, direct, right, misled, document, gamma)
        values |= {name + AFTER: value for name, value in after.items()}
    return Levelled(levels_of(_said(vanilla), _said(prudent)), Judged(question, None, values))


def _rates(
    question: Question,
    direct: Answer | None,
    gold: Answer | None,
    wrong: Answer | None,
    document: str,
    gamma: float,
) -> dict[str, float | None]:
    """Whether the document drew an answer to itself, and whether a corrupted one spoilt it."""
    uses = corrupts = None
    if direct is not None and gold is not None:
        uses = float(relies(direct.text, gold.text, document, gamma=gamma))
    if direct is not None and wrong is not None:
        corrupts = float(is_right(question, direct.text) and not is_right(question, wrong.text))
    return {UTILISATION: uses, CORRUPTION: corrupts}


def _served(
    arbiter: AnswerArbiter, question: Question, direct: Answer | None, augmented: Answer | None
) -> Flow[Answer | None]:
    """The answer that the arbiter serves; None where one of the two failed."""
    if direct is None or augmented is None:
        return None
    answers = {each: direct if each == "direct" else augmented for each in arbiter.actions}
    seen = {action: candidate_of_answer(each, direct.text) for action, each in answers.items()}
    verdict = yield from call(arbiter.judge, arbiter.ajudge, question.asked, seen)
    return answers[verdict.served]


def _said(judged: Judged) -> bool | None:
    return None if judged.answer is None else is_certain(judged.answer)


def _mean(values: Sequence[float | None]) -> Interval:
    known = [value for value in values if value is not None]
    return bootstrap(known, n_failed=len(values) - len(known))
