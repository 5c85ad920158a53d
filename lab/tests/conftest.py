"""Running ``skr-lab`` inside the test's process, as the shell would."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from skr_lab.__main__ import main
from tests.conftest import data_dir, few_trees, quick_retries
from tests.skr_app.conftest import Result, skr

__all__ = ["data_dir", "few_trees", "quick_retries", "skr"]

Lab = Callable[..., Result]


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Lab:
    """The command, whose keyword arguments are fields: ``lab("run", "certainty", limit=4)``."""
    for name in ("SKR_MODEL", "SKR_BASE_URL", "SKR_EMBEDDER", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    def invoke(*arguments: object, **fields: object) -> Result:
        values = [part for name, value in fields.items() for part in ("--set", f"{name}={value}")]
        monkeypatch.setattr("sys.argv", ["skr-lab", *map(str, arguments), *values])
        code: object = 0
        try:
            main()
        except SystemExit as end:
            code = end.code
        written = capsys.readouterr()
        return Result(int(code or 0), written.out, written.err)

    return invoke


def one_line(result: Result, *words: str, code: int = 2) -> None:
    """An error of the command is one line with these words."""
    assert result.code == code, result
    lines = [line for line in result.err.splitlines() if "error:" in line]
    assert len(lines) == 1, result.err
    assert "Traceback" not in result.err
    assert all(word in lines[0] for word in words), lines
