"""In a pipe: plain lines that grep and awk read, whatever COLUMNS says; and what a shell completes.

Each of these runs the command in a shell, as people do.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from skr_app.completing import ROUTERS, routers, stores
from skr_app.helping import COMMANDS
from skr_core import load_router
from skr_core.testing import ScriptedModel
from tests.skr_app.conftest import Skr

ROOT = Path(__file__).resolve().parents[2]
DRAWN = set("╭╮╰╯│─┃━\x1b")


def in_shell(line: str, **variables: str) -> str:
    """What a line of the shell writes, with `skr` as the command of this very code."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "graphs"), os.environ.get("PYTHONPATH", "")])
    env: Mapping[str, str] = {**os.environ, "PYTHONPATH": path, "COLUMNS": "20", **variables}
    script = f'skr() {{ "{sys.executable}" -m skr_app "$@"; }}\n{line}'
    done = subprocess.run(
        ["/bin/sh", "-c", script], env=env, capture_output=True, text=True, timeout=150
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_help_in_a_pipe_is_whole_lines():
    shown = in_shell("skr ask --help | cat")
    assert not DRAWN & {*shown}
    assert "\nModel:\n" in shown
    (line,) = (each for each in shown.splitlines() if each.lstrip().startswith("--router"))
    assert line.endswith("Without a router every question is searched for.")


def test_tables_in_a_pipe_are_cut_by_tabs(skr: Skr, corpus: Path, tmp_path: Path):
    assert skr("ingest", corpus, "--store", tmp_path / "store").code == 0
    shown = in_shell(f"skr store ls --store {tmp_path}/store | awk -F'\\t' '{{ print $1, $3 }}'")
    assert shown == f"document passages\n{corpus} 32\n"


def test_an_answer_in_a_pipe_is_no_box(skr: Skr, corpus: Path, tmp_path: Path):
    assert skr("ingest", corpus, "--store", tmp_path / "store").code == 0
    found = skr("ask", "Where was Steven Spielberg born?", "--store", tmp_path / "store").out
    assert any(each.startswith("Steven Spielberg was born in") for each in found.splitlines())
    assert not DRAWN & {*found}


def test_a_wrong_option_in_a_pipe_is_no_box(skr: Skr):
    result = skr("ask", "Who?", "--no-such-option")
    assert (result.code, DRAWN & {*result.err}) == (2, set())
    assert "No such option: --no-such-option" in result.err


def test_a_shell_completes_commands_and_values():
    bash = {"_SKR_COMPLETE": "complete_bash"}
    assert {*in_shell("skr", **bash, COMP_WORDS="skr ", COMP_CWORD="1").split()} == {*COMMANDS}
    of_ask = in_shell("skr", **bash, COMP_WORDS="skr ask --router ne", COMP_CWORD="3")
    assert of_ask.split() == ["never"]


@pytest.mark.parametrize("name", ROUTERS)
def test_a_router_that_is_completed_can_be_loaded(name: str):
    assert load_router(name, model=ScriptedModel())


def test_files_and_folders_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "store" / "within").mkdir(parents=True)
    (tmp_path / "router.skr").touch()
    (tmp_path / ".hidden").mkdir()
    assert routers("rou") == ["router.skr"]
    assert stores("") == ["store/"]
    assert stores("store/") == ["store/within/"]
    assert stores(f"{tmp_path}/st") == [f"{tmp_path}/store/"]
    assert stores("nowhere/") == []
