"""A measured run as tests of reports want it, without asking anything."""

from __future__ import annotations

from typing import Any

import numpy as np

from skr_app.report import Comparison, Result, Row, Section, section_of_result
from skr_learn.metrics import bootstrap

HOSTILE = "<script>alert(1)</script> ![x](http://a.example/x.png) | `rm` $x$"
SYSTEMS = {
    "never": (0.45, 30),
    "single_shot": (0.6, 700),
    "loop": (0.7, 1500),
    "adaptive": (0.97, 600),
}
N = 100
"""Questions."""


def scores() -> list[dict[str, Any]]:
    """Rows of ``scores.jsonl``: each system is right of its share of the questions, in order."""
    return [
        {
            "system": system,
            "id": n,
            "question": f"q{n} {HOSTILE}",
            "gold": [HOSTILE],
            "answer": HOSTILE,
            "stop_reason": "sufficient",
            "rounds": [{"queries": [HOSTILE], "found": 1, "verdict": HOSTILE}] * (1 + n % 2),
            "references": [HOSTILE],
            "values": {"answer_accuracy": float(n < N * share), "prompt_tokens": float(tokens + n)},
            "chance": 1 - n / N if system == "adaptive" else None,
        }
        for system, (share, tokens) in SYSTEMS.items()
        for n in range(N)
    ]


def measured() -> Section:
    """The section of an evaluation of four systems, whose router says how sure it is."""
    return section_of_result("questions.jsonl", measured_result(), scores())


def measured_result() -> Result:
    """Its table."""
    rows = scores()
    of = {
        name: {
            measure: np.array([row["values"][measure] for row in rows if row["system"] == name])
            for measure in ("answer_accuracy", "prompt_tokens")
        }
        for name in SYSTEMS
    }
    change = of["adaptive"]["answer_accuracy"] - of["loop"]["answer_accuracy"]
    return Result(
        "evaluate",
        "which system pays?",
        {"questions": "questions.jsonl, 100 asked", "model": "small", "retriever": HOSTILE},
        tuple(
            Row(name, {each: bootstrap(values) for each, values in cells.items()})
            for name, cells in of.items()
        ),
        (Comparison("adaptive", "loop", {"answer_accuracy": bootstrap(change)}),),
        notes=(HOSTILE,),
    )
