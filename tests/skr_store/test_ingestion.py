import gzip
import json

import pytest

from skr_core.errors import DataError, InputError
from skr_store import Store, ingest


@pytest.fixture
def store():
    with Store.ephemeral() as store:
        yield store


GOOD = [{"id": str(n), "title": f"Title {n}", "text": f"Text number {n}."} for n in range(5)]


def test_a_corpus_enters_once(tmp_path, store):
    with gzip.open(tmp_path / "corpus.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in [*GOOD, GOOD[0]])
    first = ingest([tmp_path], store)
    assert (first.added, first.passages, first.passages_left, first.skipped) == (1, 5, 1, 0)
    again = ingest([tmp_path], store)
    assert (again.added, again.left, again.passages, again.passages_left) == (0, 1, 0, 0)
    found = store.retrieve("Title 3")[0]
    assert (found.title, found.text, found.metadata["id"]) == ("Title 3", "Text number 3.", "3")


def test_progress_is_told(tmp_path, store):
    (tmp_path / "note.txt").write_text("One note.")
    seen = []
    ingest([tmp_path], store, on_progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, None), (1, 1)]


def test_a_broken_line_stops_or_is_passed_over(tmp_path, store):
    path = tmp_path / "corpus.jsonl"
    rows = [json.dumps(GOOD[0]), "{broken", json.dumps(GOOD[1]), '{"title": "no text"}']
    path.write_text("\n".join(rows))
    with pytest.raises(DataError, match="line 2: not JSON"):
        ingest([path], store)
    report = ingest([path], store, skip_bad=True)
    assert (report.passages, report.skipped) == (2, 2)
    assert "line 2" in report.problems[0]
    assert "line 4" in report.problems[1]


def test_a_long_document_is_cut_and_keeps_its_title(tmp_path, store):
    (tmp_path / "long.md").write_text("# Long story\n\n" + "A sentence of some words. " * 400)
    report = ingest([tmp_path], store)
    assert report.passages > 2
    assert {found.title for found in store.retrieve("sentence")} == {"Long story"}


def test_nothing_to_ingest_is_an_error(tmp_path, store):
    with pytest.raises(InputError, match="no passage"):
        ingest([tmp_path], store)
    with pytest.raises(InputError, match="no path"):
        ingest([], store)
    (tmp_path / "corpus.jsonl").write_text("{broken")
    with pytest.raises(InputError, match="line 1"):
        ingest([tmp_path], store, skip_bad=True)


def test_a_file_without_a_passage_is_no_document(tmp_path, store):
    note, blank = tmp_path / "note.txt", tmp_path / "blank.txt"
    blank.write_text(" \n")
    for _ in range(2):
        with pytest.raises(InputError, match=r"no passage found in .*blank\.txt"):
            ingest([blank], store)
    assert store.sources() == []
    note.write_text("One note.")
    assert ingest([tmp_path], store).added == 1
    note.write_text("")
    blank.write_text("Filled.")
    report = ingest([tmp_path], store)
    assert (report.added, report.replaced, report.passages_removed) == (1, 1, 1)


def test_a_missing_path_is_an_error_before_anything_is_added(tmp_path, store):
    (tmp_path / "note.txt").write_text("One note.")
    with pytest.raises(InputError, match=r"missing\.txt does not exist"):
        ingest([tmp_path / "note.txt", tmp_path / "missing.txt"], store)
    assert store.count() == 0
