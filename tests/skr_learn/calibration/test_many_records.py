"""Of very many records some are compared on, and the router that is chosen is fitted on all."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from skr_core import HashingEmbedder
from skr_learn import Calibration, SelfKnowledge, calibrate, replay
from skr_learn.calibration.candidates import candidates_of
from skr_learn.calibration.replaying import THREE
from skr_learn.learning import Training
from tests.skr_learn.routers.facts import answered

pytestmark = pytest.mark.usefixtures("few_trees")


def topics(n: int) -> list[SelfKnowledge]:
    """Rivers are known, and firms are not."""
    return [
        answered(f"which {topic} is number {place}?", float(topic == "river"), 1.0)
        for place, topic in enumerate(["river", "firm"] * (n // 2))
    ]


class Counting(HashingEmbedder):
    """Counts the texts that it embeds."""

    texts = 0

    def embed_sparse(self, texts: Sequence[str]):
        self.texts += len(texts)
        return super().embed_sparse(texts)


@pytest.fixture
def forty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("skr_learn.calibration.calibrating"), "COMPARED", 40)


def sizes(found: Calibration) -> tuple[int, int | None]:
    return found.curve.chosen.n, found.curve.drawn_from


@pytest.mark.parametrize("name", ["benefit", "classifier", "combined", "combined-question"])
def test_the_chosen_router_is_fitted_on_all(name: str, forty: None, tmp_path: Path):
    records, embedder = topics(100), HashingEmbedder()
    found = calibrate(records, routers=[name], arbiter=False)
    assert sizes(found) == (40, 100)
    [candidate] = candidates_of([name])
    training = Training.of(records, embedder, drafts=candidate.drafts)
    expected = candidate.fit(training, embedder)
    candidate.price(expected, found.router.price)
    asked = Training.of(topics(6), embedder, drafts=candidate.drafts).signals
    assert found.router.scores(asked) == pytest.approx(expected.scores(asked))
    found.save(tmp_path)


def test_it_says_in_one_sentence_that_some_were_drawn(forty: None):
    found = calibrate(topics(100), routers=["benefit"], arbiter=False)
    assert (
        " The 40 records were drawn at random from 100 to compare routers; an arbiter or a ladder "
        "learns from them too, a router from all." in found.curve.sentence
    )
    few = calibrate(topics(40), routers=["benefit"], arbiter=False)
    assert sizes(few) == (40, None)
    assert "drawn at random" not in few.curve.sentence


def test_what_is_not_compared_is_embedded_only_for_the_chosen_router(forty: None):
    embedder = Counting()
    noise = np.random.default_rng(0).random((100, 2)) < (0.3, 0.7)
    lucky = [answered(f"Is {n} lucky?", *map(float, two)) for n, two in enumerate(noise)]
    found = calibrate(lucky, embedder=embedder, arbiter=False)
    assert found.curve.recommended == "single"
    assert embedder.texts == 2 * 40
    embedder = Counting()
    calibrate(topics(100), embedder=embedder, routers=["benefit"], arbiter=False)
    assert embedder.texts == 40 + 100


@pytest.mark.parametrize("name", ["paper", "benefit", "classifier"])
def test_the_best_retrieving_action_of_a_fold_may_be_another(name: str):
    """These choose between the direct answer and the best retrieving action, here by chance."""
    lucky = [
        SelfKnowledge.of(
            f"Is {n} lucky?", direct=("a", direct), single=("b", single), loop=("c", loop)
        )
        for n, (direct, single, loop) in enumerate(
            (np.random.default_rng(0).random((60, 3)) < (0.3, 0.6, 0.6)).astype(float).tolist()
        )
    ]
    found = calibrate(lucky, routers=[name], arbiter=False)
    assert found.curve.recommended == found.curve.best_constant
    assert len(found.curve.shares) == 2
    replayed = replay(lucky, routers=[name], actions=THREE, budget=1.0).overall
    assert replayed.routers[name].accuracy <= replayed.oracle
