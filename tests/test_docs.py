"""Every ```python block of the documentation runs, those of a page one after another."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Blocks that name what only the reader has, each with its reason in words.
LEFT_OUT: dict[str, str] = {
    "def self_complete(model, question": "architecture.md shows an excerpt of a module",
}
PAGES = sorted(
    page for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")) if page.is_file()
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # what a page writes stays out of the project
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    text = page.read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": page.stem}
    for block in BLOCK.finditer(text):
        if any(block[1].startswith(beginning) for beginning in LEFT_OUT):
            continue
        line = text.count("\n", 0, block.start(1))
        # Blank lines before it, so that a traceback names the page's own line.
        exec(compile("\n" * line + block[1], str(page), "exec"), names)
