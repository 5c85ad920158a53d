"""Metrics of titles, with values worked out by hand."""

from __future__ import annotations

import pytest

from skr_learn.metrics import all_titles, citation_precision, citation_recall, title_recall


@pytest.mark.parametrize(
    ("found", "supporting", "recall", "every"),
    [
        (["Jaws", "Cincinnati"], ["Jaws", "Steven Spielberg"], 0.5, False),
        (["Jaws", "Steven Spielberg"], ["Jaws", "Steven Spielberg"], 1.0, True),
        (["jaws ", "Shark"], ["Jaws", "JAWS"], 1.0, True),
        (["Tom &amp; Jerry"], ["Tom & Jerry"], 1.0, True),
        ([], ["Jaws"], 0.0, False),
        (["", " "], ["Jaws"], 0.0, False),
        (["Jaws"], [], 0.0, False),
        (["Jaws"], [""], 0.0, False),
    ],
)
def test_titles(found: list[str], supporting: list[str], recall: float, every: bool):
    assert title_recall(found, supporting) == recall
    assert all_titles(found, supporting) is every
    assert citation_recall(found, supporting) == recall


@pytest.mark.parametrize(
    ("cited", "supporting", "precision"),
    [
        (["Jaws", "Shark"], ["Jaws", "Steven Spielberg"], 0.5),
        (["Jaws", "Jaws"], ["Jaws"], 1.0),
        (["a", "b", "Jaws"], ["Jaws"], 1 / 3),
        ([], ["Jaws"], 0.0),
        (["Jaws"], [], 0.0),
    ],
)
def test_citation_precision(cited: list[str], supporting: list[str], precision: float):
    assert citation_precision(cited, supporting) == pytest.approx(precision)


def test_an_invented_citation_counts_against_precision():
    assert citation_precision(["Jaws"], ["Jaws"], invented=3) == 0.25
    assert citation_precision([], ["Jaws"], invented=1) == 0.0
