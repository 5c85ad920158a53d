"""A system of which it is known how far each kind of question should climb, and its policy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from skr_core import Action, Generation, Prompt, Question, Settings, Usage
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_graphs import GraphAnswerer
from skr_learn import Policy, Record, calibrate, collect

KINDS = ("sum", "leader", "hut", "captain")
BEST: dict[str, Action] = {"sum": "direct", "leader": "single", "hut": "single", "captain": "loop"}
"""Whose answer is right; a leader's first round says that it suffices, a hut's that it does not."""
WEIGHT = 0.3
"""Of a retrieval, in points of accuracy."""


def question_of(kind: str, n: int) -> Question:
    asked, gold = {
        "sum": (f"What is {n} plus 1?", f"{n + 1} apples"),
        "leader": (f"Who led team {n}?", f"Ada {n}"),
        "hut": (f"Where is hut {n}?", f"On hill {n}"),
        "captain": (f"Whose captain came from port {n}?", f"Bo {n}"),
    }[kind]
    return Question(f"{kind}{n}", asked, (gold,))


class Knowing(ScriptedModel):
    """Says what its prompt's question and references make it say, whatever was asked before."""

    def generate(self, prompt: Prompt, *, on_token: object = None) -> Generation:
        self.prompts.append(prompt)
        text = self._said(prompt)
        if callable(on_token):
            on_token(text)
        return Generation(text, Usage(100 * (1 + len(prompt.references)), 5, calls=1))

    def _said(self, prompt: Prompt) -> str:
        first, *_, last = prompt.question.rstrip("?").split()
        if prompt.task != "answer_with_references":
            number = prompt.question.split()[2]
            return f"{int(number) + 1} apples." if first == "What" else "Seven of them."
        again = len(prompt.references) > 1
        return {
            "What": "SUFFICIENT\nOne basket [1].",
            "Who": f"SUFFICIENT\nAda {last} [1].",
            "Where": "SUFFICIENT\nIn the Dead Sea [2]."
            if again
            else f"INSUFFICIENT\nOn hill {last} [1].\nSearch: more of {last}",
            "Whose": f"SUFFICIENT\nBo {last} [2]."
            if again
            else f"INSUFFICIENT\nA sailor [1].\nSearch: more of {last}",
        }[first]


def library(numbers: range) -> MappingRetriever:
    asked = [question_of(kind, n).asked for kind in KINDS for n in numbers]
    more = {f"more of {n}": [f"There is more of {n}."] for n in numbers}
    return MappingRetriever({**{each: [f"About this: {each}"] for each in asked}, **more})


def recorded(numbers: range) -> Sequence[Record]:
    """What this system is on record with, by every action."""
    asked = [question_of(kind, n) for kind in KINDS for n in numbers]
    return collect(asked, GraphAnswerer(Settings.of(Knowing(), library(numbers))))


@cache
def ladder() -> Policy:
    """What looks at each answer before it asks for the next, and serves the likeliest."""
    records = recorded(range(30))
    return calibrate(records, routers=["ladder"], cost="retrievals", cost_weight=WEIGHT).router
