"""From collected records to a served verdict: what is learnt from is what is seen when serving."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from skr_core.errors import StampMismatch
from skr_core.questions import Question
from skr_core.routers import AlwaysRetrieve
from skr_core.settings import Settings
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_core.types import Answer, Generation, Prompt
from skr_graphs import GraphAnswerer
from skr_learn.arbiters import Arbiter
from skr_learn.self_knowledge import acollect, collect
from skr_learn.self_knowledge.importers import read_self_knowledge

NUMBERS = range(40)
SUMS = [Question(f"s{n}", f"What is {n} plus 1?", (f"{n + 1} apples",)) for n in NUMBERS]
TEAMS = [Question(f"t{n}", f"Who led team {n}?", (f"Ada {n}",)) for n in NUMBERS]


class Half(ScriptedModel):
    """Adds right without references and is misled by them; knows leaders from references alone."""

    def generate(self, prompt: Prompt, *, on_token: object = None) -> Generation:
        *_, last = prompt.question.rstrip("?").split()
        from_references = prompt.task == "answer_with_references"
        if prompt.question.startswith("Who"):
            return Generation(f"SUFFICIENT\nAda {last} [1]." if from_references else "Bob.")
        said = f"{int(prompt.question.split()[2]) + 1} apples."
        return Generation("SUFFICIENT\nOne basket [1]." if from_references else said)


def found(questions: list[Question]) -> MappingRetriever:
    return MappingRetriever(
        {
            each.asked: [
                f"In that year {each.gold[0]} led it."
                if each.asked.startswith("Who")
                else "Apples come in one basket."
            ]
            for each in questions
        }
    )


@pytest.mark.parametrize("colour", ["sync", "async"])
def test_what_is_collected_decides_what_is_served(colour: str, tmp_path: Path):
    asked = [*SUMS, *TEAMS]
    settings = Settings.of(Half(), found(asked))
    out = tmp_path / "records.jsonl"
    seen, unseen = [*SUMS[:-1], *TEAMS[:-1]], (SUMS[-1], TEAMS[-1])
    if colour == "sync":
        collect(seen, GraphAnswerer(settings), out=out)
    else:
        asyncio.run(acollect(seen, GraphAnswerer(settings), out=out))
    records = read_self_knowledge(out)
    assert all(each.outcomes["loop"].standing is not None for each in records)
    AlwaysRetrieve().save(tmp_path / "router")
    Arbiter.fit(records).save(tmp_path / "router")

    system = GraphAnswerer(Settings.of(Half(), found(asked), router=tmp_path / "router"))
    answers: list[Answer] = [
        system.answer(each.asked) if colour == "sync" else asyncio.run(system.aanswer(each.asked))
        for each in unseen
    ]
    assert [answer.text for answer in answers] == ["40 apples.", "Ada 39 [1]."]
    assert [answer.grounded for answer in answers] == [False, True]
    chances = [answer.verdict.chances for answer in answers if answer.verdict]
    assert chances[0]["direct"] > 0.8 > 0.2 > chances[0]["loop"]
    assert chances[1]["loop"] > 0.8 > 0.2 > chances[1]["direct"]
    with pytest.raises(StampMismatch, match="this arbiter was made with the model"):
        Settings.of(Half(name="other"), found(asked), router=tmp_path / "router")
