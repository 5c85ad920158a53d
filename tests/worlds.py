"""Worlds with a model of known knowledge, behind an OpenAI-compatible server, and a corpus.

The model knows into which sea a river flows, and nothing of who keeps a firm's books; the corpus
may be right, out of date where the model knows better, or wrong. A question about the keeper's
office takes two hops. What the model says depends on its prompt alone.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from skr_core.prompts import INSUFFICIENT, QUERY_LEAD, SEARCH_LEAD, SUFFICIENT
from tests.servers import Messages

State = Literal["right", "half out of date", "wrong"]

SYLLABLES = [
    f"{first}{last}" for first in "BDFGKLMNPRSTVW" for last in ("an", "el", "ir", "or", "um")
]
NAMES = [f"{one}{two.lower()}" for one in SYLLABLES for two in SYLLABLES[::7]]
SEAS = ("Amber Sea", "Coral Sea", "Silver Sea", "Winter Sea")
KEEPERS = ("Ada Moor", "Ben Stone", "Cleo Hart", "Dan Frost")
TOWNS = ("Arden", "Bexley", "Corvale", "Dunmore")
WRONG = {"sea": "Sea of Dust", "keeper": "Nobody Known"}


@dataclass(frozen=True)
class Fact:
    """A question with its right answer, and what the corpus says."""

    question: str
    gold: str
    passages: tuple[dict[str, str], ...]


def sea_of(river: str) -> str:
    return SEAS[sum(map(ord, river)) % len(SEAS)]


def keeper_of(firm: str) -> str:
    return KEEPERS[sum(map(ord, firm)) % len(KEEPERS)]


def town_of(keeper: str) -> str:
    return TOWNS[KEEPERS.index(keeper)]


def river_fact(name: str, state: State) -> Fact:
    said = sea_of(name) if state == "right" else WRONG["sea"]
    text = f"The river {name} is long. The river {name} flows into the {said}."
    return Fact(
        f"Into which sea does the river {name} flow?",
        sea_of(name),
        ({"title": f"River {name}", "text": text},),
    )


def firm_fact(name: str, state: State) -> Fact:
    said = WRONG["keeper"] if state == "wrong" else keeper_of(name)
    text = f"The books of the firm {name} are kept by {said}."
    return Fact(
        f"Who keeps the books of the firm {name}?",
        keeper_of(name),
        ({"title": f"Firm {name}", "text": text},),
    )


def office_fact(name: str, state: State) -> Fact:
    """Two hops: who keeps the books, and where that person has an office."""
    keeper = keeper_of(name)
    # No word of the question: the first search does not find it.
    office = f"{keeper} works at {town_of(keeper)}."
    return Fact(
        f"In which town is the office of the keeper of the books of the firm {name}?",
        town_of(keeper),
        (*firm_fact(name, state).passages, {"title": keeper, "text": office}),
    )


def half_known(count: int, state: State, *, first: int = 0) -> list[Fact]:
    """As many questions that the model knows as questions that it does not."""
    names = NAMES[first : first + count]
    return [
        (river_fact if place % 2 else firm_fact)(name, state) for place, name in enumerate(names)
    ]


def write(folder: Path, name: str, facts: list[Fact]) -> Path:
    """A file of questions, for the command."""
    path = folder / name
    rows = ({"question": fact.question, "answers": [fact.gold]} for fact in facts)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_corpus(folder: Path, facts: list[Fact]) -> Path:
    """A corpus of all their passages."""
    path = folder / "corpus.jsonl"
    passages = {json.dumps(passage): None for fact in facts for passage in fact.passages}
    path.write_text("".join(f"{passage}\n" for passage in passages))
    return path


def reply(messages: Messages) -> str:
    """What the model of these worlds says to a prompt, whatever the task."""
    prompt = str(messages[-1]["content"])
    references = re.findall(r'^\[(\d+)\][^\n]*\n"""\n(.*?)\n"""$', prompt, re.DOTALL | re.MULTILINE)
    [question] = re.findall(r"(?:Question|Q): (.*\?)", prompt)[-1:] or [prompt]
    found = _read(question, references)
    if QUERY_LEAD in prompt:
        keeper = next((name for name in KEEPERS if any(name in text for _, text in references)), "")
        return f"{QUERY_LEAD} {keeper} works" if keeper else f"{QUERY_LEAD} nothing else"
    verdict = INSUFFICIENT in prompt
    if references and found:
        return f"{SUFFICIENT}\n{found}" if verdict else found
    if verdict:
        keeper = next((name for name in KEEPERS if any(name in text for _, text in references)), "")
        return f"{INSUFFICIENT}\n" + (f"{SEARCH_LEAD} {keeper} works" if keeper else "")
    known = _remember(question)
    if '"certain"' in prompt:
        return f"{known} (certain)" if known else "Somebody, I suppose. Uncertain."
    if "additional information" in prompt:
        return "No, I do not." if known else "Yes, I need additional information."
    return known or "I do not know."


def _remember(question: str) -> str:
    river = re.search(r"the river (\w+) flow", question)
    return f"The {sea_of(river[1])}." if river else ""


def _read(question: str, references: list[tuple[str, str]]) -> str:
    """The answer that references give, cited; from the first that says something."""
    patterns = (
        (r"the river (\w+) flow", r"The river {} flows into the ([\w ]+)\."),
        (r"^Who keeps the books of the firm (\w+)", r"books of the firm {} are kept by ([\w ]+)\."),
    )
    for asks, says in patterns:
        if asked := re.search(asks, question):
            for number, text in references:
                if said := re.search(says.format(asked[1]), text):
                    return f"It is {said[1]} [{number}]."
    if office := re.search(r"office of the keeper of the books of the firm (\w+)", question):
        keeper = keeper_of(office[1])
        for number, text in references:
            if said := re.search(rf"{keeper} works at (\w+)\.", text):
                return f"It is {said[1]} [{number}]."
    return ""
