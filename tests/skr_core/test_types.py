"""Values: identity, sums, derived numbers, and that they can be copied, hashed and pickled."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core import Answer, Citation, Decision, Generation, Prompt, Reference, Usage
from skr_core.types import NO_USAGE, content_id

usages = st.builds(
    Usage, st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 99), st.booleans()
)


def test_identity_is_the_content():
    one = Reference.of("Paris is in France.", "Paris", score=0.5, metadata={"page": 3})
    two = Reference.of("Paris is in France.", "Paris", score=0.9)
    assert one.id == two.id
    assert one.id != Reference.of("Paris is in France.").id
    assert one.id != Reference.of("Paris is in Texas.", "Paris").id


@given(st.text(), st.text())
def test_content_id_is_32_hexadecimal_digits_of_any_text(text: str, title: str):
    assert len(content_id(text, title)) == 32
    assert int(content_id(text, title), 16) >= 0


def test_title_and_text_do_not_run_together():
    assert content_id("bc", "a") != content_id("c", "ab")


def test_lone_surrogates_have_an_identity():
    assert content_id("\ud800") != content_id("\ud801")


def test_metadata_is_no_part_of_equality():
    assert Reference.of("a", metadata={"page": 1}) == Reference.of("a", metadata={"page": 2})
    assert len({Reference.of("a", metadata={"page": 1}), Reference.of("a")}) == 1


def test_metadata_is_the_reference_s_own():
    metadata = {"page": 1}
    reference = Reference.of("a", metadata=metadata)
    metadata["page"] = 2
    assert reference.metadata == {"page": 1}


@pytest.mark.parametrize("reference", [Reference.of("a"), Reference("id", "a")])
def test_references_can_be_copied_and_pickled(reference: Reference):
    assert copy.deepcopy(reference) == reference
    assert pickle.loads(pickle.dumps(reference)) == reference
    assert dataclasses.asdict(reference)["metadata"] == {}


@pytest.mark.parametrize(
    "value", [Reference.of("a"), Usage(), Decision(True), Generation("x"), Prompt("judge", "", "")]
)
def test_values_are_frozen(value: object):
    name = dataclasses.fields(value)[0].name  # type: ignore[arg-type]
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, name, "else")


@given(usages, usages, usages)
def test_usage_adds_up(a: Usage, b: Usage, c: Usage):
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    assert a + NO_USAGE == a
    assert (a + b).total_tokens == a.total_tokens + b.total_tokens
    assert (a + b).estimated == (a.estimated or b.estimated)


def test_an_answer_s_derived_numbers():
    one, two, three = (Reference.of(text) for text in ("one", "two", "three"))
    answer = Answer(
        question="?",
        text="So [3]. And so [1].",
        citations=(
            Citation(3, three.id, "So [3].", (3, 6)),
            Citation(1, one.id, "And so [1].", (15, 18)),
        ),
        references=(one, two, three),
        decision=Decision(True),
        rounds=(),
        stop_reason="sufficient",
        usage={"judge": Usage(1, 2, 1), "self_complete": Usage(10, 20, 2, estimated=True)},
    )
    assert answer.cited_references == (one, three)
    assert answer.total_usage == Usage(11, 22, 3, estimated=True)
