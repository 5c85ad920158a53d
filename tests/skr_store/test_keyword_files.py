"""The words that are kept beside a journal are those of the journal, whatever happened to them."""

from __future__ import annotations

import random
import shutil
import tempfile
from pathlib import Path

import bm25s
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skr_core import Reference
from skr_core.errors import DataError, StoreError
from skr_store import ChromaStore, keyword_files
from skr_store.bm25 import K1, B, BM25Index
from skr_store.counting import searched_words
from skr_store.journal import Journal, begin_journal, read_journal
from skr_store.keyword_files import KeywordFiles
from skr_store.storable import keyword_text

DRAW = random.Random(5)
WORDS = ["red", "green", "blue", "größer", "巴", "x" * 300]
PASSAGES = [
    Reference.of(" ".join(DRAW.choices(WORDS, k=DRAW.randint(1, 9))), f"Title {n}")
    for n in range(60)
]
QUERIES = ["red blue", "größer 巴", "title 7", "x" * 300, "green green unknown"]


class Opened:
    """A journal with its words, as a store opens them."""

    def __init__(self, folder: Path, *, read_only: bool = False) -> None:
        path = folder / "references.jsonl"
        begin_journal(path, "none")
        self.words = KeywordFiles(folder / "words", path, read_only=read_only)
        self.journal = Journal(path, "none", self.words.index.ids)

    def add(self, references):
        self.words.append(self.journal.append(references))

    def found(self):
        return [self.words.index.search(query, 100) for query in QUERIES]

    def close(self):
        self.journal.close()
        self.words.keep()


def fresh(references):
    """What an index finds that was made of these at once."""
    index = BM25Index()
    index.add((item.id, keyword_text(item)) for item in references)
    return [index.search(query, 100) for query in QUERIES]


STEPS = st.one_of(
    st.lists(st.sampled_from(PASSAGES), max_size=9),  # an addition
    st.sampled_from(["keep", "close", "kill", "delete the first line"]),
)


@given(st.lists(STEPS, max_size=12))
@settings(max_examples=25, deadline=None)
def test_any_order_of_additions_deletions_and_openings_is_one_fresh_index(steps):
    added: dict[str, Reference] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "references.jsonl"
        opened = Opened(folder)
        for step in steps:
            if isinstance(step, list):
                opened.add(step)
                added |= {item.id: item for item in step}
            elif step == "keep":
                opened.words.keep()
            else:
                opened.journal.close()
                if step == "close":
                    opened.words.keep()
                elif step != "kill" and added:
                    del added[next(iter(added))]
                    header, _, *lines = path.read_bytes().splitlines(keepends=True)
                    path.write_bytes(b"".join([header, *lines]))
                opened = Opened(folder)
            result = opened.found(), len(opened.words.index), list(opened.journal.ids)
            if result != (fresh(added.values()), len(added), list(added)):
                opened.journal.close()
                pytest.fail(f"after {step}")
        opened.journal.close()


def test_scores_of_several_kept_parts_are_those_of_bm25s(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(keyword_files, "KEPT_AFTER", 16)
    opened = Opened(tmp_path)
    for start in range(0, 60, 7):
        opened.add(PASSAGES[start : start + 7])
    opened.close()
    assert len(list((tmp_path / "words").iterdir())) > 1
    again = Opened(tmp_path)
    again.journal.close()
    reference = bm25s.BM25(method="lucene", k1=K1, b=B)
    reference.index([searched_words(keyword_text(each)) for each in PASSAGES], show_progress=False)
    for query in QUERIES:
        scores = reference.get_scores(searched_words(query))
        expected = {item.id: score for item, score in zip(PASSAGES, scores, strict=True) if score}
        assert dict(again.words.index.search(query, 100)) == pytest.approx(expected, rel=1e-5)


def test_files_stay_few_and_an_opening_reads_no_line(tmp_path: Path, monkeypatch):
    for item in PASSAGES:
        opened = Opened(tmp_path)
        opened.add([item])
        opened.close()
    assert len(list((tmp_path / "words").iterdir())) <= 6
    monkeypatch.setattr(keyword_files, "read_journal_from", lambda *_: pytest.fail("not needed"))
    opened = Opened(tmp_path)
    assert opened.words.were_complete
    assert opened.found() == fresh(PASSAGES)
    opened.journal.close()


@pytest.fixture
def made(tmp_path: Path) -> Path:
    opened = Opened(tmp_path)
    opened.add(PASSAGES[:40])
    opened.close()
    opened = Opened(tmp_path)
    opened.add(PASSAGES[40:50])
    opened.close()
    assert len(list((tmp_path / "words").iterdir())) == 2
    return tmp_path


def damage_flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize(
    "damage",
    [
        damage_flip,
        Path.unlink,
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:-1]),
        lambda path: path.write_bytes(path.read_bytes().replace(b'"version":1', b'"version":9')),
        lambda path: path.write_bytes(b'{"arrays":[["a","O",1]],"about":{},"check":0}\n12345678'),
    ],
)
def test_files_that_are_damaged_or_of_another_version_are_made_again(made: Path, damage, which):
    path = sorted((made / "words").iterdir())[which]
    damage(path)
    opened = Opened(made)
    assert not opened.words.were_complete
    assert opened.found() == fresh(PASSAGES[:50])
    opened.close()
    again = Opened(made)
    assert again.words.were_complete
    assert again.found() == fresh(PASSAGES[:50])
    again.journal.close()


def test_a_merge_that_was_killed_leaves_files_of_which_the_longest_counts(made: Path, tmp_path):
    before = Path(shutil.copytree(made / "words", tmp_path / "before"))
    opened = Opened(made)
    opened.add(PASSAGES[50:])
    opened.close()
    for file in before.iterdir():  # as if they had not been taken away yet
        shutil.copy(file, made / "words")
    (made / "words" / ".half.words.draft").write_bytes(b"half")
    again = Opened(made)
    assert again.words.were_complete
    assert again.found() == fresh(PASSAGES)
    again.journal.close()


def test_a_line_that_was_changed_is_refused_although_its_words_are_kept(made: Path):
    path = made / "references.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[3] = lines[3].replace(b"Title", b"Titel")
    path.write_bytes(b"".join(lines))
    with pytest.raises(DataError, match="line 4"):
        Opened(made)


def test_a_broken_line_behind_what_is_kept_is_told_by_its_number(made: Path):
    with (made / "references.jsonl").open("ab") as file:
        file.write(b"{}\n")
    with pytest.raises(DataError, match="line 52"):
        Opened(made)


def test_a_disk_that_takes_no_words_stops_nobody(made: Path, monkeypatch, caplog):
    def full(*_):
        raise OSError("no space left")

    opened = Opened(made)
    monkeypatch.setattr(keyword_files, "write_mapped", full)
    opened.add(PASSAGES[50:55])
    opened.words.keep()
    opened.add(PASSAGES[55:])
    monkeypatch.undo()
    opened.close()
    assert opened.found() == fresh(PASSAGES)
    assert "no space left" in caplog.text
    again = Opened(made)
    assert again.found() == fresh(PASSAGES)
    again.journal.close()


def test_where_nothing_may_be_written_the_words_are_in_memory(made: Path):
    path = made / "references.jsonl"
    with Journal(path, "none") as journal:
        journal.append(PASSAGES[50:])
    files = sorted((made / "words").iterdir())
    for file in files[1:]:
        damage_flip(file)
    opened = Opened(made, read_only=True)
    assert opened.found() == fresh(PASSAGES)
    opened.close()
    assert sorted((made / "words").iterdir()) == files


def test_a_store_of_an_earlier_version_gets_its_words(tmp_path: Path):
    with ChromaStore.open(tmp_path) as store:
        store.add(PASSAGES)
        expected = [store.retrieve(query) for query in QUERIES]
    shutil.rmtree(tmp_path / "words")
    for _ in range(2):
        with ChromaStore.open(tmp_path) as store:
            assert [store.retrieve(query) for query in QUERIES] == expected
    assert list((tmp_path / "words").iterdir())
    with ChromaStore.rebuild(tmp_path) as store:
        assert store._folder.keywords.were_complete  # another first line moves none of the others
        assert [store.retrieve(query) for query in QUERIES] == expected


def test_a_store_that_is_as_it_was_closed_compares_no_ids(tmp_path: Path, monkeypatch):
    with ChromaStore.open(tmp_path) as store:
        store.add(PASSAGES)
    monkeypatch.setattr("skr_store.journal.read_journal", lambda *_: pytest.fail("read"))
    monkeypatch.setattr(
        "skr_store.chroma_index.ChromaIndex.known", lambda *_: pytest.fail("compared")
    )
    with ChromaStore.open(tmp_path) as store:
        assert len(store.retrieve("red")) == 10


def test_what_chroma_refuses_is_found_once_it_is_mended(tmp_path: Path, monkeypatch):
    with ChromaStore.open(tmp_path) as store:
        store.add(PASSAGES[:5])

        def refuse(*_):
            raise StoreError("refused")

        monkeypatch.setattr(type(store._index), "insert", refuse)
        with pytest.raises(StoreError, match="refused"):
            store.add(PASSAGES[5:10])
        monkeypatch.undo()
    with ChromaStore.open(tmp_path) as store:
        assert store.count() == 10
        found = {item.id for item in store.retrieve("red green blue größer 巴 title")}
    assert found <= {item.id for item in read_journal(tmp_path / "references.jsonl")}
    assert len(found) == 10
