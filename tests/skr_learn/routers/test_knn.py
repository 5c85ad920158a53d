"""KNNRouter: the rule of SKR Figure 3 to the letter, and the measured benefit."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core.errors import InputError
from skr_learn.routers import KNNRouter
from skr_learn.routers import knn as module
from skr_learn.routers.knn import nearest, paper_score
from tests.skr_learn.routers.facts import (
    KNOWN,
    UNKNOWN,
    answered,
    firm,
    known,
    records,
    river,
    unknown,
)


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 10), st.data())
def test_the_papers_inequality(m: int, n: int, k: int, data: st.DataObject):
    positive = data.draw(st.integers(0, k))
    negative = k - positive
    # l/(k-l) >= m/n without dividing, so that k-l = 0 is infinitely many to none.
    is_known = positive * n >= m * negative
    labels = np.array([False] * m + [True] * n)
    assert (paper_score(np.array([negative]), k, labels)[0] > 0) == (not is_known)


def test_no_negative_neighbour_is_known():
    assert paper_score(np.array([0]), 5, np.array([True] * 9 + [False]))[0] < 0


def test_equality_is_known():
    labels = np.array([True] * 30 + [False] * 60)
    assert paper_score(np.array([1]), 3, labels).tolist() == [0.0]


@pytest.mark.parametrize("rule", ["paper", "benefit"])
def test_one_class_alone_gives_one_answer(rule: str):
    assert KNNRouter.fit([unknown(each) for each in UNKNOWN], rule=rule).decide("Why?").retrieve
    assert not KNNRouter.fit([known(each) for each in KNOWN], rule=rule).decide("Why?").retrieve


def test_fewer_records_than_k():
    decision = KNNRouter.fit([known("Avon"), unknown("Acme")], k=10).decide(firm("Bolt"))
    assert len(decision.neighbours) == 2


def test_what_neither_answer_got_right_does_not_count():
    lost = answered(firm("Zeta"), 0.0, 0.0)
    router = KNNRouter.fit([*records(5), *[lost] * 50], k=3)
    assert all(each.effect != "same" for each in router.decide(firm("Zeta")).neighbours)
    with pytest.raises(InputError, match="nothing is known"):
        KNNRouter.fit([lost])


def test_the_benefit_counts_them():
    lost = [answered(f"Who owns ship {n}?", 0.0, 0.0) for n in range(30)]
    router = KNNRouter.fit([*records(5), *lost], rule="benefit", k=3)
    assert router.decide("Who owns ship 99?").score == 0.0


def test_duplicate_questions_with_different_labels():
    both = [known("Avon"), answered(river("Avon"), 0.0, 1.0)]
    decision = KNNRouter.fit([*both, *records(10)], rule="benefit", k=2).decide(river("Avon"))
    assert len({each.question for each in decision.neighbours}) == 1
    assert KNNRouter.fit(both * 20).k in range(3, 11)


def test_k_is_chosen_without_seeing_the_question():
    assert KNNRouter.fit(records(30)).k in range(3, 11)
    assert KNNRouter.fit(records(3)).k in range(3, 11)


def test_noise_in_the_labels_is_averaged_out():
    noisy = records(30)
    noisy[::10] = [answered(r.question, r.retrieved.score, r.direct.score) for r in noisy[::10]]
    router = KNNRouter.fit(noisy, rule="benefit", k=15)
    assert router.decide(firm("Omega")).retrieve
    assert not router.decide(river("Omega")).retrieve


def test_the_evidence_is_named():
    decision = KNNRouter.fit(records(10), rule="benefit", k=3).decide(firm("Acme"))
    first = decision.neighbours[0]
    assert (first.question, first.effect, first.benefit) == (firm("Acme"), "helps", 1.0)
    assert first.similarity == pytest.approx(1.0)
    likeness = [each.similarity for each in decision.neighbours]
    assert likeness == sorted(likeness, reverse=True)


def test_gold_is_not_needed():
    assert KNNRouter.fit([answered("a?", 0.0, 1.0)]).decide("a?").retrieve


@pytest.mark.parametrize(("option", "word"), [({"rule": "vote"}, "rule"), ({"k": 0}, "k must")])
def test_options_are_checked(option: dict, word: str):
    with pytest.raises(InputError, match=word):
        KNNRouter.fit(records(3), **option)


@given(st.integers(1, 30), st.integers(0, 9), st.integers(1, 12), st.integers(1, 200))
def test_the_nearest_are_those_of_a_plain_search(n: int, m: int, k: int, products: int):
    draw = np.random.default_rng(n * m * k)
    # Few values, so that many are equal and some dimensions are used by none.
    vectors = draw.integers(-1, 2, (n, 6)).astype(np.float32)
    asked = draw.integers(0, 2, (m, 6)).astype(np.float32)
    vectors, asked = (each / np.sqrt(6) for each in (vectors, asked))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PRODUCTS", products)
        found, cosines = nearest(vectors, asked, k)
    similar = (asked @ vectors.T).round(5)
    assert found.tolist() == np.argsort(-similar, axis=1, kind="stable")[:, :k].tolist()
    assert cosines.tolist() == np.take_along_axis(similar, found, axis=1).tolist()


def test_many_records_are_compared_within_little_memory():
    draw = np.random.default_rng(0)
    vectors = draw.normal(size=(50_000, 4)).astype(np.float32)
    tracemalloc.start()
    found, _ = nearest(vectors, vectors[:2_000], 1)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.shape == (2_000, 1)
    assert most < 100e6  # all products take 400 MB
