"""Rows of every kind of file, as its tool writes it; and files that are not what they say."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from skr_core.errors import DataError, InputError
from skr_core.files import frame_of, read_rows, write_rows

ROWS = [{"question": "Who?", "answer": "Ada"}, {"question": "When?", "answer": "1815"}]
FRAME = pd.DataFrame(ROWS)


def rows(source: Any, **options: Any) -> list[dict[str, Any]]:
    return [row for _, row in read_rows(source, **options)]


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("a.csv", lambda path: FRAME.to_csv(path, index=False)),
        ("a.CSV", lambda path: FRAME.to_csv(path, index=False, sep=";", encoding="utf-16")),
        ("a.csv.gz", lambda path: FRAME.to_csv(path, index=False)),
        ("a.tsv", lambda path: FRAME.to_csv(path, index=False, sep="\t")),
        ("a.parquet", lambda path: FRAME.to_parquet(path)),
        ("a.json", lambda path: FRAME.to_json(path, orient="records")),
        ("b.json", lambda path: FRAME.to_json(path, orient="records", lines=True)),
        ("c.json", lambda path: path.write_text(json.dumps(FRAME.to_dict("list")))),
        ("d.json", lambda path: path.write_text(json.dumps({"version": 1, "data": ROWS}))),
        ("a.jsonl", lambda path: write_rows(path, ROWS)),
        ("a.jsonl.gz", lambda path: write_rows(path, ROWS)),
    ],
)
def test_every_kind_of_file_has_the_same_rows(tmp_path: Path, name: str, write: Any):
    write(tmp_path / name)
    assert rows(tmp_path / name) == ROWS


def test_frames_lists_and_pairs():
    assert rows(FRAME) == rows(ROWS) == rows(iter(ROWS)) == ROWS
    assert rows([("Who?", "Ada"), ["When?", "1815"]]) == ROWS
    with pytest.raises(InputError, match="not from int"):
        rows(3)
    with pytest.raises(DataError, match=r"list, row 2: this is no object"):
        rows([ROWS[0], 3])
    assert rows([ROWS[0], 3], skip_bad=True) == ROWS[:1]


def test_what_is_missing_is_none_and_dotted_names_are_nested():
    frame = pd.DataFrame({"a": [1, None], "b.c": [pd.NA, "x"], "b": [None, None], "d": [["y"], []]})
    assert rows(frame) == [
        {"a": 1, "b.c": None, "b": None, "d": ["y"]},
        {"a": None, "b": {"c": "x"}, "d": []},
    ]


def test_a_cell_may_hold_a_list(tmp_path: Path):
    path = tmp_path / "a.csv"
    path.write_text("""a,b,c\n"[""x"", 1]","['y', 'z']",[Trick] What?\n""")
    assert rows(path) == [{"a": ["x", 1], "b": ["y", "z"], "c": "[Trick] What?"}]


def test_the_line_is_that_of_the_file(tmp_path: Path):
    path = tmp_path / "a.csv"
    path.write_text('question,answer\n"two\nlines",Ada\n\nWho?,Ada,more\nWhen?,1815\n')
    with pytest.raises(DataError, match=r"a\.csv, line 5: more cells"):
        rows(path)
    assert [place.number for place, _ in read_rows(path, skip_bad=True)] == [3, 6]


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.csv", "q\nCafé".encode("cp1252"), "not UTF-8"),
        ("a.csv", b"q,a\nWho?,A\0da", "line 2: .*NUL"),
        ("a.csv", b'q,a\n"Who?,Ada\nWhen?,1815', "unexpected end of data"),
        ("a.csv", b"q\n" + b"x" * 200_000, "field larger than field limit"),
        ("a.csv", b"q\n['a' 'b']", "line 2: .* was printed and cannot be read back"),
        ("a.csv", b"q\n\"{'text': array(['a'], dtype=object)}\"", "line 2: .* was printed"),
        ("a.csv", b"q\n['" + b"-" * 90_000 + b"1']]", "line 2: .* was printed"),
        ("a.parquet", b"PAR1", "not Parquet"),
        ("a.parquet", b"", "not Parquet"),
        ("a.parquet", b'{"question": "Who?"}', "not Parquet"),
        ("a.json", b'[{"question": "Who?"}', "not JSON"),
        ("a.json", b"7", "list of objects"),
        ("a.json", b'[{"a": ' + b"[" * 900 + b"]" * 900 + b"}]", "row 1: this is no object"),
        ("a.json", b"[" * 100_000, "not JSON"),
        ("a.xlsx", b"PK\3\4", "save it as CSV"),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_what_is_no_such_file_is_one_line(tmp_path: Path, name: str, content: bytes, problem: str):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=problem) as caught:
        rows(tmp_path / name)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_a_table_larger_than_it_looks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pd.DataFrame({"question": ["x" * 1_000] * 1_000}).to_parquet(tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").stat().st_size < 10_000
    monkeypatch.setattr("skr_core.files.rows.LARGEST_FILE", 100_000)
    with pytest.raises(DataError, match="more than 100,000 bytes"):
        rows(tmp_path / "a.parquet")


@pytest.mark.parametrize("name", ["a.parquet", "a.csv", "a.jsonl"])
def test_what_is_written_is_read_again(tmp_path: Path, name: str):
    given = [{"a": "Ada", "n": 0.5, "of": ["x", "y"]}, {"a": "Ada \ud800", "n": 1.0, "of": []}]
    write_rows(tmp_path / name, given)
    (first, second) = rows(tmp_path / name)
    assert (first["a"], float(first["n"]), first["of"]) == ("Ada", 0.5, ["x", "y"])
    assert (second["a"], second["of"]) == ("Ada \ufffd", [])


def test_no_text_is_a_formula_in_a_spreadsheet(tmp_path: Path):
    write_rows(tmp_path / "a.csv", [{"a": '=HYPERLINK("x")', "n": -1.0}])
    assert (tmp_path / "a.csv").read_text().splitlines()[1].startswith("\"'=HYPERLINK")
    assert rows(tmp_path / "a.csv")[0]["n"] == "-1.0"


def test_what_parquet_cannot_hold_is_one_line(tmp_path: Path):
    with pytest.raises(DataError, match="write JSON Lines"):
        write_rows(tmp_path / "a.parquet", [{"a": 1}, {"a": "x"}])


def test_a_compressed_table_is_written(tmp_path: Path):
    write_rows(tmp_path / "a.csv.gz", ROWS)
    written = gzip.decompress((tmp_path / "a.csv.gz").read_bytes())
    assert written.startswith(b"question,answer\r\n")
    assert list(frame_of([{"a": {"b": 1}, "c": {}}]).columns) == ["a.b"]
