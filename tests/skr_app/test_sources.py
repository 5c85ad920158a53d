"""The documents that an answer cites, as people and programs see them."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from skr_app.sources import print_sources, sources_of
from skr_core import Answer, Decision, Reference
from skr_core.references import resolve_citations
from tests.skr_app.conftest import Skr

FERRY = Reference.of(
    "The ferry sails at noon. It is red.", "Ferry", metadata={"source": "f.pdf", "page": 3}
)
BOOKS = Reference.of("The board keeps the books.", "Board", metadata={"source": "b.md"})
FARE = Reference.of("The fare is two crowns.", "Ferry", metadata={"source": "f.pdf", "page": 4})


def answer(text: str, *references: Reference) -> Answer:
    cited = resolve_citations(text, references)
    return Answer(
        "?", cited.text, cited.citations, references, Decision(True), (), "sufficient", {}
    )


SAID = answer("It sails at noon [1]. The board has the books [2]. Two crowns [3].", *(
    FERRY, BOOKS, FARE
))  # fmt: skip


def printed(said: Answer, *, is_terminal: bool) -> str:
    file = io.StringIO()
    print_sources(Console(file=file, width=40, force_terminal=is_terminal), said)
    return file.getvalue()


def test_the_passages_of_one_document_stand_together():
    assert sources_of(SAID) == [
        {
            "document": "f.pdf",
            "passages": [
                {
                    "marker": 1,
                    "reference_id": FERRY.id,
                    "place": "Ferry, page 3",
                    "quotes": ("The ferry sails at noon.",),
                },
                {
                    "marker": 3,
                    "reference_id": FARE.id,
                    "place": "Ferry, page 4",
                    "quotes": (FARE.text,),
                },
            ],
        },
        {
            "document": "b.md",
            "passages": [
                {
                    "marker": 2,
                    "reference_id": BOOKS.id,
                    "place": "Board",
                    "quotes": (BOOKS.text,),
                }
            ],
        },
    ]


def test_in_a_pipe_each_is_a_line_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.pdf").touch()
    assert printed(SAID, is_terminal=False).splitlines() == [
        "f.pdf",
        " [1] Ferry, page 3",
        '     "The ferry sails at noon."',
        " [3] Ferry, page 4",
        '     "The fare is two crowns."',
        "b.md",
        " [2] Board",
        '     "The board keeps the books."',
    ]


def test_a_terminal_links_to_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.pdf").touch()
    shown = printed(SAID, is_terminal=True)
    assert f";file://{tmp_path}/f.pdf\x1b\\" in shown
    assert shown.count("\x1b]8;") == 2, "b.md is nowhere"


@pytest.mark.parametrize("source", ["https://a.b/\x1b]8;;http://c.d\x1b\\", "x" * 5000, "a\x00b"])
def test_no_document_forges_a_link(source: str):
    forged = Reference.of("It sails.", "Ferry", metadata={"source": source})
    assert "\x1b]8;" not in printed(answer("It sails [1].", forged), is_terminal=True)


def test_a_passage_without_a_document_is_named_by_its_title_or_begins():
    bare = Reference.of("The vault lies below the level of the sea.")
    said = answer("Nobody wrote that [1]. It sails [2].", bare, Reference.of("It sails.", "Ferry"))
    assert printed(said, is_terminal=False).splitlines() == [
        " [1]",
        "     The vault lies below the level of the sea.",
        " [2] Ferry",
        '     "It sails."',
    ]


def test_the_command_names_them(skr: Skr, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("harbour.md").write_text(
        "# Harbour\n\n## Board\n\nThe board keeps the books." + "\n\nMore." * 300
    )
    assert skr("ingest", "harbour.md", "--store", "store").code == 0
    asked = ("ask", "Who keeps the books?", "--store", "store")
    told = skr(*asked).out
    assert 'harbour.md\n [1] Harbour: Board\n     "The board keeps the books."\n' in told
    (source,) = skr(*asked, "--json").json["sources"]
    assert (source["document"], source["passages"][0]["place"]) == ("harbour.md", "Harbour: Board")
