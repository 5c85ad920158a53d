"""ClassifierRouter: a probability for each question, of what the records say."""

from __future__ import annotations

import pytest

from skr_core.errors import InputError
from skr_learn.routers import ClassifierRouter
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


def test_the_score_is_a_probability():
    scores = ClassifierRouter.fit(records(20)).scores([firm("Omega"), river("Omega"), "", "?"])
    assert ((scores > 0) & (scores < 1)).all()
    assert scores[0] > 0.5 > scores[1]


def test_the_reason_names_both_numbers():
    decision = ClassifierRouter.fit(records(20), threshold=0.25).decide(firm("Omega"))
    assert f"{decision.score:.0%}" in decision.reason
    assert "25%" in decision.reason


@pytest.mark.parametrize(("make", "names", "retrieves"), [
    (known, KNOWN, False),
    (unknown, UNKNOWN, True),
])  # fmt: skip
def test_one_class_alone_gives_one_answer(make, names: list[str], retrieves: bool):
    few, many = (
        ClassifierRouter.fit([make(each) for each in names[:n]]).decide("Why?") for n in (2, 30)
    )
    assert few.retrieve == many.retrieve == retrieves
    assert abs(few.score - 0.5) < abs(many.score - 0.5)  # surer where more was seen


def test_what_neither_answer_got_right_does_not_count():
    lost = [answered(firm(name), 0.0, 0.0) for name in ("Zeta", "Eta")]
    some = records(10)
    asked = [firm("Omega"), river("Omega")]
    assert (
        ClassifierRouter.fit(some).scores(asked).tolist()
        == ClassifierRouter.fit([*some, *lost]).scores(asked).tolist()
    )
    with pytest.raises(InputError, match="nothing is known"):
        ClassifierRouter.fit(lost)
