"""The page of the benchmarks says what was measured; what is measured is no test."""

from __future__ import annotations

import ast
import json
from dataclasses import asdict
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks import page
from benchmarks.rows import ROOT, LeftOut, Row, growth, medians, needed

SIZES = [Row("adding", 2.0 * n, "s", "plain", 1.0 * n * n, n, "passages") for n in (1, 2, 4, 8)]


def test_growth_is_the_slope_of_the_logarithms() -> None:
    assert growth([1, 2, 4, 8], [3, 12, 48, 192]) == pytest.approx(2)


def test_a_table_has_ratios_and_what_four_sizes_show_of_growth() -> None:
    lines = list(page.table([asdict(row) for row in SIZES]))
    assert "| adding | 4 passages | 8 s | 16 s | plain | **0.50** |" in lines
    assert lines[-1] == "| adding | 1.00 | 2.00 | plain |"
    few = list(page.table([asdict(row) for row in SIZES[:3]]))
    assert not any("power" in line for line in few)


def test_ways_take_turns_and_warm_up_first() -> None:
    asked: list[str] = []
    found = medians({"one": lambda: asked.append("one"), "two": lambda: asked.append("two")}, 2)
    assert asked == ["two", "one", "one", "two", "two", "one"]
    assert set(found) == {"one", "two"}


def test_a_part_without_its_data_is_left_out_in_words() -> None:
    with pytest.raises(LeftOut, match=r"no .*nowhere\.jsonl.*set SKR_DATA"):
        needed("nowhere.jsonl")


@pytest.mark.parametrize("name", command.PARTS)
def test_each_part_says_what_it_measures(name: str) -> None:
    tree = ast.parse((ROOT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8"))
    title, _, text = (ast.get_docstring(tree) or "").partition("\n\n")
    assert title.endswith(".")
    assert text
    assert any(isinstance(node, ast.FunctionDef) and node.name == "rows" for node in tree.body)


def test_a_part_that_fails_leaves_nothing_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = tmp_path / "benchmarks.json"
    part = {"measured": "today", "load": 0.5, "rows": [asdict(row) for row in SIZES]}
    written.write_text(json.dumps({"parts": {"loop": part, "start": part}}))
    monkeypatch.setattr(command, "MEASURED", written)
    outcomes = {"loop": (None, 1), "ingestion": (part, 0)}
    monkeypatch.setattr(command, "measure", lambda name, *, quick: outcomes[name])
    monkeypatch.setattr("sys.argv", ["benchmarks", "loop", "ingestion"])
    assert command.main() == 1
    known = json.loads(written.read_text())
    assert list(known["parts"]) == ["ingestion", "start"]
    assert written.with_suffix(".md").read_text() == page.page(known)
