"""Does a model lean on documents the less, the surer it is of itself? (W2R §5, Figure 1).

A question belongs to a level by what the model said without documents. The levels overlap: level 1
is wherever Vanilla is uncertain, so that level 0, where Punish+Explain is too, is a part of it; and
level 3 is a part of level 2. That is how the paper defines them, and why two of them can hold
"nearly identical" samples there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skr_app.report import Result, row_of
from skr_core.flow import Flow, call, gather
from skr_core.match import is_right
from skr_core.ports import AnswerArbiter, LanguageModel
from skr_core.prompts.papers import W2R_TEMPLATES
from skr_core.prompts.routing import Strategy
from skr_core.questions import Question
from skr_core.rivals import candidate_of_answer
from skr_core.types import Answer
from skr_lab.experiments.certainty import is_certain, strategy_system
from skr_lab.experiments.knowledge import answer_given, complete, corrupted
from skr_learn.evaluation.asking import System
from skr_learn.evaluation.measuring import Judged
from skr_learn.metrics.reliance import relies

TITLE = "does the model take its answer from the document? (W2R §5, Figure 1)"
VANILLA: Strategy = "vanilla"
PRUDENT: Strategy = "punish_explain"
GOLD, CORRUPTED = "gold document", "corrupted document"
ALL = "all"
UTILISATION, CORRUPTION = "utilisation_ratio", "corruption_rate"
AFTER = "_arbiter"
"""Behind the name of a measure: of what an arbiter serves."""
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
        levels: None are known where the model did not state its certainty.
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
    """What is asked: both ways of stating a certainty, and the two documents (§5.1)."""
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
        gamma: γ of the utilisation ratio: what the overlap has to grow by; the paper sets 0.
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
    """What is served where both answers are at hand; None where one of them failed."""
    if direct is None or augmented is None:
        return None
    answers = {each: direct if each == "direct" else augmented for each in arbiter.actions}
    seen = {action: candidate_of_answer(each, direct.text) for action, each in answers.items()}
    verdict = yield from call(arbiter.judge, arbiter.ajudge, question.asked, seen)
    return answers[verdict.served]


def _said(judged: Judged) -> bool | None:
    return None if judged.answer is None else is_certain(judged.answer)
