"""The page: self-contained, escaped, and right about what is worst."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from skr_app.report import (
    Comparison,
    Result,
    Row,
    Section,
    accuracy_by_rounds,
    read_section,
    report_page,
    worst,
)
from skr_app.report import section_of_result as of_result
from skr_core.errors import DataError, InputError
from skr_core.plain import to_plain
from skr_learn import Calibration, Record, calibrate, replay
from skr_learn.metrics import Interval
from tests.skr_app.report.measured import N, measured, measured_result, scores
from tests.skr_learn.routers.facts import KNOWN, UNKNOWN, known, records, unknown

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\" onclick='x' {{ 7 * 7 }}"
CELL = Interval(0.5, 0.4, 0.6, 10, 2)
RESULT = Result(
    f"evaluate {HOSTILE}",
    HOSTILE,
    {"model": HOSTILE, HOSTILE: "x"},
    rows=tuple(
        Row(name, {"answer_accuracy": CELL, "prompt_tokens": CELL, "calls": CELL, HOSTILE: CELL})
        for name in ("never", "always", HOSTILE)
    ),
    comparisons=(Comparison(HOSTILE, "never", {"answer_accuracy": CELL}),),
    notes=(HOSTILE,),
    over=HOSTILE,
)


def row(n: int, right: float | None, rounds: int = 1, system: str = "loop") -> dict:
    return {
        "system": system,
        "id": str(n),
        "question": f"q{n} {HOSTILE}",
        "gold": [HOSTILE],
        "answer": None if right is None else HOSTILE,
        "stop_reason": HOSTILE,
        "rounds": [{"queries": [HOSTILE], "found": 1, "verdict": HOSTILE, "errors": [HOSTILE]}]
        * rounds,
        "references": [HOSTILE],
        "values": {"answer_accuracy": right, "title_recall": None if right is None else n / 100},
    }


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


def sections() -> list[Section]:
    scores = [row(n, 0.0, 1 + n % 2) for n in range(30)] + [row(99, None)]
    at = [Row(HOSTILE, {"answer_accuracy": CELL}, float(n), HOSTILE) for n in range(2)]
    lines = Result(HOSTILE, HOSTILE, {}, tuple(at), over=HOSTILE)
    return [of_result(HOSTILE, RESULT, scores), of_result("second", lines)]


def page() -> tuple[str, Tags]:
    text, tags = report_page(sections(), title=HOSTILE), Tags()
    tags.feed(text)
    return text, tags


def test_hostile_text_is_text():
    _, tags = page()
    assert not {"script", "img", "iframe", "object", "foreignobject"} & set(tags.tags)
    assert not any(name.startswith("on") for name, _ in tags.attributes)
    links = [value for name, value in tags.attributes if name in {"src", "href", "xlink:href"}]
    assert links
    assert all(value and value.startswith("#") for value in links)
    assert tags.text.count(HOSTILE) > 100


def test_nothing_is_fetched():
    text, _ = page()
    assert not re.search(r"https?://|@import|url\((?!#)", text)
    assert "default-src 'none'" in text
    assert "width=device-width" in text


def test_contents_lead_to_sections_and_ids_stand_once():
    text, tags = page()
    ids = [value for name, value in tags.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert {"run1", "run2"} <= set(ids)
    assert text.index('href="#run2"') < text.index('id="run1"')
    assert "<nav" not in report_page(sections()[:1])


def test_the_finding_stands_before_the_drawings():
    text, _ = page()
    start = text.index('id="run1"')
    assert start < text.index('class="finding"', start) < text.index("<svg", start)


def test_both_schemes_and_paper():
    text, _ = page()
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text
    assert "var(--first)" in text


def test_failures_rounds_and_cost_are_shown():
    _, tags = page()
    assert "10 + 2 failed" in tags.text
    assert "Accuracy by rounds" in tags.text
    assert "1 new references" in tags.text
    assert "The worst 20 questions of loop" in tags.text
    assert "(failed)" in tags.text


def test_the_worst_are_of_the_best_system_and_twenty():
    scores = [row(1, 0.0, system="other"), *(row(n, float(n % 2)) for n in range(60)), row(7, None)]
    found = worst(scores)
    assert len(found) == 20
    assert found[0]["answer"] is None
    assert {each["system"] for each in found} == {"loop"}
    assert all(each["values"]["answer_accuracy"] != 1.0 for each in found)
    assert worst([]) == []


def test_where_no_answers_are_judged_the_worst_are_by_what_decides():
    rows = [
        {"system": "learned", "id": n, "values": {"reflection_accuracy": float(n % 2)}}
        for n in range(4)
    ]
    assert [each["id"] for each in worst(rows, decides="reflection_accuracy")] == [0, 2]
    assert worst(rows) == []


def test_an_answer_that_was_judged_and_not_kept_has_not_failed():
    kept_back = {**row(1, 0.0), "answer": None, "stop_reason": "failed", "rounds": []}
    text = report_page([of_result("recorded", RESULT, [kept_back])])
    assert "q1" in text
    assert "<dt>Said</dt>" not in text
    assert "(failed)" in report_page([of_result("run", RESULT, [row(1, None)])])


def test_rounds():
    groups = accuracy_by_rounds([row(1, 1.0, 1), row(2, 0.0, 3), row(3, 1.0, 3), row(4, None)])
    assert {rounds: cell.mean for rounds, cell in groups["loop"].items()} == {1: 1.0, 3: 0.5}


def test_a_run_without_anything():
    assert "</html>" in report_page([of_result("empty", Result("e", "t", {}, ()))])
    unjudged = Row("a", {"answer_accuracy": Interval(0.0, 0.0, 0.0, 0, 9)})
    assert "9 failed" in report_page([of_result("failed", Result("e", "t", {}, (unjudged,)))])


def test_what_hides_or_steers_is_not_in_the_page():
    hidden = "seen\x1b[31m\u202e\u200b\U000e0041\x00 <|im_start|>"
    scores = [
        {
            **row(n, 0.0),
            "question": f"q{n} {hidden}",
            "answer": hidden,
            "gold": [hidden],
            "references": [hidden],
            "rounds": [{"queries": [hidden], "found": 1, "verdict": hidden, "errors": [hidden]}],
        }
        for n in range(3)
    ]
    section = of_result("n", replace(RESULT, notes=(hidden,)), scores)
    text = report_page([section], title=hidden)
    assert text.count("seen[31m &lt; |im_start|&gt;") > 10
    assert not {*text} & {*"\x1b\u202e\u200b\x00"}
    assert not any(ord(each) >= 0xE0000 for each in text)
    assert "&lt;|im_start" not in text


pytestmark = pytest.mark.usefixtures("few_trees")


@pytest.fixture
def read(tmp_path: Path):
    def written(data: Any) -> Section:
        path = tmp_path / "found.json"
        path.write_bytes(orjson.dumps(data))
        return read_section(path)

    return written


def titles(section: Section) -> list[str]:
    return [block.title for block in section.blocks]


def printed(found: Calibration) -> dict[str, Any]:
    """What ``skr calibrate --json`` prints."""
    return {name: to_plain(getattr(found, name)) for name in ("summary", "compared", "curve")}


def test_a_calibration(read):
    found = calibrate(records(30), routers=["paper", "question"])
    section = read(printed(found))
    assert list(section.findings) == found.summary.sentences
    assert titles(section)[0] == "Accuracy against cost, n 60"
    page = report_page([section])
    assert f"{100 * found.summary.gain.mean:+.1f} points" in page
    for name in ("paper", f"{found.summary.router}, as chosen", "always single"):
        assert name in page


def test_a_calibration_that_is_broken_shows_its_samples(read):
    wrong = [Record.of(f"{n}?", ["Ada"], direct=("B", 0), single=("C", 0)) for n in range(20)]
    section = read(printed(calibrate(wrong)))
    assert section.findings[0].startswith("Nothing can be advised on these 20 records")
    assert len(section.notes) == 5


def test_a_replay_with_groups(read):
    asked = [known(each, dataset="rivers") for each in KNOWN]
    asked += [unknown(each, dataset="firms") for each in UNKNOWN]
    found = replay(asked, routers=["always", "never", "paper"], by="extra.dataset")
    section = read(to_plain(found))
    [said] = section.findings
    assert said.startswith("Better: 60 of 60 right with the router paper instead of 30 with no s")
    assert "Accuracy gained against the best constant policy, paired" in titles(section)
    assert "Paper against the best constant policy, by group" in titles(section)
    assert "All figures: rivers" in titles(section)
    assert f"n {found.overall.n}" in report_page([section])


def test_no_choice_among_the_answers_of_a_run_or_a_replay_is_drawn_above_the_oracle(read):
    replayed = read(to_plain(replay(records(30), routers=["always", "paper", "question"])))
    for section in (measured(), replayed):
        drawing = section.blocks[0].charts[0].drawing
        assert len(drawing.marks) >= 3
        for _, cost, accuracy in drawing.marks:
            assert accuracy.mean <= np.interp(cost, *drawing.oracle) + 1e-9
    rows = scores()
    answers = [[row["values"] for row in rows if row["id"] == n] for n in range(N)]
    drawing = measured().blocks[0].charts[0].drawing
    numbers = np.random.default_rng(0)
    for _ in range(20):
        taken = [
            each[place] for each, place in zip(answers, numbers.integers(4, size=N), strict=True)
        ]
        cost, right = (
            np.mean([each[name] for each in taken]) for name in ("prompt_tokens", "answer_accuracy")
        )
        assert right <= np.interp(cost, *drawing.oracle) + 1e-9


def test_a_run_of_which_some_failed_has_no_oracle():
    kept = [row for row in scores() if row["id"] != 3 or row["system"] != "loop"]
    [chart] = of_result("run", measured_result(), kept).blocks[0].charts
    assert chart.drawing.oracle == ((), ())
    assert "dotted" not in of_result("run", measured_result(), kept).blocks[0].remark


def test_a_replay_says_what_was_left_out_and_what_was_assumed(read):
    found = replay(records(30), routers=["always", "paper"])
    section = read({**to_plain(found), "left_out": 7, "assumed_steps": 3.35})
    assert "learnt from: 7 records" in section.notes[0]
    assert "3.35 times" in section.notes[1]


PLAIN = {"mean": 0.5, "low": 0.4, "high": 0.6, "n": 90}


@pytest.mark.parametrize("wrap", [lambda each: each, lambda each: {"n": 2, "result": each}])
def test_a_result_of_ones_own(read, wrap):
    rows = [{"name": f"{n} references", "cells": {"recall": PLAIN}, "at": n} for n in (2, 5, 10)]
    section = read(wrap({"title": "what does noise cost?", "rows": rows, "over": "references"}))
    assert section.title == "What does noise cost?"
    assert section.findings == [
        "Recall goes from 0.500 (0.400 to 0.600) at 2 references to 0.500 (0.400 to 0.600) at 10, "
        "n 90."
    ]


@pytest.mark.parametrize(
    "data",
    [[], {}, {"rows": 7}, {"rows": [{"name": "a"}]}, {"summary": {}, "compared": {}, "curve": {}},
     {"overall": {"routers": {"a": {}}, "n": 1}, "groups": {}}, {"overall": {"routers": {}}}],
)  # fmt: skip
def test_what_is_no_result(read, data):
    with pytest.raises(DataError, match="no result"):
        read(data)


def test_files_that_cannot_be_read(tmp_path: Path):
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(DataError, match="not JSON"):
        read_section(tmp_path / "broken.json")
    with pytest.raises(InputError, match="there is no file"):
        read_section(tmp_path / "missing.json")
    with pytest.raises(InputError, match="no result"):
        read_section(tmp_path)
