"""A lazy pattern is a pattern, compiled when it is first used."""

from __future__ import annotations

import re

import pytest

from skr_core.patterns import lazy_pattern


def test_it_does_what_a_pattern_does():
    lazy, compiled = lazy_pattern(r"(?P<city>paris)", re.I), re.compile(r"(?P<city>paris)", re.I)
    text = "From Paris to PARIS."
    assert lazy.findall(text) == compiled.findall(text)
    assert lazy.sub("x", text) == compiled.sub("x", text)
    assert lazy.split(text) == compiled.split(text)
    assert lazy.groupindex == compiled.groupindex
    assert lazy.pattern == compiled.pattern


def test_it_is_compiled_at_the_first_search():
    broken = lazy_pattern("(")
    with pytest.raises(re.error, match="missing"):
        broken.search("")
