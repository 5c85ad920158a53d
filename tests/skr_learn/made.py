"""Records of made worlds, of which it is known what can be learnt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from skr_core import Usage
from skr_core.types import Action, Stamp
from skr_learn import Record
from skr_learn.records import Outcome

STAMP = Stamp(model="m", retriever="r", metric="contains")
QUESTIONS = {
    "river": "Where does river {} flow?",
    "firm": "Who keeps the books of firm {}?",
    "team": "When did team {} win?",
    "song": "Which poet heard song {} first?",
}
TOPICS = tuple(QUESTIONS)
ACTIONS: tuple[Action, ...] = ("direct", "single", "loop")

Chances = tuple[float, ...]
"""How often the answer of each action is right."""
World = Callable[[str], Chances]
"""From the topic of a question to these."""


def by_topic(topic: str) -> Chances:
    """Rivers are known, firms and teams are found at once, songs in several rounds."""
    return {"river": (0.95, 0.3), "song": (0.05, 0.3, 0.9)}.get(topic, (0.05, 0.9))


WORLDS: dict[str, World] = {
    "words": by_topic,
    "noise": lambda _: (0.5, 0.5, 0.5),
    "always": lambda _: (0.1, 0.9, 0.9),
    "never": lambda _: (0.9, 0.2, 0.2),
    "loop": lambda _: (0.1, 0.3, 0.95),
    "half": lambda topic: (0.9, 0.85) if topic in TOPICS[:2] else (0.3, 0.6),
}


def made(
    world: World,
    n: int = 100,
    seed: int = 0,
    *,
    actions: int = 2,
    tokens: bool = False,
    telling: bool = True,
) -> list[Record]:
    """Make n records of a world.

    Args:
        world: How often which answer is right.
        n: How many.
        seed: Of what is drawn.
        actions: How many actions are on record, 2 or 3.
        tokens: Whether the outcomes say what they took.
        telling: Whether answers look as if they were right where they are.
    """
    draws = np.random.default_rng(seed)
    found = []
    for number in range(n):
        topic = TOPICS[int(draws.integers(len(TOPICS)))]
        chances = world(topic)
        outcomes: dict[Action, Outcome] = {}
        for place, action in enumerate(ACTIONS[:actions]):
            right = float(draws.random() < chances[min(place, len(chances) - 1)])
            said = bool(right) if telling else bool(draws.random() < 0.5)
            answer = f"{topic} {number}" if said else f"no {topic}, {int(draws.integers(99))}"
            usage = Usage(100 + 900 * place, 10, 1 + 2 * (place > 1)) if tokens else None
            outcomes[action] = Outcome(
                answer, right, usage, retrievals=float((0, 1, 3)[place]), rounds=place
            )
        question = QUESTIONS[topic].format(f"{number} of {int(draws.integers(99))}")
        found.append(
            Record(question, (f"{topic} {number}",), outcomes, STAMP, extra={"topic": topic})
        )
    return found


def scored(records: list[Record], score: float, answer: str | None = None) -> list[Record]:
    """The same with one score everywhere, and perhaps one answer."""
    return [
        replace(
            each,
            outcomes={
                action: replace(
                    found, score=score, answer=found.answer if answer is None else answer
                )
                for action, found in each.outcomes.items()
            },
        )
        for each in records
    ]
