"""An arbiter of which it is known what it serves, and systems that it decides for."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from skr_core.candidates import Standing
from skr_core.prompts import REFUSAL
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_core.types import Stamp
from skr_graphs import create_self_completion_graph
from skr_learn import LearnedReflector, Outcome, Policy, Record, calibrate
from tests.skr_learn.routers.facts import records

SUM, LEADER, HUT = "What is 41 plus 1?", "Who led team 50?", "Where is hut 50?"
DOUBLE = "Which number is twice 50?"
WRONG = "Adam [1]."
SHARED = Stamp(model="scripted", retriever="mapping")


@cache
def arbiter() -> Policy:
    """Knows that the model can count, that references name leaders, and the first round huts."""
    known = []
    for n in range(30):
        known += [
            Record.of(
                f"What is {n} plus 1?",
                direct=(f"{n + 1}", 1),
                single=(WRONG, 0),
                loop=(WRONG, 0),
                stamp=SHARED,
            ),
            Record.of(
                f"Which number is twice {n}?",
                direct=(f"{2 * n}", 1),
                single=(f"{REFUSAL}.", 0),
                loop=(f"{REFUSAL}.", 0),
                stamp=SHARED,
            ),
            Record.of(
                f"Who led team {n}?",
                direct=("7", 0),
                single=(f"Ada {n} [1].", 1),
                loop=(f"Ada {n} [1].", 1),
                stamp=SHARED,
            ),
            Record.of(
                f"Where is hut {n}?",
                direct=("7", 0),
                single=(f"On hill {n} [1].", 1),
                loop=(WRONG, 0),
                stamp=SHARED,
            ),
        ]
    return weighing([*map(stating, known)])


def stating(record: Record) -> Record:
    """The same record, which states which of its answers rest on references."""
    outcomes = {
        action: replace(
            outcome, grounded=None if action == "direct" else outcome.answer.endswith("[1].")
        )
        for action, outcome in record.outcomes.items()
    }
    return replace(record, outcomes=outcomes)


def weighing(records: list[Record]) -> Policy:
    """Fit what asks for every answer and serves the likeliest."""
    return calibrate(records, routers=["arbiter"], anyway=True).router


@cache
def drafting(*, retrieves: bool) -> Policy:
    """Return what looks at the direct answer, and then decides the same for every question."""
    costs = (1.0, 0.0) if retrieves else (0.0, 1.0)
    found = calibrate(records(20), routers=["ladder"], stream=True, anyway=True)
    return found.router.with_rules(costs=costs, weight=9.0)


@cache
def learned() -> LearnedReflector:
    """Knows that an answer is made up that stands in no reference."""
    answers = [
        Outcome(f"Ada {n} [1].", 1.0 - n % 2, grounded=True, standing=Standing(own=1.0 - n % 2))
        for n in range(120)
    ]
    return LearnedReflector.fit(
        [
            Record(f"Who led team {n}?", (), {"direct": Outcome("", 0), "single": each})
            for n, each in enumerate(answers)
        ]
    )


def model_of(direct: str, *drafts: str, **more: list[str]) -> ScriptedModel:
    """Says this without references, and these with them, round by round."""
    replies: Any = {"answer_directly": [direct], "answer_with_references": list(drafts), **more}
    return ScriptedModel(replies)


def library() -> MappingRetriever:
    asked = {question: [f"about {question}"] for question in (SUM, LEADER, HUT, DOUBLE)}
    return MappingRetriever({**asked, "more": ["more of it"]})


def adding(**more: list[str]) -> ScriptedModel:
    """Knows the sum, and is led astray by references."""
    return model_of("42", f"SUFFICIENT\n{WRONG}", **more)


def graph_of(model: Any, **options: Any) -> Any:
    chosen = {"arbiter": arbiter(), "retriever": library(), **options}
    return create_self_completion_graph(model=model, **chosen).compile()
