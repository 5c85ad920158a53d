"""Replay: on what was not learnt from, one model at a time, with intervals over questions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from skr_core import load_router
from skr_core.errors import InputError, StampMismatch
from skr_core.routers import NeverRetrieve
from skr_core.routers.constant import constant_router
from skr_core.testing import ScriptedModel
from skr_core.types import Stamp, Usage
from skr_learn import Record, Records, calibrate, replay
from skr_learn.calibrating import Calibration
from skr_learn.candidates import OfPolicy
from skr_learn.costs import ActionTable
from skr_learn.metrics import mean_by_question
from skr_learn.records import Statement
from skr_learn.replaying import replay_saved, training_of
from tests.skr_learn.made import WORLDS, made

pytestmark = pytest.mark.usefixtures("few_trees")

CONSTANTS = ("always", "never", "loop")


@pytest.fixture(scope="module")
def words() -> list[Record]:
    return made(WORLDS["words"], 100, actions=3)


@pytest.fixture(scope="module")
def fresh() -> list[Record]:
    return made(WORLDS["words"], 100, seed=7, actions=3)


@pytest.fixture(scope="module")
def calibration(words: list[Record]) -> Calibration:
    return calibrate(words, routers=["ladder"])


class TestCrossFitted:
    def test_constants_are_what_the_records_say(self, words: list[Record]):
        found = replay(words, routers=CONSTANTS)
        table = ActionTable.of(words)
        overall = found.overall
        assert (overall.n, found.left_out, found.unit) == (100, 0, "retrievals")
        for name, column in (("never", 0), ("always", 1), ("loop", 2)):
            result = overall.routers[name]
            assert result.accuracy.mean == pytest.approx(table.scores[:, column].mean())
            assert result.cost.mean == pytest.approx(table.costs[:, column].mean())
            assert result.retrieval_rate.mean == float(column > 0)
        assert overall.routers["always"].over_always.mean == 0
        assert overall.routers["loop"].over_best.mean == 0
        assert overall.oracle == pytest.approx(table.scores.max(axis=1).mean())
        assert overall.routers["never"].corruption.mean == 0

    @pytest.mark.parametrize("name", ["ladder", "question", "recommended"])
    def test_what_can_be_learnt_is_worth_something(self, name: str, words: list[Record]):
        found = replay(words, routers=[name], actions=["direct", "single"]).overall
        assert found.routers[name].over_best.low > 0
        assert found.routers[name].accuracy.mean <= found.oracle

    def test_it_is_what_calibrate_promises(self, words: list[Record], calibration: Calibration):
        found = replay(words, routers=["ladder"]).overall.routers["ladder"]
        promised = calibration.summary.promised
        assert calibration.summary.router == "ladder"
        assert found.accuracy.mean == pytest.approx(promised.accuracy.mean)
        # A replay judges each fold at the rule that it chose, a promise is of the one served.
        assert found.cost.mean == pytest.approx(promised.cost.mean, rel=0.1)

    @pytest.mark.parametrize("seed", range(4))
    def test_on_noise_there_is_no_gain(self, seed: int):
        noise = made(WORLDS["noise"], 200, seed, telling=False)
        routers = replay(noise, routers=["ladder", "question", "paper"]).overall.routers
        for name, found in routers.items():
            assert found.over_always.low <= 0.02, name

    def test_equal_questions_are_not_learnt_from_to_judge_each_other(self):
        """Each question stands four times with one outcome, and there is nothing else to know."""
        draws = np.random.default_rng(0)
        records = []
        for number in range(40):
            right = int(draws.integers(2))
            records += [
                Record.of(f"Q{number} word{number}?", direct=("a", right), single=("a", 1 - right))
            ] * 4
        found = replay(records, routers=["question", "paper"]).overall.routers
        for result in found.values():
            assert result.accuracy.mean < 0.7

    def test_a_budget(self, words: list[Record]):
        for budget in (0.4, 1.0):
            found = replay(words, routers=["ladder"], budget=budget).overall.routers["ladder"]
            assert found.cost.mean <= budget + 0.1

    def test_groups_share_one_router(self, words: list[Record]):
        found = replay(words, routers=["ladder"], by="extra.topic")
        assert {*found.groups} == {"river", "firm", "team", "song"}
        sizes = [group.n for group in found.groups.values()]
        assert sum(sizes) == 100
        scores = [group.routers["ladder"].accuracy.mean for group in found.groups.values()]
        whole = found.overall.routers["ladder"].accuracy.mean
        assert np.average(scores, weights=sizes) == pytest.approx(whole)

    def test_statements_are_decisions(self, words: list[Record]):
        said = [
            replace(each, statements={
                "uncertainty": Statement(each.value("topic") == "firm", usage=Usage(50, 0, 1))
            })
            for each in words
        ]  # fmt: skip
        found = replay(said, routers=["uncertainty"]).overall.routers["uncertainty"]
        share = np.mean([each.value("topic") == "firm" for each in words])
        assert found.retrieval_rate.mean == pytest.approx(share)


class TestOthers:
    def test_learnt_questions_are_left_out_and_counted(self, words, fresh):
        found = replay(words[:80], [*words[60:], *fresh], routers=["question"])
        assert found.left_out == 20
        assert found.overall.n == 120
        respelt = [replace(each, question=f"  {each.question.upper()} ") for each in words[:80]]
        again = replay(words[:80], [*respelt, *fresh], routers=["question"])
        assert (again.left_out, again.overall.n) == (80, 100)

    def test_where_all_were_learnt_there_is_nothing_to_judge(self, words):
        with pytest.raises(InputError, match="all 100 questions were learnt from"):
            replay(words, words, routers=["question"])

    def test_mixed_models_are_refused(self, words, fresh):
        other = [replace(each, stamp=Stamp(model="other")) for each in fresh]
        for train, test in (([*words, *other], None), (words, [*fresh, *other]), (words, other)):
            with pytest.raises(StampMismatch, match="2 models"):
                replay(train, test, routers=["never"])

    def test_names_and_fields_are_checked(self, words):
        with pytest.raises(InputError):
            replay(words, routers=["best"])
        with pytest.raises(InputError, match=r"no record has the field extra\.tenant"):
            replay(words, routers=["never"], by="extra.tenant")
        with pytest.raises(InputError, match="'loop'"):
            replay(made(WORLDS["words"], 12), actions=["direct", "loop"])

    def test_the_order_of_the_records_does_not_matter(self, words, fresh):
        one = replay(words, fresh, routers=["ladder"])
        other = replay(words[::-1], fresh[::-1], routers=["ladder"])
        assert one == other

    def test_progress(self, words, fresh):
        told: list[tuple[int, int]] = []
        replay(words, fresh, routers=CONSTANTS, on_progress=lambda *done: told.append(done))
        assert told == [(1, 3), (2, 3), (3, 3)]


class TestSaved:
    def test_it_is_what_the_policy_decides(self, calibration, fresh, tmp_path: Path):
        calibration.save(tmp_path / "router")
        router = load_router(tmp_path / "router")
        found = replay_saved(router, fresh, name="mine", by="topic")
        taken, answers = calibration.router.replayed(fresh)
        table = ActionTable.of(fresh).after_draft()
        result = found.overall.routers["mine"]
        rows = np.arange(len(fresh))
        assert result.accuracy.mean == pytest.approx(table.scores[rows, answers].mean())
        assert result.cost.mean == pytest.approx(table.costs[rows, taken].mean())
        assert result.calls.mean == pytest.approx(table.calls[rows, taken].mean())
        assert list(found.overall.routers) == ["never", "always", "mine"]

    @pytest.mark.parametrize("name", ["question", "arbiter", "paper", "classifier", "benefit"])
    def test_any_kind_that_asks_no_model(self, name: str, words, fresh, tmp_path: Path):
        calibrate(words, routers=[name], anyway=True).save(tmp_path / "router")
        router = load_router(tmp_path / "router")
        found = replay_saved(router, fresh).overall.routers["saved"]
        rate = np.mean([router.decide(each.question).retrieve for each in fresh])
        assert found.retrieval_rate.mean == pytest.approx(rate)

    def test_groups_take_their_constants(self, calibration, fresh):
        grouped = calibration.router.with_rules(by="topic", groups={"firm": "direct"})
        found = replay_saved(grouped, fresh, by="topic")
        assert found.groups["firm"].routers["saved"].retrieval_rate.mean == 0
        assert found.groups["team"].routers["saved"].retrieval_rate.mean > 0.5

    def test_a_constant_one(self, fresh):
        found = replay_saved(NeverRetrieve(), fresh).overall.routers
        assert found["saved"] == found["never"]
        single = replay_saved(constant_router("single"), fresh).overall.routers
        assert single["saved"] == single["always"]
        loop = replay_saved(constant_router("loop"), fresh).overall.routers["saved"]
        assert loop.cost.mean == 3.0

    def test_what_it_has_learnt_from_is_left_out(self, calibration, words, fresh):
        found = replay_saved(calibration.router, [*words[:30], *fresh])
        assert (found.left_out, found.overall.n) == (30, 100)
        with pytest.raises(InputError, match="learnt from"):
            replay_saved(calibration.router, words)

    def test_one_that_asks_a_model_is_refused(self, fresh):
        router = load_router("prompt:can_solve", model=ScriptedModel(["No."]))
        with pytest.raises(InputError, match="asks a model"):
            replay_saved(router, fresh)

    def test_mixed_models_are_refused(self, calibration, fresh):
        other = [replace(each, stamp=Stamp(model="other")) for each in fresh[:5]]
        with pytest.raises(StampMismatch):
            replay_saved(calibration.router, [*fresh[5:], *other])


class TestIntervals:
    def test_questions_are_resampled_not_rows(self):
        """Ten copies of a row tell no more than one."""
        values = np.random.default_rng(0).integers(0, 2, 40).astype(float)
        once = mean_by_question(values, np.arange(40))
        copied = mean_by_question(np.repeat(values, 10), np.repeat(np.arange(40), 10))
        assert (copied.low, copied.high) == pytest.approx((once.low, once.high))
        assert copied.n == once.n == 40
        rows = mean_by_question(np.repeat(values, 10), np.arange(400))
        assert rows.high - rows.low < 0.5 * (once.high - once.low)

    def test_in_a_replay_too(self):
        some = made(WORLDS["words"], 40)
        one = replay(some, routers=["always"]).overall
        many = replay([each for each in some for _ in range(5)], routers=["always"]).overall
        assert many.n == 200
        accuracy = [each.routers["always"].accuracy for each in (one, many)]
        assert accuracy[1].high - accuracy[1].low == pytest.approx(
            accuracy[0].high - accuracy[0].low, rel=0.1
        )


@pytest.mark.data
class TestRecorded:
    """On recorded answers of six question sets; loose, to notice what breaks."""

    @pytest.fixture
    def recorded(self, data_dir: Path) -> list[Record]:
        records = list(Records.read(data_dir / "adarague_llama31_8b_dev.jsonl.gz"))
        return [records[row] for row in np.random.default_rng(0).permutation(len(records))[:1_200]]

    def test_a_ladder_keeps_to_its_budget_and_loses_nothing(self, recorded: list[Record]):
        found = replay(
            recorded[:600], recorded[600:], routers=["ladder", "always"], cost="retrievals",
            budget=1.0,
        ).overall.routers  # fmt: skip
        assert found["ladder"].cost.mean <= 1.1
        assert found["ladder"].over_always.mean >= -0.02

    def test_what_is_saved_serves_what_was_promised(self, recorded: list[Record], tmp_path: Path):
        found = calibrate(recorded[:600], routers=["ladder"], cost="retrievals", budget=1.0)
        found.save(tmp_path / "router")
        result = replay_saved(
            load_router(tmp_path / "router"), recorded[600:], cost="retrievals"
        ).overall.routers["saved"]
        promised = found.summary.promised
        assert result.accuracy.low <= promised.accuracy.high
        assert result.accuracy.high >= promised.accuracy.low
        assert result.cost.mean == pytest.approx(promised.cost.mean, abs=0.15)

    def test_chances_are_true_of_answers_that_nothing_has_seen(self, recorded: list[Record]):
        names = ["arbiter", "ladder", "always"]
        found = replay(recorded[:600], recorded[600:], routers=names).overall.routers
        for name in ("arbiter", "ladder"):
            told = found[name].reliability
            assert told is not None
            assert told.error < 0.08
            quarter, half = (told.surest_of(share).accuracy.mean for share in (0.25, 0.5))
            assert quarter > half > found[name].accuracy.mean + 0.1
        assert found["always"].reliability is None

    def test_a_threshold_that_was_chosen_on_records_holds_on_others(self, recorded: list[Record]):
        promised = calibrate(recorded[:600], routers=["arbiter"], anyway=True)
        assert promised.summary.reliability is not None
        half = promised.summary.reliability.surest_of(0.5)
        judging = training_of(recorded[600:])
        served = OfPolicy("arbiter").replayed(promised.router, judging)
        above = served.scores[served.chances >= half.chance]
        assert len(above) == pytest.approx(300, abs=45)
        assert above.mean() == pytest.approx(half.accuracy.mean, abs=0.06)
