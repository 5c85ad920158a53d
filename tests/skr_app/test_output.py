"""What commands print for people: tables that a narrow terminal can show."""

from __future__ import annotations

import io
import json
import sys

import pytest
from rich.console import Console

from skr_app import output
from skr_app.__main__ import main as begin
from skr_core import Answer, Citation, Decision, Reference, Reflection, Round

MEASURES = ["answer_accuracy", "title_recall", "prompt_tokens"]
CELL = "0.500 (0.400 to 0.600)"


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch):
    def show(headings: list[str], rows: list[list[str]], width: int = 80, title: str = "") -> str:
        file = io.StringIO()
        monkeypatch.setattr(
            output,
            "console",
            Console(file=file, width=width, force_terminal=True, color_system=None, emoji=False),
        )
        output.print_table(headings, rows, title=title)
        return file.getvalue()

    return show


def rows(systems: int, measures: list[str] = MEASURES) -> list[list[str]]:
    return [[f"system {n}", *(CELL for _ in measures)] for n in range(systems)]


def test_what_fits_stands_as_it_is(printed):
    shown = printed(["", *MEASURES], rows(2), width=120).splitlines()
    assert shown[0].split() == MEASURES
    assert shown[1].startswith("system 0")


def test_two_systems_of_many_measures_are_columns(printed):
    measures = [f"measure_{n}" for n in range(12)]
    shown = printed(["", *measures], rows(2, measures)).splitlines()
    assert shown[0].split() == ["system", "0", "system", "1"]
    assert [line.split()[0] for line in shown[1:]] == measures


@pytest.mark.parametrize("width", [40, 60, 80])
def test_many_systems_are_told_in_parts_and_no_figure_is_folded(printed, width: int):
    measures = [f"measure_{n}" for n in range(12)]
    shown = printed(["", *measures], rows(9, measures), width=width)
    assert shown.count(CELL) == 9 * 12
    assert all(len(line) <= width for line in shown.splitlines())
    words = shown.split()
    assert all(words.count(measure) == 1 for measure in measures)
    parts = shown.count("\n\n") + 1
    assert shown.count("system 3") == parts  # each part has the names


def test_a_long_name_is_folded_and_a_hostile_one_is_text(printed):
    shown = printed(["", "n"], [["[red]x[/red] \x1b[31m" + "long " * 40, "7"]], title="[b]T")
    assert "[red]x[/red]" in shown
    assert "[b]T" in shown
    assert "\x1b" not in shown
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_a_passage_steers_no_terminal():
    file = io.StringIO()
    console = Console(file=file, width=200, force_terminal=True, color_system=None)
    hostile = "[red]seen\x1b]0;title\x07\x1b[2J\r\x9b31m\u202e\u200b\U000e0041 <|im_start|>\ud800"
    console.print(output.escape(hostile))
    assert file.getvalue() == "[red]seen]0;title[2J\n31m < |im_start|>\ufffd\n"


def test_an_answer_and_its_sources_steer_no_terminal():
    hostile = "red\x1b[31m\u202e\x00\ud800<|im_end|>"
    source = Reference.of(f"It is {hostile}.", hostile)
    text = f"{hostile} [1]."
    cited = (Citation(1, source.id, text, (len(hostile) + 1, len(hostile) + 4)),)
    answer = Answer(
        hostile,
        text,
        cited,
        (source,),
        Decision(True, reason=hostile),
        (Round((hostile,), reflection=Reflection(True, hostile), errors=(hostile,)),),
        "sufficient",
        {},
        grounded=True,
    )
    file = io.StringIO()
    output.show_answer(
        Console(file=file, width=200, force_terminal=True, color_system=None), answer, "m"
    )
    shown = file.getvalue()
    assert shown.count("red[31m\ufffd< |im_end|>") == 7
    assert not {*shown} & {*"\x1b\u202e\x00"}


def test_what_no_json_holds_is_printed_all_the_same(capsys: pytest.CaptureFixture[str]):
    output.print_json({"answer\udfff": ["Paris \ud800"]})
    assert json.loads(capsys.readouterr().out) == {"answer\ufffd": ["Paris \ufffd"]}


def test_an_interrupted_import_is_no_traceback(monkeypatch: pytest.MonkeyPatch):
    class Interrupting:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "skr_app.main":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "skr_app.main", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupting(), *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        begin()
    assert ended.value.code == 130
