"""What goes through JSON comes back the same."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core import (
    Answer,
    Citation,
    Decision,
    Demonstration,
    Generation,
    Prompt,
    Reference,
    Reflection,
    Round,
    Usage,
)
from skr_core.errors import InputError
from skr_core.plain import from_plain, to_plain
from skr_core.types import Neighbour, StopReason, Task

texts = st.text(max_size=20)
numbers = st.integers(0, 10**6)
floats = st.floats(allow_nan=False, allow_infinity=False)
usages = st.builds(Usage, numbers, numbers, numbers, st.booleans())
references = st.builds(
    Reference,
    texts,
    texts,
    texts,
    st.none() | floats,
    st.dictionaries(texts, texts | numbers | floats | st.booleans(), max_size=3),
)
neighbours = st.builds(
    Neighbour, texts, floats, st.sampled_from(["helps", "hurts", "same"]), floats
)


def several(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(strategy, max_size=3).map(tuple)


decisions = st.builds(
    Decision,
    st.booleans(),
    st.none() | numbers,
    st.none() | floats,
    st.none() | floats,
    texts,
    several(neighbours),
    usages,
    texts,
)
reflections = st.builds(Reflection, st.booleans(), texts, texts, usages)
citations = st.builds(Citation, numbers, texts, texts, st.tuples(numbers, numbers))
rounds = st.builds(
    Round,
    several(texts),
    several(texts),
    several(texts),
    texts,
    st.none() | reflections,
    several(texts),
)
answers = st.builds(
    Answer,
    texts,
    texts,
    several(citations),
    several(references),
    decisions,
    several(rounds),
    st.sampled_from(get_args(StopReason)),
    st.dictionaries(texts, usages, max_size=3),
    numbers,
)
prompts = st.builds(
    Prompt,
    st.sampled_from(get_args(Task)),
    texts,
    texts,
    several(references),
    several(st.builds(Demonstration, texts, texts, several(texts))),
    several(texts),
    several(texts),
)
generations = st.builds(Generation, texts, usages, st.none() | several(floats))


@given(answers | prompts | generations | decisions | references)
def test_round_trip_through_json(value: Any):
    plain = json.loads(json.dumps(to_plain(value)))
    again = from_plain(type(value), plain)
    assert again == value
    assert to_plain(again) == plain


@given(references)
def test_metadata_survives_though_it_is_no_part_of_equality(reference: Reference):
    assert from_plain(Reference, to_plain(reference)).metadata == reference.metadata


def test_missing_fields_take_their_defaults():
    assert from_plain(Decision, {"retrieve": True}) == Decision(True)


def test_unknown_fields_are_passed_over():
    assert from_plain(Usage, {"calls": 2, "invented_later": 1}) == Usage(calls=2)


def test_a_caller_who_misspells_is_told():
    with pytest.raises(InputError, match="Usage has no cals: it has prompt_tokens"):
        from_plain(Usage, {"cals": 2}, strict=True)
    with pytest.raises(InputError, match="Usage has no cals"):
        from_plain(Decision, {"retrieve": True, "usage": {"cals": 2}}, strict=True)
    assert from_plain(Usage, {"calls": 2}, strict=True) == Usage(calls=2)


@pytest.mark.parametrize("data", [{}, {"score": 1.0}, [], None, "text", 3])
def test_what_cannot_be_used_is_an_input_error(data: Any):
    with pytest.raises(InputError, match="Decision"):
        from_plain(Decision, data)


def test_an_error_inside_names_the_inner_class():
    with pytest.raises(InputError, match="Usage"):
        from_plain(Decision, {"retrieve": True, "usage": 3})
    with pytest.raises(InputError, match="Neighbour"):
        from_plain(Decision, {"retrieve": True, "neighbours": [{"question": "?"}]})
    with pytest.raises(InputError, match="Decision"):
        from_plain(Decision, {"retrieve": True, "neighbours": 7})


def test_a_literal_of_a_later_version_is_taken():
    assert from_plain(Prompt, {"task": "sing", "text": "", "question": ""}).task == "sing"


def test_lone_surrogates_pass_both_ways():
    reference = Reference("1", "Paris \ud800", metadata={"note": "\udfff"})
    again = from_plain(Reference, to_plain(reference))
    assert (again, again.metadata) == (reference, reference.metadata)


@dataclass(frozen=True)
class Held:
    thing: object
    count: int = 0


def test_what_no_json_holds_stays_as_it_is():
    thing = object()
    assert to_plain(Held(thing)) == {"thing": thing, "count": 0}
    assert to_plain({"held": [Held((1, 2))]}) == {"held": [{"thing": [1, 2], "count": 0}]}


def test_a_value_that_cannot_be_converted_names_its_field():
    with pytest.raises(InputError, match=r"Usage: calls: .*integer"):
        from_plain(Decision, {"retrieve": True, "usage": {"calls": "many"}})
