"""What a store can hold of a reference: text that UTF-8 holds, flat metadata."""

from __future__ import annotations

from typing import Any

import pytest

from skr_core import Reference
from skr_core.errors import InputError
from skr_store.storable import keyword_text, searchable_text, storable_reference


def test_what_utf8_does_not_hold_is_replaced_and_the_id_stays():
    odd = Reference.of("a\ud800", "b\udfff", metadata={"\ud800": "\ud800", "n": 3, "yes": True})
    stored = storable_reference(odd)
    assert stored == Reference(odd.id, "a\ufffd", "b\ufffd")
    assert stored.metadata == {"\ufffd": "\ufffd", "n": 3, "yes": True}


@pytest.mark.parametrize(
    "metadata", [{"a": None}, {"a": ["b"]}, {"a": float("inf")}, {"a": -(2**63) - 1}, {7: "b"}]
)
def test_metadata_that_are_not_flat_are_named(metadata: dict[Any, Any]):
    with pytest.raises(InputError, match=r"metadata ('a'|7) of reference 'Title' is"):
        storable_reference(Reference.of("text", "Title", metadata=metadata))


def test_without_a_title_the_text_alone_is_searched():
    bare = Reference.of("It is in France.")
    assert searchable_text(bare) == keyword_text(bare) == bare.text
