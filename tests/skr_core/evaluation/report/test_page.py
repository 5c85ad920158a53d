"""The page: self-contained, escaped, and right about what is worst."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from skr_core.evaluation.report.page import ReportedRun, accuracy_by_rounds, report_page, worst
from skr_core.evaluation.report.tables import Comparison, Result, Row
from skr_core.metrics.statistics import Interval

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\" onclick='x'"
CELL = Interval(0.5, 0.4, 0.6, 10, 2)
RESULT = Result(
    f"evaluate {HOSTILE}",
    HOSTILE,
    {"model": HOSTILE, HOSTILE: "x"},
    rows=tuple(
        Row(name, {"answer_accuracy": CELL, "retrieved": CELL, "calls": CELL, HOSTILE: CELL})
        for name in ("never", "always", HOSTILE)
    ),
    comparisons=(Comparison(HOSTILE, "never", {"answer_accuracy": CELL}),),
    notes=(HOSTILE,),
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
        "values": {"answer_accuracy": right, "title_recall": n / 100},
    }


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs


def page() -> str:
    scores = [row(n, 0.0) for n in range(30)] + [row(99, None)]
    run = ReportedRun(HOSTILE, RESULT, scores, b"\x89PNG", [(0.0, 0.4), (0.5, 0.6), (1.0, 0.5)])
    return report_page([run, ReportedRun("second", RESULT)])


def test_hostile_text_is_text():
    tags = Tags()
    tags.feed(page())
    assert "script" not in tags.tags
    assert not any(name.startswith("on") for name, _ in tags.attributes)
    sources = [value for name, value in tags.attributes if name in {"src", "href"}]
    assert sources
    assert all(value and value.startswith("data:") for value in sources)


def test_nothing_is_fetched():
    assert not re.search(r"https?://|@import|url\(", page())
    assert "default-src 'none'" in page()
    assert "width=device-width" in page()


def test_failures_and_the_curve_are_shown():
    shown = page()
    assert "+ 2 failed" in shown
    assert "<polyline" in shown
    assert shown.count("<circle") == 4  # never and always, on two runs
    assert "Accuracy by rounds" in shown


def test_the_worst_are_of_the_best_system_and_twenty():
    scores = [row(1, 0.0, system="other"), *(row(n, float(n % 2)) for n in range(60)), row(7, None)]
    found = worst(scores)
    assert len(found) == 20
    assert found[0]["answer"] is None
    assert {each["system"] for each in found} == {"loop"}
    assert all(each["values"]["answer_accuracy"] != 1.0 for each in found)
    assert worst([]) == []


def test_rounds():
    groups = accuracy_by_rounds([row(1, 1.0, 1), row(2, 0.0, 3), row(3, 1.0, 3), row(4, None)])
    assert {rounds: cell.mean for rounds, cell in groups["loop"].items()} == {1: 1.0, 3: 0.5}


def test_a_run_without_anything():
    assert "</html>" in report_page([ReportedRun("empty", Result("e", "t", {}, ()))])
