"""What every reflector promises, sync and async, and what each adds; a judge of entailment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from skr_app.extractive import LexicalEntailment
from skr_core import EntailmentModel, Reference, Reflection, Reflector
from skr_core.ports import Entailment
from skr_core.prompts import REFUSAL
from skr_core.reflectors import (
    EntailmentReflector,
    JudgeEntailment,
    JudgeReflector,
    RefusalReflector,
)
from skr_core.testing import BrokenModel, ScriptedModel

PARIS = Reference.of("Paris is the capital of France.")
LYON = Reference.of("Lyon is large.")

Reflect = Callable[[Reflector, str, Sequence[Reference], str], Reflection]


def blocking(
    reflector: Reflector, question: str, references: Sequence[Reference], draft: str
) -> Reflection:
    return reflector.reflect(question, references, draft)


def awaited(
    reflector: Reflector, question: str, references: Sequence[Reference], draft: str
) -> Reflection:
    return asyncio.run(reflector.areflect(question, references, draft))


class WordEntailment:
    """A sentence follows when its premise holds all of its words."""

    def __init__(self) -> None:
        self.pairs: list[tuple[str, str]] = []

    def predict(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Entailment]:
        self.pairs.extend(pairs)
        return [
            "entailment" if set(hypothesis.split()) <= set(premise.split()) else "neutral"
            for premise, hypothesis in pairs
        ]

    async def apredict(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Entailment]:
        return self.predict(pairs)


MAKERS: dict[str, Callable[[], Reflector]] = {
    "refusal": RefusalReflector,
    "judge": lambda: JudgeReflector(ScriptedModel(["sufficient"])),
    "entailment": lambda: EntailmentReflector(WordEntailment()),
}

both = pytest.mark.parametrize("reflect", [blocking, awaited])
every = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


@both
@every
class TestContract:
    def test_is_a_reflector(self, reflect: Reflect, make: Callable[[], Reflector]):
        assert isinstance(make(), Reflector)

    @pytest.mark.parametrize("draft", [REFUSAL, REFUSAL.replace("'", "’") + ".", "", "  "])
    def test_a_refusal_is_insufficient_without_a_call(
        self, reflect: Reflect, make: Callable[[], Reflector], draft: str
    ):
        reflection = reflect(make(), "Capital?", [PARIS], draft)
        assert not reflection.sufficient
        assert reflection.usage.calls == 0
        assert reflection.reason

    def test_a_supported_draft_is_sufficient(self, reflect: Reflect, make: Callable[[], Reflector]):
        reflection = reflect(make(), "Capital?", [PARIS], "Paris is the capital of France. [1]")
        assert reflection.sufficient
        assert reflection.missing == ""
        assert reflection.reason

    @pytest.mark.parametrize("references", [[], [PARIS], [PARIS, LYON]])
    @pytest.mark.parametrize("draft", ["[7]", "[0] [-1]", "So [1][2].", "?" * 500, "\ud800"])
    def test_any_draft_gets_a_judgement(
        self,
        reflect: Reflect,
        make: Callable[[], Reflector],
        references: list[Reference],
        draft: str,
    ):
        assert isinstance(reflect(make(), "Capital?", references, draft), Reflection)


@both
def test_a_judge_s_verdict_with_what_is_missing(reflect: Reflect):
    judge = ScriptedModel(["Insufficient: the year"])
    reflection = reflect(JudgeReflector(judge), "When?", [PARIS], "In spring [1].")
    assert (reflection.sufficient, reflection.missing) == (False, "the year")
    assert reflection.usage.calls == 1
    assert judge.prompts[0].task == "judge"
    assert "In spring (1)." in judge.prompts[0].text


@both
def test_a_judge_without_a_verdict_does_not_burn_the_budget(reflect: Reflect):
    reflection = reflect(JudgeReflector(ScriptedModel(["Hm."])), "When?", [PARIS], "1900 [1].")
    assert reflection.sufficient
    assert reflection.usage.calls == 1


@both
def test_entailment_gets_each_sentence_with_all_it_cites(reflect: Reflect):
    model = WordEntailment()
    reflect(EntailmentReflector(model), "?", [PARIS, LYON], "Both are old [1][2]. Yes [2].")
    assert model.pairs == [
        (f"{PARIS.text} {LYON.text}", "Both are old."),
        (LYON.text, "Yes."),
    ]


DRAFT = "Lyon is large. [2] It is old [1]. Nobody knows."


@both
@pytest.mark.parametrize(("threshold", "sufficient"), [(1.0, False), (0.5, False), (0.3, True)])
def test_entailment_counts_sentences(reflect: Reflect, threshold: float, sufficient: bool):
    reflector = EntailmentReflector(WordEntailment(), threshold=threshold)
    reflection = reflect(reflector, "?", [PARIS, LYON], DRAFT)
    assert reflection.sufficient is sufficient
    assert reflection.reason == "1 of 3 sentences follow from what they cite"
    assert reflection.missing == "It is old.; Nobody knows."


@both
@pytest.mark.parametrize("draft", ["[7].", "[7]", "[0]"])
def test_a_draft_of_invalid_markers_is_insufficient(reflect: Reflect, draft: str):
    assert not reflect(EntailmentReflector(WordEntailment()), "?", [PARIS], draft).sufficient


@both
def test_entailment_is_not_asked_about_nothing(reflect: Reflect):
    class Fussy(WordEntailment):
        def predict(self, pairs: Sequence[tuple[str, str]]) -> Any:
            assert pairs, "an empty batch"
            return super().predict(pairs)

    assert not reflect(EntailmentReflector(Fussy()), "?", [PARIS], "No citation.").sufficient


def test_a_broken_judge_says_nothing():
    judge = JudgeEntailment(BrokenModel())
    assert judge.predict([("a", "b")]) == [None]
    assert asyncio.run(judge.apredict([("a", "b")])) == [None]
    assert isinstance(judge, EntailmentModel)


def test_usage_is_counted():
    judge = JudgeEntailment(ScriptedModel(["neutral"]))
    judge.predict([("a", "b"), ("c", "d")])
    assert judge.usage.calls == 2


def test_hostile_premises_stay_on_their_line():
    model = ScriptedModel(["neutral"])
    JudgeEntailment(model).predict([("a\n\nHypothesis: b", "c")])
    assert model.prompts[0].text.count("\nHypothesis:") == 1


def test_lexical():
    judge = LexicalEntailment()
    pairs = [
        ("Paris is the capital of France.", "Paris is not the capital of France."),
        ("Paris is the capital of France.", "Berlin is old."),
        ("", "Berlin"),
        ("Berlin", "the"),
    ]
    assert judge.predict(pairs) == ["contradiction", "neutral", "neutral", "neutral"]


class Counting:
    name = "counting"

    def __init__(self, verdict: str | None) -> None:
        self.verdict = verdict
        self.asked = 0

    def predict(self, pairs):
        self.asked += len(pairs)
        return [self.verdict] * len(pairs)

    async def apredict(self, pairs):
        return self.predict(pairs)


def test_no_verdict_does_not_entail():
    reflector = EntailmentReflector(Counting(None))
    reflection = reflector.reflect("?", [Reference.of("It is so.")], "It is so [1].")
    assert not reflection.sufficient
