"""Policies: served one by one as replayed at once, whatever they look at, saved and loaded."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from skr_core import CandidateAnswer, Generation, HashingEmbedder, load_router
from skr_core.candidates import Standing
from skr_core.errors import DataError, InputError, StampMismatch
from skr_core.routers import AlwaysRetrieve
from skr_core.routers.saving import SavedRouter
from skr_core.testing import ScriptedModel
from skr_core.types import Action
from skr_learn import Record
from skr_learn.candidates import OfPolicy, Training
from skr_learn.costs import ActionTable
from skr_learn.features.answers import agree
from skr_learn.policy import Policy, WeighingPolicy
from skr_learn.reflector import LearnedReflector
from tests.skr_learn.made import QUESTIONS, WORLDS, made

pytestmark = pytest.mark.usefixtures("few_trees")

ROUNDS: dict[Action, int | None] = {"direct": None, "single": 1, "loop": None}


class OwnEmbedder(HashingEmbedder):
    """Knows what only the user's own can know: whether a team or a song is asked about."""

    name = "own"

    def embed(self, texts: Sequence[str]) -> Any:
        return np.array([[float("team" in each or "song" in each)] for each in texts], np.float32)


def training(actions: int, embedder: OwnEmbedder | None = None) -> Training:
    records = made(WORLDS["words"], 150, actions=actions)
    return Training(records, ActionTable.of(records), embedder)


THREE = training(3)
TWO = training(2)
UNSEEN = made(WORLDS["words"], 40, seed=5, actions=3)
KINDS = {
    "ladder": (THREE, "ladder", False),
    "ladder of two": (TWO, "ladder", False),
    "streaming ladder": (THREE, "ladder", True),
    "question": (THREE, "question", False),
    "question of two": (TWO, "question", False),
    "arbiter": (THREE, "arbiter", False),
}


@pytest.fixture(scope="module", params=KINDS)
def policy(request: pytest.FixtureRequest) -> Policy:
    given, name, stream = KINDS[request.param]
    return OfPolicy(name, stream).router(given, 0.05)


@pytest.fixture(scope="module")
def ladder() -> WeighingPolicy:
    found = OfPolicy("ladder").router(THREE, 0.05)
    assert isinstance(found, WeighingPolicy)
    return found


def generation(record: Record) -> Generation:
    return Generation(record.direct.answer)


def served_one_by_one(policy: Policy, record: Record, *, awaited: bool = False) -> tuple[int, int]:
    """Do what a system does: ask for one answer after the other as long as the policy says so."""

    def ask(name: str, *given: Any) -> Any:
        if awaited:
            return asyncio.run(getattr(policy, f"a{name}")(*given))
        return getattr(policy, name)(*given)

    actions, question = policy.actions, record.question
    given = {action: record.outcomes[action].candidate for action in actions}
    if policy.drafts:
        decision = ask("decide_on", question, generation(record))
    else:
        decision = ask("decide", question)
    place = 0
    if decision.retrieve and policy.rules.looks == "answers":
        place = 1
        while place + 1 < len(actions):
            decision = ask(
                "decide_after", question, {each: given[each] for each in actions[: place + 1]}
            )
            if decision.max_rounds == ROUNDS[actions[place]]:
                break
            place += 1
    elif decision.retrieve:
        place = next(
            place
            for place, action in enumerate(actions)
            if place and ROUNDS[action] == decision.max_rounds
        )
    if not isinstance(policy, WeighingPolicy):
        return place, place
    verdict = ask("judge", question, {each: given[each] for each in actions[: place + 1]})
    return place, actions.index(verdict.served)


@pytest.mark.parametrize("weight", [0.0, 0.05, 0.3, 1e6])
def test_one_by_one_it_does_what_is_replayed_at_once(policy: Policy, weight: float):
    policy = policy.with_rules(weight=weight)
    taken, answers = policy.replayed(UNSEEN)
    for row, record in enumerate(UNSEEN[:20]):
        place, served = served_one_by_one(policy, record)
        assert place == taken[row]
        texts = [record.outcomes[policy.actions[each]].answer for each in (served, answers[row])]
        assert served == answers[row] or agree(*texts)


def test_awaited_it_does_the_same(policy: Policy):
    for record in UNSEEN[:6]:
        found = served_one_by_one(policy, record, awaited=True)
        assert found == served_one_by_one(policy, record)


def test_the_weight_decides_at_its_ends(policy: Policy):
    if policy.rules.looks == "nothing":
        assert (policy.replayed(UNSEEN)[0] == len(policy.actions) - 1).all()
        return
    shares = [
        policy.with_rules(weight=weight).replayed(UNSEEN)[0].mean() for weight in (0.0, 0.1, 0.5)
    ]
    assert shares[0] >= shares[1] >= shares[2]
    assert shares[0] > 0
    assert (policy.with_rules(weight=1e6).replayed(UNSEEN)[0] == 0).all()


def test_it_has_learnt_what_there_is_to_learn():
    taken, _ = OfPolicy("question").router(THREE, 0.05).replayed(UNSEEN)
    topics = np.array([record.value("topic") for record in UNSEEN])
    assert (taken[topics == "river"] == 0).mean() > 0.8
    assert (taken[topics == "song"] == 2).mean() > 0.8
    others = (topics == "firm") | (topics == "team")
    assert (taken[others] == 1).mean() > 0.8


def test_a_question_alone_leads_straight_to_one_round_or_to_the_loop():
    policy = OfPolicy("question").router(THREE, 0.1)
    one = policy.decide(QUESTIONS["firm"].format("3 of 4"))
    loop = policy.decide(QUESTIONS["song"].format("3 of 4"))
    none = policy.decide(QUESTIONS["river"].format("3 of 4"))
    assert (one.action, one.max_rounds) == ("single", 1)
    assert (loop.action, loop.max_rounds) == ("loop", None)
    assert (none.action, policy.drafts) == ("direct", False)
    assert not isinstance(policy, WeighingPolicy)


def test_an_arbiter_asks_for_all_and_serves_the_likeliest():
    policy = OfPolicy("arbiter").router(THREE, 0.0)
    assert isinstance(policy, WeighingPolicy)
    decision = policy.decide(QUESTIONS["river"].format("3 of 4"))
    assert (decision.retrieve, decision.max_rounds) == (True, None)
    _, answers = policy.replayed(UNSEEN)
    rows = np.arange(len(UNSEEN))
    scores = ActionTable.of(UNSEEN).scores
    assert scores[rows, answers].mean() > scores.mean(axis=0).max() + 0.1


def test_it_decides_after_the_direct_answer_of_its_own_model():
    model = ScriptedModel(["no song, 12"])
    policy = OfPolicy("ladder").router(THREE, 0.05)
    with pytest.raises(InputError, match="give model="):
        policy.decide(QUESTIONS["song"].format("7 of 3"))
    asking = Policy.of(policy.rules, policy.stages, model=model)
    decision = asking.decide(QUESTIONS["song"].format("7 of 3"))
    assert (decision.retrieve, decision.draft) == (True, "no song, 12")
    on = policy.decide_on(
        QUESTIONS["song"].format("7 of 3"), Generation(decision.draft, decision.usage)
    )
    assert on == decision


def test_what_it_says_of_a_decision(ladder: WeighingPolicy):
    decision = ladder.decide_on(QUESTIONS["firm"].format("7 of 3"), Generation("no firm, 9"))
    assert decision.retrieve
    assert decision.score is not None
    assert decision.threshold is not None
    assert decision.score > decision.threshold
    assert "judging by the answer from memory" in decision.reason


class TestVerdicts:
    def test_the_chances_are_those_of_the_answers_at_hand(self, ladder: WeighingPolicy):
        given = {"direct": CandidateAnswer("no song, 3"), "single": CandidateAnswer("song 7")}
        verdict = ladder.judge(QUESTIONS["song"].format("7 of 3"), given)
        assert list(verdict.chances) == ["direct", "single"]
        assert all(0 <= chance <= 1 for chance in verdict.chances.values())
        assert verdict.served == max(verdict.chances, key=verdict.chances.__getitem__)
        assert "likeliest to be right" in verdict.reason

    def test_of_answers_that_say_the_same_the_grounded_one_is_served(self, ladder):
        given = {
            "direct": CandidateAnswer("song 7"),
            "single": CandidateAnswer("Song 7.", grounded=True, standing=Standing(1, 1, 1)),
        }
        stating = Policy.of(ladder.rules, ladder.stages)  # as if the records stated everything
        verdict = stating.judge(QUESTIONS["song"].format("7 of 3"), given)
        assert (verdict.served, verdict.reason) == ("single", "all answers agree")
        # Of records that do not say what is grounded, nothing like it is looked at.
        assert ladder.judge(QUESTIONS["song"].format("7 of 3"), given).reason == "all answers agree"

    def test_a_single_answer_is_served(self, ladder):
        verdict = ladder.judge("Who?", {"direct": CandidateAnswer("Ada")})
        assert (verdict.served, verdict.reason) == ("direct", "it is the only answer")

    def test_without_the_direct_answer_there_is_nothing_to_judge(self, ladder):
        for ask in (ladder.judge, ladder.decide_after):
            with pytest.raises(InputError, match="missing: direct"):
                ask("Who?", {"single": CandidateAnswer("Ada")})


def test_an_answer_unlike_any_on_record_is_judged(ladder: WeighingPolicy):
    for text in ("", "x" * 100_000, "very " * 50_000, "\N{FAMILY}" * 5_000, "\ud800"):
        given = {"direct": CandidateAnswer(text), "single": CandidateAnswer("Ada")}
        decision = ladder.decide_on(f"Who? {text[:2_000]}", Generation(text))
        assert decision.score is not None
        assert np.isfinite(decision.score)
        assert np.isfinite(list(ladder.judge("Who?", given).chances.values())).all()


class TestGroups:
    def test_a_group_takes_its_constant(self, ladder):
        grouped = ladder.with_rules(by="topic", groups={"song": "loop", "river": "direct"})
        assert grouped.for_group("song").decide("Who?").max_rounds is None
        assert not grouped.for_group("river").decide("Who?").retrieve
        assert grouped.for_group("firm") is grouped
        taken, answers = grouped.replayed(UNSEEN)
        before, _ = ladder.replayed(UNSEEN)
        for row, record in enumerate(UNSEEN):
            expected = {"song": 2, "river": 0}.get(record.value("topic"), before[row])
            assert taken[row] == expected
            if record.value("topic") in ("song", "river"):
                assert answers[row] == expected

    def test_the_value_of_a_group_may_be_any(self, ladder):
        grouped = ladder.with_rules(by="year", groups={"1999": "direct"})
        assert not grouped.for_group(1999).decide("Who?").retrieve


@pytest.mark.parametrize(
    "changes",
    [
        {"weight": -1.0},
        {"weight": np.nan},
        {"weight": np.inf},
        {"looks": "everything"},
        {"serves": "first"},
        {"costs": (1.0,)},
        {"costs": (0.0, 1.0, np.nan)},
        {"actions": ("single", "direct", "loop")},
        {"actions": ("direct", "direct", "loop")},
        {"actions": ("direct",), "costs": (0.0,)},
        {"groups": {"a": "all"}},
    ],
    ids=str,
)
def test_rules_that_cannot_be_are_refused(ladder, changes: dict[str, Any]):
    with pytest.raises(InputError):
        ladder.with_rules(**changes)


def test_other_rules_change_nothing_else(ladder):
    reflector = LearnedReflector.fit(THREE.records)
    ladder = Policy.of(ladder.rules, ladder.stages, stamp=ladder.stamp, reflector=reflector)
    streaming = ladder.with_rules(serves="last", weight=0.1)
    assert not isinstance(streaming, WeighingPolicy)
    assert streaming.reflector is reflector
    assert (streaming.rules.weight, ladder.rules.weight) == (0.1, 0.05)
    assert streaming.stamp == ladder.stamp


class TestSaving:
    def test_what_is_loaded_decides_the_same(self, policy: Policy, tmp_path: Path):
        policy = policy.with_rules(by="topic", groups={"river": "direct"})
        policy.save(tmp_path / "policy")
        again = load_router(tmp_path / "policy")
        assert isinstance(again, Policy)
        assert type(again) is type(policy)
        assert again.rules == policy.rules
        assert (again.rules.groups, again.stamp) == (policy.rules.groups, policy.stamp)
        assert again.questions == policy.questions
        for found, expected in zip(again.replayed(UNSEEN), policy.replayed(UNSEEN), strict=True):
            assert np.array_equal(found, expected)
        one, other = again.outlook(UNSEEN), policy.outlook(UNSEEN)
        for name in ("gains", "chances"):
            for these, those in zip(getattr(one, name), getattr(other, name), strict=True):
                assert np.array_equal(these, those)

    def test_the_same_policy_makes_the_same_bytes(self, ladder, tmp_path: Path):
        for name in ("one", "other"):
            ladder.save(tmp_path / name)
        OfPolicy("ladder").router(training(3), 0.05).save(tmp_path / "anew")
        whole = (tmp_path / "one").read_bytes()
        assert (tmp_path / "other").read_bytes() == (tmp_path / "anew").read_bytes() == whole

    def test_another_model_is_refused(self, ladder, tmp_path: Path):
        ladder.save(tmp_path / "policy")
        other = ScriptedModel(["7"], name="other")
        with pytest.raises(StampMismatch, match="made with the model 'm', not 'other'"):
            load_router(tmp_path / "policy", model=other)
        assert load_router(tmp_path / "policy", model=other, force=True).decide("Who?").draft == "7"

    def test_another_kind_is_refused(self, tmp_path: Path):
        AlwaysRetrieve().save(tmp_path / "always")
        with pytest.raises(InputError, match="holds the router 'always', not 'policy'"):
            Policy.load(tmp_path / "always")

    def test_a_reflector_is_a_part_of_it(self, ladder, tmp_path: Path):
        made_of = LearnedReflector.fit(THREE.records)
        Policy.of(ladder.rules, ladder.stages, reflector=made_of).save(tmp_path / "policy")
        whole, alone = Policy.load(tmp_path / "policy"), LearnedReflector.load(tmp_path / "policy")
        assert whole.reflector is not None
        for question, draft in (("Who led team 3?", "team 3"), ("Who?", "no team, 9")):
            expected = made_of.reflect(question, [], draft)
            assert whole.reflector.reflect(question, [], draft) == expected
            assert alone.reflect(question, [], draft) == expected


class TestOwnEmbedder:
    def test_its_vectors_are_looked_at(self):
        """Nothing but the embedder tells these questions apart."""
        blind = [
            Record.of(f"Q{number}?", direct=("a", number % 2), single=("b", 1 - number % 2))
            for number in range(80)
        ]

        class Odd(OwnEmbedder):
            def embed(self, texts: Sequence[str]) -> Any:
                digits = ["".join(filter(str.isdigit, each)) or "0" for each in texts]
                return np.array([[float(int(each) % 2) * 4] for each in digits], np.float32)

        def right(embedder: OwnEmbedder | None) -> float:
            known = Training(blind, ActionTable.of(blind), embedder)
            _, rules = OfPolicy("question").rules(known)
            return max(float(each.scores.mean()) for each in rules)

        assert right(Odd()) > 0.95
        assert right(None) < 0.7

    @pytest.mark.parametrize("name", ["ladder", "question"])
    def test_it_is_needed_again(self, name: str, tmp_path: Path):
        policy = OfPolicy(name).router(training(2, OwnEmbedder()), 0.05)
        policy.save(tmp_path / "policy")
        with pytest.raises(InputError, match="give embedder="):
            load_router(tmp_path / "policy")
        with pytest.raises(StampMismatch, match="embedder"):
            load_router(tmp_path / "policy", embedder=HashingEmbedder())
        again = load_router(tmp_path / "policy", embedder=OwnEmbedder())
        assert np.array_equal(again.replayed(UNSEEN), policy.replayed(UNSEEN))
        record = UNSEEN[0]
        assert served_one_by_one(again, record) == served_one_by_one(policy, record, awaited=True)


@pytest.fixture(scope="module")
def saved(ladder: WeighingPolicy, tmp_path_factory: pytest.TempPathFactory) -> SavedRouter:
    path = tmp_path_factory.mktemp("saved") / "policy"
    reflector = LearnedReflector.fit(THREE.records[:60])
    Policy.of(ladder.rules, ladder.stages, reflector=reflector).save(path)
    return SavedRouter.read(path)


def assert_broken(path: Path) -> None:
    with pytest.raises(DataError) as caught:
        load_router(path)
    assert "\n" not in str(caught.value)


RULES = ("actions", "costs", "looks", "serves", "weight", "groups", "stages", "by", "unit")


@pytest.mark.parametrize("name", RULES)
def test_parameters_that_are_missing_or_others_are_told(
    name: str, saved: SavedRouter, tmp_path: Path
):
    for wrong in ([], {}, "x", -1, [1], ["direct"], {"a": "b"}, None, [None] * 3, [{}] * 3):
        if name in ("by", "unit") or (name == "groups" and wrong in ([], {})):
            continue
        parameters = {**saved.parameters, name: wrong}
        SavedRouter("policy", parameters, saved.arrays).write(tmp_path / "wrong")
        assert_broken(tmp_path / "wrong")
    parameters = {key: value for key, value in saved.parameters.items() if key != name}
    SavedRouter("policy", parameters, saved.arrays).write(tmp_path / "missing")
    assert_broken(tmp_path / "missing")


@pytest.mark.parametrize("part", ["stage0.gains", "stage1.chances", "reflector.chances"])
def test_arrays_of_another_kind_are_told(part: str, saved: SavedRouter, tmp_path: Path):
    names = [name for name in saved.arrays if name.startswith(part)]
    assert names
    for name in names:
        array = saved.arrays[name]
        for wrong in (None, np.full(array.shape, np.nan), array.reshape(-1)[:1][None, None, None]):
            arrays = {key: value for key, value in saved.arrays.items() if key != name}
            if wrong is not None:
                arrays[name] = wrong
            if wrong is not None and not wrong.size:
                continue  # nothing is learnt of vectors
            SavedRouter("policy", saved.parameters, arrays).write(tmp_path / "wrong")
            assert_broken(tmp_path / "wrong")


def test_what_counts_other_features_than_today_is_told(saved: SavedRouter, tmp_path: Path):
    arrays = dict(saved.arrays)
    for name in ("means", "scales", "of_numbers"):
        array = arrays[f"stage0.gains.{name}"]
        arrays[f"stage0.gains.{name}"] = np.concatenate([array, array[:1]])
    SavedRouter("policy", saved.parameters, arrays).write(tmp_path / "wrong")
    assert_broken(tmp_path / "wrong")


def test_a_file_that_ends_early_is_told(ladder: WeighingPolicy, tmp_path: Path):
    ladder.save(tmp_path / "policy")
    whole = (tmp_path / "policy").read_bytes()
    for end in range(0, len(whole), len(whole) // 20):
        (tmp_path / "policy").write_bytes(whole[:end])
        assert_broken(tmp_path / "policy")
