"""calibrate: chooses by the aim, promises what is served, and says what is saved."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from skr_core import HashingEmbedder, Usage, load_router
from skr_core.budget import Price
from skr_core.errors import InputError, StampMismatch
from skr_core.types import Stamp
from skr_learn import Record, calibrate
from skr_learn.calibrating import Calibration
from skr_learn.policy import Policy, WeighingPolicy
from skr_learn.records import Outcome, Statement
from tests.skr_learn.made import WORLDS, made, scored

pytestmark = pytest.mark.usefixtures("few_trees")

NAMES = ("ladder", "question", "arbiter", "benefit", "paper", "classifier", "always", "never")


def of_world(name: str, seed: int) -> list[Record]:
    return made(
        WORLDS[name],
        80 if seed % 2 else 60,
        seed,
        actions=3 if seed % 2 else 2,
        telling=name != "noise",
        tokens=name == "half",
    )


def figures(calibration: Calibration) -> tuple[float, float]:
    promised = calibration.summary.promised
    return promised.accuracy.mean, promised.cost.mean


def dominates(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Whether it is as accurate and as cheap, and better in one of the two."""
    return one[0] >= other[0] and one[1] <= other[1] and one != other


def agrees_with_its_router(calibration: Calibration) -> None:
    """What is said of the whole is true of what is returned."""
    summary, router = calibration.summary, calibration.router
    weighs = isinstance(router, WeighingPolicy)
    assert summary.streams is not weighs
    if summary.state in ("pays", "too few"):
        assert f"answers {'still' if summary.streams else 'do not'} stream" in summary.verdict
    else:
        assert not isinstance(router, Policy)
        expected = {"direct": None, "single": 1, "loop": None}[summary.constant]
        decision = router.decide("Who?")
        assert decision.action == summary.constant
        assert decision.max_rounds == expected
        assert summary.shares[summary.constant] == 1.0
    assert sum(summary.shares.values()) == pytest.approx(1.0)
    assert summary.promised.retrieved.mean == pytest.approx(1 - summary.shares["direct"])
    assert summary.verdict in str(calibration)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", WORLDS)
def test_the_default_is_never_dominated_by_a_candidate_alone(name: str, seed: int):
    records = of_world(name, seed)
    whole = calibrate(records)
    agrees_with_its_router(whole)
    for each in (*NAMES, *(["loop"] if seed % 2 else [])):
        alone = calibrate(records, routers=[each])
        agrees_with_its_router(alone)
        assert not dominates(figures(alone), figures(whole)), each


@pytest.mark.parametrize("aim", [{"budget": 0.6}, {"cost_weight": 0.2}, {"retrieval_rate": 0.5}])
def test_nor_at_another_aim(aim: dict[str, float]):
    records = of_world("words", 1)
    names = ["ladder", "question", "paper", "always", "never"]
    whole = calibrate(records, routers=names, **aim)
    for each in names:
        try:
            alone = calibrate(records, routers=[each], **aim)
        except InputError:  # it cannot keep to the aim
            continue
        assert not dominates(figures(alone), figures(whole)), each


@pytest.fixture(scope="module")
def words() -> list[Record]:
    return made(WORLDS["words"], 120, actions=3)


@pytest.fixture(scope="module")
def calibration(words: list[Record]) -> Calibration:
    return calibrate(words)


def test_what_can_be_learnt_is_learnt(calibration: Calibration):
    summary = calibration.summary
    best = summary.constants[summary.baseline]
    assert summary.state == "pays"
    assert summary.gain.low > 0
    assert summary.promised.cost.mean < best.cost.mean
    assert summary.saved > 0.3
    assert isinstance(calibration.router, Policy)
    assert calibration.router.rules.weight >= 0
    assert calibration.router.stamp.model == "m"
    assert len(calibration.router.questions) == 120


def test_what_was_promised_is_served(calibration: Calibration):
    """Of new questions of the same world, within the promised interval widened by their own."""
    fresh = made(WORLDS["words"], 400, seed=77, actions=3)
    taken, answers = calibration.router.replayed(fresh)
    scores = np.array([list(each.outcomes.values())[row].score
                       for each, row in zip(fresh, answers, strict=True)])  # fmt: skip
    promised = calibration.summary.promised
    assert promised.accuracy.low - 0.05 <= scores.mean() <= promised.accuracy.high + 0.05
    assert (taken > 0).mean() == pytest.approx(promised.retrieved.mean, abs=0.15)


def test_the_order_of_the_records_does_not_matter(
    words: list[Record], calibration: Calibration, tmp_path: Path
):
    shuffled = random.Random(3).sample(words, len(words))
    again = calibrate(shuffled)
    assert again.summary == calibration.summary
    assert again.compared == calibration.compared
    for name, each in (("one", again), ("other", calibration)):
        each.save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_what_is_saved_is_what_is_returned(
    words: list[Record], calibration: Calibration, tmp_path: Path
):
    calibration.save(tmp_path / "router")
    again = load_router(tmp_path / "router")
    assert isinstance(again, Policy)
    assert np.array_equal(again.replayed(words), calibration.router.replayed(words))


def test_everything_is_compared_at_the_rule_that_it_would_be_served_with(
    calibration: Calibration,
):
    baseline = calibration.summary.baseline
    assert {"ladder", "question", f"always {baseline}"} <= {*calibration.compared}
    assert calibration.compared[calibration.summary.router] == calibration.summary.promised


@pytest.mark.parametrize("name", ["question", "paper", "classifier", "benefit"])
def test_a_candidate_alone_is_what_is_returned(name: str, words: list[Record], tmp_path: Path):
    two = [replace(each, outcomes={k: v for k, v in each.outcomes.items() if k != "loop"})
           for each in words]  # fmt: skip
    found = calibrate(two, routers=[name])
    assert found.summary.router == name
    found.save(tmp_path / "router")
    router = load_router(tmp_path / "router")
    decided = [router.decide(each.question).retrieve for each in two]
    assert np.mean(decided) == pytest.approx(found.summary.promised.retrieved.mean, abs=0.1)


class TestNothingToAdvise:
    @pytest.mark.parametrize(
        ("score", "answer", "said"),
        [
            (0.0, None, "no answer is right"),
            (1.0, None, "every answer of every action has the score 1"),
            (0.5, None, "has the score 0.5"),
        ],
    )
    def test_one_score_everywhere(self, score: float, answer: str | None, said: str, words):
        self.check(scored(words, score, answer), said)

    @pytest.mark.parametrize(
        ("answer", "said"),
        [
            ("I'm sorry, but I cannot answer this question.", "refusal"),
            ("", "every answer is empty"),
            ("very " * 1_000 + "long", "longer than"),
        ],
    )
    def test_answers_that_say_nothing(self, answer: str, said: str, words: list[Record]):
        same = [
            replace(each, outcomes={
                action: replace(found, answer=answer) for action, found in each.outcomes.items()
            })
            for each in words
        ]  # fmt: skip
        self.check(same, said)

    def check(self, records: Sequence[Record], said: str) -> None:
        found = calibrate(records, anyway=True)
        summary = found.summary
        assert summary.state == "broken"
        assert said in summary.verdict
        assert summary.verdict.startswith("Nothing can be advised")
        assert len(summary.samples) == 5
        assert all(sample in str(found) for sample in summary.samples)
        with pytest.raises(InputError, match="nothing is saved"):
            found.save("never-written")
        assert not Path("never-written").exists()


class TestRefused:
    def test_too_few(self, words):
        with pytest.raises(InputError, match="too few"):
            calibrate(words[:9])
        assert calibrate(words[:10]).summary.n == 10

    def test_what_is_no_record(self):
        with pytest.raises(InputError, match="records are wanted"):
            calibrate("records.jsonl")  # type: ignore[arg-type]

    def test_records_of_two_systems(self, words):
        other = replace(words[0], stamp=Stamp(model="other", retriever="r", metric="contains"))
        with pytest.raises(StampMismatch):
            calibrate([*words[1:], other])

    def test_two_aims(self, words):
        with pytest.raises(InputError, match="give one of"):
            calibrate(words, budget=1.0, retrieval_rate=0.5)

    def test_an_unknown_name(self, words):
        with pytest.raises(InputError):
            calibrate(words, routers=["best"])

    def test_a_field_that_no_record_has(self, words):
        with pytest.raises(InputError, match="tenant"):
            calibrate(words, by="extra.tenant", routers=["question"])

    def test_a_statement_that_is_not_on_record(self, words):
        with pytest.raises(InputError, match="not every record holds a statement"):
            calibrate(words, routers=["certainty_level"])

    def test_an_arbiter_that_streams(self, words):
        with pytest.raises(InputError, match="cannot stream"):
            calibrate(words, routers=["arbiter"], stream=True)


def test_ten_records_of_one_question_and_another(words: list[Record]):
    """Folds that fit on a single record."""
    assert calibrate([words[0]] * 9 + [words[1]]).summary.n == 10


def test_few_questions_are_told(words: list[Record]):
    """Of noise that was forced: too few, or that it does not pay, and never that it does."""
    some = made(WORLDS["noise"], 30, telling=False)
    found = calibrate(some, routers=["question"], anyway=True).summary
    assert found.state in ("too few", "does not pay")
    assert found.verdict.startswith(("Too few questions to tell", "Routing does not pay"))


class TestNoise:
    @pytest.mark.parametrize("seed", range(3))
    def test_a_constant_is_advised_or_little_promised(self, seed: int):
        summary = calibrate(made(WORLDS["noise"], 150, seed, telling=False)).summary
        assert summary.gain.low < 0.05

    def test_anyway_takes_what_does_not_pay_and_says_so(self):
        records = made(WORLDS["always"], 120)
        found = calibrate(records, routers=["classifier"], anyway=True)
        assert found.summary.router == "classifier"
        assert found.summary.constant is None
        assert found.router.kind == "classifier"
        plain = calibrate(records, routers=["classifier"])
        if plain.summary.constant is not None:
            assert found.summary.state == "does not pay"
            assert "Routing does not pay" in found.summary.verdict
            assert f"{found.summary.promised.calls.mean:.1f} calls" in found.summary.verdict


class TestStreaming:
    def test_it_serves_the_last_answer_asked_for(self, words: list[Record]):
        found = calibrate(words, stream=True)
        agrees_with_its_router(found)
        assert found.summary.streams
        assert "arbiter" not in found.compared
        if isinstance(found.router, Policy):
            taken, answers = found.router.replayed(words)
            assert np.array_equal(taken, answers)

    def test_what_streaming_costs_is_told_where_answers_do_not(self, calibration: Calibration):
        assert not calibration.summary.streams
        (told,) = [note for note in calibration.summary.notes if "cannot stream" in note]
        assert "calibrated to stream (stream=True, or --stream of the command)" in told
        assert "points" in told


class TestAims:
    @pytest.mark.parametrize("budget", [0.0, 0.3, 0.8, 1.5])
    def test_a_budget(self, budget: float, words: list[Record]):
        found = calibrate(words, budget=budget, routers=["ladder"])
        agrees_with_its_router(found)
        assert found.summary.promised.cost.mean <= budget + 0.1

    def test_a_larger_budget_promises_more(self, words):
        small, large = (
            calibrate(words, budget=each, routers=["ladder"]).summary for each in (0.3, 1.5)
        )
        assert small.promised.accuracy.mean < large.promised.accuracy.mean

    def test_a_budget_below_the_best_action_is_not_answered_by_that_action(self):
        noise = made(WORLDS["always"], 60, telling=False)
        summary = calibrate(noise, budget=0.0, routers=["ladder"]).summary
        assert (summary.constant, summary.baseline) == ("direct", "single")
        assert "answer every question directly" in summary.verdict
        assert "more than is aimed at" in summary.verdict
        assert f"{round(60 * summary.constants['direct'].accuracy.mean)} of 60" in summary.verdict

    def test_an_impossible_budget(self):
        with pytest.raises(InputError, match="no candidate keeps to the aim; the cheapest"):
            calibrate(made(WORLDS["words"], 40, tokens=True), budget=0.01)

    @pytest.mark.parametrize("rate", [0.0, 0.25, 0.6])
    def test_a_rate(self, rate: float, words: list[Record]):
        found = calibrate(words, retrieval_rate=rate, routers=["question"]).summary
        assert found.promised.retrieved.mean <= rate + 0.05

    @pytest.mark.parametrize("weight", [0.0, 0.07, 3.0])
    def test_a_weight_is_the_one_that_is_served(self, weight: float, words: list[Record]):
        found = calibrate(words, cost_weight=weight, routers=["ladder"], anyway=True)
        assert found.router.rules.weight == weight
        agrees = found.router.replayed(words)[0].mean() / 2
        assert 0 <= agrees <= 1
        if weight == 3.0:
            assert found.summary.promised.retrieved.mean < 0.1


class TestCosts:
    def test_tokens_are_counted_where_they_are_known(self):
        records = made(WORLDS["words"], 60, tokens=True)
        assert calibrate(records, routers=["question"]).summary.unit == "tokens"
        mixed = [*records[1:], made(WORLDS["words"], 1, seed=9)[0]]
        assert calibrate(mixed, routers=["question"]).summary.unit == "retrievals"
        with pytest.raises(InputError, match="usage"):
            calibrate(mixed, routers=["question"], cost="tokens")

    def test_dollars_have_their_prices(self):
        records = made(WORLDS["words"], 60, tokens=True)
        found = calibrate(records, routers=["question"], cost="usd", prices={"m": Price(1.0, 2.0)})
        assert found.summary.unit == "usd"
        # 100 tokens read at a dollar a million, and 10 written at two.
        assert found.summary.constants["direct"].cost.mean == pytest.approx(120e-6)
        with pytest.raises(InputError, match="prices"):
            calibrate(records, cost="usd")

    def test_ones_own_cost(self):
        def paid(outcome: Outcome) -> float:
            return 0.5 if outcome.retrievals else 0.1

        found = calibrate(made(WORLDS["words"], 60), cost=paid, routers=["question"]).summary
        assert found.unit == "cost"
        assert found.constants["direct"].cost.mean == pytest.approx(0.1)
        assert found.constants["single"].cost.mean == pytest.approx(0.5)

    @pytest.mark.parametrize("wrong", [-1.0, float("nan"), float("inf")])
    def test_a_cost_is_a_number_from_zero(self, wrong: float):
        with pytest.raises(InputError, match="from 0"):
            calibrate(made(WORLDS["words"], 20), cost=lambda _: wrong)

    def test_what_costs_more_says_how_much(self):
        dear = [
            replace(each, outcomes={
                action: replace(found, usage=Usage(100 if action == "direct" else 9_000, 0, 1))
                for action, found in each.outcomes.items()
            })
            for each in made(lambda topic: (0.9, 0.0) if topic != "firm" else (0.05, 0.95), 120)
        ]  # fmt: skip
        summary = calibrate(dear, routers=["question"]).summary
        assert summary.baseline == "direct"
        assert summary.state == "pays"
        times = summary.promised.cost.mean / summary.constants["direct"].cost.mean
        assert times > 10
        assert f"costs {times:.0f} times as much" in summary.verdict

    def test_loops_that_nobody_counted_are_told(self, words):
        uncounted = [
            replace(each, outcomes={
                action: replace(found, retrievals=None) for action, found in each.outcomes.items()
            })
            for each in words
        ]  # fmt: skip
        found = calibrate(uncounted, routers=["question"], assumed_steps=2.5).summary
        assert any("2.5 times" in note for note in found.notes)
        assert found.constants["loop"].cost.mean == 2.5

    def test_asking_the_model_is_priced_in(self):
        said = [
            replace(
                each,
                statements={
                    "certainty_level": Statement(
                        each.value("topic") != "river", usage=Usage(500, 0, 1)
                    )
                },
            )
            for each in made(WORLDS["words"], 80, tokens=True)
        ]
        found = calibrate(said, routers=["certainty_level"]).summary
        whole = calibrate(said)
        assert "certainty_level" in whole.compared
        assert found.router == "certainty_level"
        share = found.promised.retrieved.mean
        assert found.promised.cost.mean == pytest.approx(0.5 + 0.11 + 0.9 * share, abs=1e-6)


@pytest.fixture(scope="module")
def tenants() -> list[Record]:
    """Of rivers the model knows something for the first tenant alone."""
    return [
        replace(each, extra={**each.extra, "tenant": tenant})
        for tenant, world in (
            ("one", lambda topic: (0.95, 0.05) if topic == "river" else (0.05, 0.95)),
            ("two", lambda _: (0.05, 0.95)),
        )
        for each in made(world, 60 + 60 * (tenant == "one"), ord(tenant[0]), telling=False)
    ]


class TestGroups:
    def test_a_group_that_surely_loses_takes_its_constant(self, tenants: list[Record]):
        found = calibrate(tenants, routers=["question"], by="tenant", anyway=True)
        plain = calibrate(tenants, routers=["question"], anyway=True)
        assert found.router.rules.by == "tenant"
        assert found.router.rules.groups == {"two": "single"}
        assert found.summary.groups["two"][1] == "single"
        assert found.summary.groups["two"][0].high < 0
        assert found.summary.groups["one"][1] is None
        assert figures(found)[0] > figures(plain)[0]
        taken, _ = found.router.replayed(tenants)
        two = np.array([each.value("tenant") == "two" for each in tenants])
        assert (taken[two] == 1).all()
        assert (taken > 0).mean() == pytest.approx(found.summary.promised.retrieved.mean, abs=0.1)

    def test_a_router_that_cannot_promises_nothing_of_it(self, tenants: list[Record]):
        given: dict[str, Any] = {"routers": ["classifier"], "anyway": True}
        found = calibrate(tenants, by="tenant", **given)
        assert figures(found) == figures(calibrate(tenants, **given))
        assert all(action is None for _, action in found.summary.groups.values())
        assert any("two surely loses" in note for note in found.summary.notes)


def test_an_embedder_of_ones_own_is_a_part_of_it(tmp_path: Path):
    class Own(HashingEmbedder):
        name = "own"
        asked = 0

        def embed(self, texts: Sequence[str]) -> Any:
            self.asked += len(texts)
            return super().embed(texts)[:, :64]

    records, own = made(WORLDS["words"], 40), Own()
    found = calibrate(records, embedder=own, routers=["ladder"], anyway=True, reflector=True)
    assert found.router.embedder is own
    assert own.asked <= 3 * len(records)  # each text once, whatever it is embedded for
    found.save(tmp_path / "router")
    assert isinstance(load_router(tmp_path / "router", embedder=own), Policy)


def test_a_reflector_is_a_part_of_the_policy(tmp_path: Path):
    found = calibrate(made(WORLDS["words"], 60), routers=["ladder"], anyway=True, reflector=True)
    assert found.router.reflector is not None
    with pytest.raises(InputError, match="part of a policy"):
        calibrate(made(WORLDS["words"], 60), routers=["paper"], anyway=True, reflector=True)


def test_progress_ends_at_the_end():
    told: list[tuple[int, int]] = []
    calibrate(
        made(WORLDS["words"], 20), routers=["paper"], on_progress=lambda *done: told.append(done)
    )
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_the_curve_is_drawn(calibration: Calibration, tmp_path: Path):
    curve = calibration.curve
    assert curve.chosen.mean == calibration.summary.promised.accuracy.mean
    assert list(curve.costs) == sorted(curve.costs)
    curve.plot(tmp_path / "curve.png")
    assert (tmp_path / "curve.png").stat().st_size > 1_000
    with pytest.raises(InputError, match="ends in"):
        curve.plot(tmp_path / "curve.txt")


def test_how_often_the_surest_are_right_is_drawn_and_told(calibration: Calibration, tmp_path: Path):
    told = calibration.summary.reliability
    assert told is not None
    told.plot(tmp_path / "surest.png")
    assert (tmp_path / "surest.png").stat().st_size > 1_000
    half = told.surest_of(0.5)
    assert f"surest 50%  {half.accuracy.mean:.3f}" in str(calibration)
