"""InContextRouter: the model is shown what it knew before, and asked."""

from __future__ import annotations

import pytest

from skr_core.errors import InputError
from skr_core.testing import ScriptedModel
from skr_learn.routers import InContextRouter
from tests.skr_learn.routers.facts import answered


def test_in_context_shows_what_was_known():
    model = ScriptedModel(["Yes, I need additional information."])
    router = InContextRouter(model, known=["k1?", "k2?"], unknown=["u1?"])
    assert router.decide("new?").retrieve
    need = "Q: Do you need additional information to answer this question?\nA:"
    no = "No, I don't need additional information to answer this question."
    yes = "Yes, I need additional information to answer this question."
    assert model.prompts[0].text == (
        f"k1?\n{need} {no}\n\nu1?\n{need} {yes}\n\nk2?\n{need} {no}\n\nnew?\n{need}"
    )
    assert [each.question for each in model.prompts[0].demonstrations] == ["k1?", "u1?", "k2?"]


def test_demonstrations_are_drawn_from_records():
    records = [
        *[answered(f"k{n}", 1.0, 1.0) for n in range(10)],
        *[answered(f"w{n}", 0.0, 0.0) for n in range(10)],
        *[answered(f"u{n}", 0.0, 1.0) for n in range(3)],
    ]
    model = ScriptedModel(["No."])
    InContextRouter.from_records(model, records, n=5).decide("?!")
    shown = [each.question for each in model.prompts[0].demonstrations]
    assert shown == ["k0", "u0", "k3", "u1", "k6"]


def test_demonstrations_of_one_kind_are_refused():
    with pytest.raises(InputError, match="known"):
        InContextRouter.from_records(ScriptedModel(), [answered("k", 1.0, 0.0)])
    with pytest.raises(InputError, match="at least 2"):
        InContextRouter.from_records(ScriptedModel(), [], n=1)


@pytest.mark.parametrize(("known", "unknown"), [([], ["b?"]), (["a?"], [])])
def test_one_kind_alone_is_refused(known: list[str], unknown: list[str]):
    with pytest.raises(InputError, match="at least one known and one unknown"):
        InContextRouter(ScriptedModel(), known=known, unknown=unknown)
