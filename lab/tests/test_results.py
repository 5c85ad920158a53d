"""The tables of recorded figures say what their commands find."""

from __future__ import annotations

import re

import pytest

from benchmarks import results
from benchmarks.rows import ROOT
from skr_lab.experiments import EXPERIMENTS


@pytest.mark.parametrize("page", [results.PAPERS, results.RESULTS, results.ROUTING, results.TRUST])
def test_each_table_of_a_page_has_its_commands(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    places = re.findall(r"<!-- results: ([\w-]+) -->", text)
    assert sorted(places) == sorted(
        name for name, each in results.TABLES.items() if each.page == page
    )
    for name in places:
        for command in results.TABLES[name].commands:
            assert command in results.said(name)
            program, *arguments = results.words_of(command)
            if program == "python":
                assert (ROOT / "lab" / f"{arguments[1].replace('.', '/')}.py").is_file()
            else:
                assert program in results.MODULES
                assert program == "skr" or arguments[1] in EXPERIMENTS
        dated = results.place_of(name).search(text)
        assert dated is not None
        assert bool(dated["dated"]) == bool(results.TABLES[name].commands)


@pytest.mark.data
@pytest.mark.usefixtures("data_dir")
@pytest.mark.parametrize("name", results.CHEAP)
def test_a_table_says_what_its_commands_find(name: str) -> None:
    assert results.made(name) == results.said(name)


def test_a_table_is_written_where_it_stands(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "Above.\n\n<!-- results: mine -->\n\nold\n\n<!-- end of results -->\n\nBelow.\n"
    )
    monkeypatch.setattr(results, "ROOT", tmp_path)
    mine = results.Table("page.md", ["skr replay"], lambda found: ["| new |"])
    monkeypatch.setattr(results, "TABLES", {"mine": mine})
    monkeypatch.setattr(results, "run", lambda command: "{}")
    monkeypatch.setattr("sys.argv", ["results", "--check"])
    assert results.main() == 1
    assert results.said("mine") == "old"
    monkeypatch.setattr("sys.argv", ["results"])
    assert results.main() == 0
    assert results.said("mine") == "```sh\nskr replay\n```\n\n| new |"
    assert page.read_text().startswith("Above.")
    assert page.read_text().endswith("\n<!-- end of results -->\n\nBelow.\n")
    monkeypatch.setattr("sys.argv", ["results", "--check"])
    assert results.main() == 0
