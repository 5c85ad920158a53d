"""Arbiters that look at how likely the model finds the answers."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from skr_core import CandidateAnswer, Settings
from skr_core.candidates import Margins
from skr_core.errors import InputError
from skr_core.testing import ScriptedModel, WordScorer
from skr_learn import Arbiter, SelfKnowledge, read_self_knowledge, write_self_knowledge
from skr_learn.arbiters import MarginArbiter

pytestmark = pytest.mark.usefixtures("few_trees")


def verdict(direct: str, loop: str, margins: Margins | None, **options: float) -> str:
    answers = {"direct": CandidateAnswer(direct), "loop": CandidateAnswer(loop, margins=margins)}
    arbiter = MarginArbiter(**options)
    found = arbiter.judge("Who?", answers)  # type: ignore[arg-type]
    assert asyncio.run(arbiter.ajudge("Who?", answers)) == found  # type: ignore[arg-type]
    assert sum(found.chances.values()) == pytest.approx(1)
    return found.served


def test_the_rule_is_that_of_the_paper():
    assert verdict("Ada", "Ben", Margins(-1.4, 0.0)) == "loop"
    assert verdict("Ada", "Ben", Margins(-1.5, 0.0)) == "direct"
    assert verdict("Ada", "Ben", Margins(-1.4, -0.3)) == "direct"
    assert verdict("Ada", "Ben", Margins(-2.0, 1.1)) == "loop"
    assert verdict("Ada", "Ben", Margins(-2.0, 1.1), weight=0.0) == "direct"
    assert verdict("Ada", "Ben", Margins(-2.0, 0.0), threshold=-3.0) == "loop"
    assert verdict("Ada", "Ben", Margins(-1e6, 0.0)) == "direct"


def test_without_likelihoods_the_answer_from_references_stands():
    assert verdict("Ada", "Ben", None) == "loop"
    assert verdict("I don't know.", "Ben", None) == "loop"
    assert verdict("Ada", "I don't know.", None) == "direct"
    assert verdict("Ada", "ada.", None) == "loop"


@pytest.mark.parametrize("arbiter", [MarginArbiter(), None])
def test_an_arbiter_that_needs_them_asks_for_them(arbiter: MarginArbiter | None):
    chosen = arbiter or Arbiter.fit(records())
    with pytest.raises(InputError, match="give likelihoods"):
        Settings.of(ScriptedModel(), arbiter=chosen)
    with pytest.raises(InputError, match="a scorer of likelihoods has name, score and ascore, whi"):
        Settings.of(ScriptedModel(), likelihoods=3)
    assert Settings.of(ScriptedModel(), arbiter=chosen, likelihoods=WordScorer())


def records(*, margins: bool = True) -> list[SelfKnowledge]:
    """Nothing but the likelihoods tells which answer is right."""
    found, chance = [], Random(0)
    for n in range(120):
        right = int(chance.random() < 0.65)
        each = SelfKnowledge.of(
            f"Who led team {n}?", direct=("Ada", 1 - right), single=("B", right)
        )
        if margins:
            known = Margins(1.0 if right else -4.0, 0.5 if right else -0.5)
            single = replace(each.outcomes["single"], margins=known)
            each = replace(each, outcomes={**each.outcomes, "single": single})
        found.append(each)
    return found


@pytest.mark.parametrize(("prior", "served"), [(1.0, "single"), (-4.0, "direct")])
def test_a_learned_one_reads_them(prior: float, served: str, tmp_path: Path):
    write_self_knowledge(path := tmp_path / "records.jsonl", records())
    arbiter, held_out = Arbiter.with_held_out(read_self_knowledge(path))
    assert held_out.gain.mean() > 0.25
    arbiter.save(tmp_path)
    margins = Margins(prior, 0.5 if prior > 0 else -0.5)
    answers = {"direct": CandidateAnswer("Ada"), "single": CandidateAnswer("B", margins=margins)}
    for each in (arbiter, Arbiter.load(tmp_path)):
        assert each.needs_likelihoods
        assert each.judge("Who led team 7?", answers).served == served  # type: ignore[arg-type]


def test_one_that_never_saw_them_does_not_ask_for_them():
    arbiter = Arbiter.fit(records(margins=False))
    assert not arbiter.needs_likelihoods
    blind = {"direct": CandidateAnswer("Ada"), "single": CandidateAnswer("B")}
    told = {
        "direct": CandidateAnswer("Ada"),
        "single": CandidateAnswer("B", margins=Margins(-9.0, -9.0)),
    }
    chances = [arbiter.judge("Who led team 7?", each).chances for each in (blind, told)]  # type: ignore[arg-type]
    assert chances[0] == chances[1]
