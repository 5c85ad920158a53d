"""The notebook: valid, harmless whatever it holds, and with a cell to go on in."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from skr_app.report import Section, records_again, report_notebook, write_report
from skr_core.errors import InputError, StoreError
from skr_learn import Record, Records
from tests.skr_app.report.measured import measured

EMPTY = Section("records.jsonl", "calibrate", "Does routing pay?", ["It does."])


@pytest.fixture(scope="module")
def notebook() -> nbformat.NotebookNode:
    found = nbformat.reads(report_notebook(measured(), "1 + 1").decode(), as_version=4)
    nbformat.validate(found)
    return found


def test_the_verdict_is_first_and_what_was_judged_before_the_code(notebook: nbformat.NotebookNode):
    assert measured().findings[0].startswith("Better: 97 of 100 right with the router")
    assert f"## {measured().findings[0]}" in notebook.cells[0]["source"]
    judged = next(each["source"] for each in notebook.cells if "judged on what" in each["source"])
    assert "- model: small\n" in judged
    assert [each["source"] for each in notebook.cells if each.cell_type == "code"] == ["1 + 1"]


def test_both_pictures_are_in_it(notebook: nbformat.NotebookNode):
    for cell, title in zip(notebook.cells[1:3], ("Accuracy against cost", "Risk"), strict=True):
        assert title in cell["source"]
        assert "](attachment:0.png)" in cell["source"]
        assert cell["attachments"]["0.png"]["image/png"].startswith("iVBORw0KGgo")  # a PNG
    assert "| 25% | 0% (0% to " in notebook.cells[2]["source"]


def test_hostile_text_is_text(notebook: nbformat.NotebookNode):
    text = "\n".join(each["source"] for each in notebook.cells)
    assert r"\<script\>" in text
    assert "<script" not in text.replace(r"\<script", "")
    assert "![x](http" not in text
    assert r"\!\[x\](http" in text


@pytest.mark.integration
def test_its_code_reads_the_records_from_where_it_lies(tmp_path: Path):
    (tmp_path / "found").mkdir()
    report, path = tmp_path / "found" / "report.ipynb", tmp_path / "records.jsonl"
    Records([Record.of(f"{n}?", direct=("", 1), loop=("", 0)) for n in range(3)]).write(path)
    write_report(report, EMPTY, records_again(report, path))
    client = NotebookClient(nbformat.read(report, as_version=4), timeout=120, resources={
        "metadata": {"path": str(report.parent)}})  # fmt: skip
    (cell,) = [each for each in client.execute().cells if each.cell_type == "code"]
    assert cell.outputs[0]["text"] == "3 records; the first asks: 0?\n"


def test_what_cannot_be_written(tmp_path: Path):
    (tmp_path / "taken.html").mkdir()
    with pytest.raises((StoreError, InputError), match="cannot be written"):
        write_report(tmp_path / "taken.html", EMPTY)
