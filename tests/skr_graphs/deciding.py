"""An arbiter of which it is known what it serves, and systems that it decides for."""

from __future__ import annotations

from functools import cache
from typing import Any

from skr_core.prompts import REFUSAL
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_core.types import Stamp
from skr_graphs import create_self_completion_graph
from skr_learn import Arbiter, SelfKnowledge

SUM, LEADER, HUT = "What is 41 plus 1?", "Who led team 50?", "Where is hut 50?"
DOUBLE = "Which number is twice 50?"
WRONG = "Adam [1]."
SHARED = Stamp(model="scripted", retriever="mapping")


@cache
def arbiter() -> Arbiter:
    """Knows that the model can count, that references name leaders, and the first round huts."""
    records = []
    for n in range(30):
        records += [
            SelfKnowledge.of(
                f"What is {n} plus 1?",
                direct=(f"{n + 1}", 1),
                single=(WRONG, 0),
                loop=(WRONG, 0),
                stamp=SHARED,
            ),
            SelfKnowledge.of(
                f"Which number is twice {n}?",
                direct=(f"{2 * n}", 1),
                single=(f"{REFUSAL}.", 0),
                loop=(f"{REFUSAL}.", 0),
                stamp=SHARED,
            ),
            SelfKnowledge.of(
                f"Who led team {n}?",
                direct=("7", 0),
                single=(f"Ada {n} [1].", 1),
                loop=(f"Ada {n} [1].", 1),
                stamp=SHARED,
            ),
            SelfKnowledge.of(
                f"Where is hut {n}?",
                direct=("7", 0),
                single=(f"On hill {n} [1].", 1),
                loop=(WRONG, 0),
                stamp=SHARED,
            ),
        ]
    return Arbiter.fit(records)


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
