"""A question unlike all on record is treated as the average one."""

from __future__ import annotations

import numpy as np
import pytest

from skr_core import HashingEmbedder
from skr_learn import read_self_knowledge
from skr_learn.learning import ActionTable, Training
from skr_learn.learning.likelihood import learn_kernel
from skr_learn.learning.novelty import Novelty
from skr_learn.routers import CombinedRouter
from tests.skr_learn.learning.test_likelihood import signals_of
from tests.skr_learn.routers.facts import answered, records


def test_one_in_twenty_of_the_records_own_questions_is_novel():
    signals, _, _ = signals_of(600)
    kernel = learn_kernel(signals, np.random.default_rng(0).normal(size=(600, 1)))
    novelty = Novelty.fit(kernel, signals[:400])
    assert 0.01 <= novelty.novel(signals[400:]).mean() <= 0.12


def test_a_novel_question_is_taken_for_the_average_one():
    router = CombinedRouter.fit(records(20), drafts=False, price=0.0)
    decision = router.decide('"7x = 21", so 3 or 4?\n(a) 3 (b) 4 (c) 5, Dr. A. B. C. D. of E')
    assert "unlike each of them" in decision.reason
    assert decision.score == pytest.approx(0.0, abs=1e-6)  # half are helped and half are hurt
    assert "unlike" not in router.decide(records(21)[-1].question).reason


def test_what_was_novel_is_learnt():
    router = CombinedRouter.fit(records(20), drafts=False, price=0.0)
    ship = "Which captain sailed ship {}?"
    assert "unlike" in router.decide(ship.format(99)).reason
    router.update([answered(ship.format(n), 0.0, 1.0) for n in range(12)], force=True)
    decision = router.decide(ship.format(99))
    assert "unlike" not in decision.reason
    assert decision.score > 0.2


def test_what_is_novel_is_so_after_loading(tmp_path):
    from skr_core import load_router

    router = CombinedRouter.fit(records(20), drafts=False, price=0.0)
    router.save(tmp_path)
    for question in ("2 + 2?", records(21)[-1].question):
        assert load_router(tmp_path).decide(question).reason == router.decide(question).reason


@pytest.mark.data
@pytest.mark.timeout(300)
def test_another_source_is_not_judged_by_what_was_learnt_from_this_one(data_dir):
    """Without it, accuracy on RealTime QA falls 5 to 8 points below always retrieving."""

    def read(name: str) -> Training:
        found = read_self_knowledge(data_dir / f"{name}.jsonl.gz", mixed_stamps=True)
        table = ActionTable.of(found, actions=("direct", "single"), unit="retrievals")
        return Training.of(found, HashingEmbedder(), table=table)

    known = read("adarague_llama31_8b_dev")
    router = CombinedRouter.of_training(known, HashingEmbedder())
    assert router._novelty.novel(known.signals).mean() == pytest.approx(0.05, abs=0.02)
    for name in ("realtimeqa_gpt3_2022_2023", "realtimeqa_models_2026"):
        other = read(name)
        expected = router.expected_of(other)
        retrieved = expected.scores[:, 1] - expected.scores[:, 0] > 0.02
        lost = np.where(retrieved, 0.0, other.retrieved - other.direct)
        assert lost.mean() < 0.01
