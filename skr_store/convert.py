"""HTML, PDF and Office to text, as a program that reads files in little memory and some time.

A file from elsewhere may have been made so that reading it takes hours or all memory, or ends the
process that reads it. So files are read in a process of their own. It is given a line of JSON for
each, the file, the seconds and the bytes of memory, and writes one: what `Converted` holds, or a
``problem``, or the ``missing`` library. It imports nothing of this project, so that it begins at
once.

| suffix | read with | parts |
|---|---|---|
| .html .htm | beautifulsoup4, lxml and markdownify | one, in Markdown |
| .docx | mammoth, then as HTML | one, in Markdown |
| .pdf | pypdfium2 | a page |
| .pptx | python-pptx | a slide, by its number, with its notes |
| .xlsx | openpyxl | a sheet, by its name |
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypedDict

DEEPEST = 200
"""Tags within each other: markdownify calls itself for each, and walks its text again."""
UNSEEN = ("head", "script", "style", "template", "noscript", "nav")
"""Tags of a page whose text is not shown, or leads to other pages."""


class Part(TypedDict, total=False):
    """A text, with ``page`` or ``heading`` where the file says so."""

    text: str
    page: int
    heading: str


class Converted(TypedDict):
    """What a file holds."""

    title: str
    parts: list[Part]


def convert(path: Path) -> Converted:
    """Read a file by its suffix; whatever its library raises is raised."""
    return _CONVERTERS[path.suffix.lower()](path)


def _html(path: Path) -> Converted:
    return _page(path.read_bytes())


def _docx(path: Path) -> Converted:
    import mammoth

    with path.open("rb") as file:
        return _page(mammoth.convert_to_html(file).value)


def _page(content: bytes | str) -> Converted:
    import warnings

    from bs4 import BeautifulSoup, XMLParsedAsHTMLWarning
    from bs4.element import CData, PreformattedString
    from markdownify import ATX, MarkdownConverter

    warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)  # XHTML reads well as HTML
    soup = BeautifulSoup(content, "lxml")  # which closes what a page leaves open
    depth = {id(soup): 0}
    for tag in soup(True):
        depth[id(tag)] = depth[id(tag.parent)] + 1
        if depth[id(tag)] > DEEPEST:
            raise ValueError(f"more than {DEEPEST} tags within each other")
    title = soup.title.get_text() if soup.title else ""
    for tag in soup(UNSEEN):
        tag.extract()
    for text in soup(string=True):
        if isinstance(text, PreformattedString) and not isinstance(text, CData):
            text.extract()  # a comment, or an instruction
    converter = MarkdownConverter(
        heading_style=ATX,
        strip=["a", "img"],  # addresses are no words of the text
        escape_asterisks=False,
        escape_underscores=False,
        table_infer_header=True,
        strip_pre=None,
    )
    return {"title": " ".join(title.split()), "parts": [{"text": converter.convert_soup(soup)}]}


def _pdf(path: Path) -> Converted:
    import pypdfium2

    with pypdfium2.PdfDocument(path) as pdf:
        pages = [page.get_textpage().get_text_bounded() for page in pdf]
        title = pdf.get_metadata_value("Title")
    # PDFium writes U+FFFE where a hyphen parts a word at the end of a line.
    texts = [text.replace("\r\n", "\n").replace("\ufffe", "-") for text in pages]
    return {"title": title.strip(), "parts": _numbered(texts)}


def _pptx(path: Path) -> Converted:
    from pptx import Presentation

    presentation = Presentation(str(path))
    texts = []
    for slide in presentation.slides:
        pieces = list(_shown(slide.shapes, slide.shapes.title))
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame:
            pieces.append(slide.notes_slide.notes_text_frame.text)
        texts.append("\n\n".join(piece for piece in pieces if piece.strip()))
    return {"title": presentation.core_properties.title or "", "parts": _numbered(texts)}


def _shown(shapes: Any, title: Any) -> Iterator[str]:
    """The texts of a slide's shapes, and of those that are grouped."""
    for shape in shapes:
        if hasattr(shape, "shapes"):
            yield from _shown(shape.shapes, title)
        elif shape.has_text_frame:
            text = shape.text_frame.text.strip()
            is_title = title is not None and shape.shape_id == title.shape_id
            yield f"## {text}" if text and is_title else text
        elif getattr(shape, "has_table", False):
            yield _table([cell.text for cell in row.cells] for row in shape.table.rows)
        elif getattr(shape, "has_chart", False):
            for plot in shape.chart.plots:
                heads = ["", *(str(series.name) for series in plot.series)]
                columns = [list(plot.categories), *(series.values for series in plot.series)]
                yield _table([heads, *zip(*columns, strict=False)])


def _xlsx(path: Path) -> Converted:
    from openpyxl import load_workbook

    workbook = load_workbook(path, read_only=True, data_only=True)
    parts: list[Part] = []
    for sheet in workbook.worksheets:
        sheet.reset_dimensions()  # some programs write wrong ones
        rows = sheet.iter_rows(values_only=True)
        text = _table(["" if cell is None else cell for cell in row] for row in rows)
        parts.append({"text": text, "heading": sheet.title})
    return {"title": workbook.properties.title or "", "parts": parts}


def _table(rows: Iterable[Iterable[object]]) -> str:
    """A row a line, its cells between bars."""
    lines = (" | ".join(map(_cell, row)) for row in rows)
    return "\n".join(line.rstrip(" |") for line in lines if line.strip(" |"))


def _cell(value: object) -> str:
    text = " ".join(str(value).split())
    return text.removesuffix(" 00:00:00")  # a date of a workbook is the midnight at which it begins


def _numbered(texts: Iterable[str]) -> list[Part]:
    return [{"text": text, "page": number} for number, text in enumerate(texts, start=1)]


_CONVERTERS: dict[str, Callable[[Path], Converted]] = {
    ".html": _html,
    ".htm": _html,
    ".docx": _docx,
    ".pdf": _pdf,
    ".pptx": _pptx,
    ".xlsx": _xlsx,
}

CONVERTED = tuple(_CONVERTERS)
"""The suffixes of files that are read so."""


def _limit(seconds: int, most: int) -> None:
    """Let the system stop this process, also when nobody waits for it any more."""
    try:
        import resource
    except ImportError:  # on Windows there is only the time for which is waited
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    until = int(used.ru_utime + used.ru_stime) + seconds
    for kind, limit in ((resource.RLIMIT_CPU, until), (resource.RLIMIT_DATA, most)):
        resource.setrlimit(kind, (limit, resource.getrlimit(kind)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> None:
    """Write for each line what its file holds, or why it cannot be read."""
    sys.setrecursionlimit(100 * DEEPEST)
    for line in sys.stdin:
        path, seconds, most = json.loads(line)
        _limit(seconds, most)
        said: Any
        try:
            said = convert(Path(path))
        except ImportError as error:
            said = {"missing": error.name}
        except MemoryError:
            said = {"problem": "it takes too much memory: split it"}
        except Exception as error:  # each library raises its own errors, and stumbles
            said = {"problem": f"{type(error).__name__}: {error}"}
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
