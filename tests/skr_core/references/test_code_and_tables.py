"""Python files and Markdown tables, quoted in an answer and shown in a prompt, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from skr_core import Reference
from skr_core.cleaning import cleaned
from skr_core.references import MarkerResolver, fence_references, resolve_citations

ROOT = Path(__file__).resolve().parents[3]
CODE = sorted(
    path
    for folder in ("skr_core", "graphs", "tests/skr_core")
    for path in (ROOT / folder).rglob("*.py")
)
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
REFERENCES = [Reference.of(f"passage {number}") for number in range(1, 4)]


def table_rows() -> list[str]:
    lines = (line for page in PAGES for line in page.read_text().splitlines())
    return [line for line in lines if line.startswith("|")]


def test_there_is_something_to_quote():
    assert len(CODE) > 100
    assert len(table_rows()) > 50


def test_an_answer_quotes_a_line_of_code_and_a_row_of_a_table():
    text = (
        "The first is `x = arr[0]` [1], which x = arr[0] sets:\n\n"
        "| name  | value  |\n|:------|-------:|\n| `a[1]` |  [2019] |\n| Paris | 1,234  |\n\n"
        "```python\nif x:\n\tx = arr[0]  # [7]\n```\nSo it is [2]."
    )
    cited = resolve_citations(text, REFERENCES)
    assert (cited.text, cited.removed) == (text, 0)
    assert [citation.marker for citation in cited.citations] == [1, 2]


@pytest.mark.parametrize("path", CODE, ids=lambda path: path.name)
def test_a_file_in_a_block_of_code(path: Path):
    code = path.read_text().rstrip()
    text = f"This is the file [1]:\n\n~~~~~~python\n{code}\n~~~~~~\n\nIt ends there [2]."
    cited = resolve_citations(text, REFERENCES)
    assert (cited.text, cited.removed) == (text, 0)
    assert [citation.marker for citation in cited.citations] == [1, 2]


def test_lines_of_code_between_backticks_streamed():
    lines = [line for path in CODE[::5] for line in path.read_text().splitlines()]
    for line in filter(None, (line.replace("`", "") for line in lines)):
        text = f"It says `{line}` there [1]."
        reading = MarkerResolver(3)
        for start in range(0, len(text), 3):
            reading.write(text[start : start + 3])
        assert reading.finish() == text
        assert [number for _, number in reading.markers] == [1]


def test_rows_of_tables():
    for row in table_rows():
        text = f"| a | b |\n|---|---|\n{row.rstrip()}\n\nSo [1]."
        cited = resolve_citations(text, REFERENCES)
        assert (cited.text, cited.removed) == (text, 0)


@pytest.mark.parametrize("path", [*CODE[::5], *PAGES], ids=lambda path: path.name)
def test_a_prompt_shows_a_file_as_it_is(path: Path):
    text = path.read_text()
    rendered = fence_references([Reference.of(text, path.name), *REFERENCES])
    assert f"\n{cleaned(text)}\n" in rendered
    assert cleaned(text).replace(" ", "") == text.replace(" ", "")  # but for tokens of chats
