import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core import Reference
from skr_core.errors import DataError
from skr_store.journal import Journal, read_journal, rewrite_journal
from skr_store.storable import storable_reference

PARIS = Reference.of("It is in France.", "Paris", metadata={"page": 3})
ROME = Reference.of("It is in Italy.", "Rome")

anything = st.text(st.characters(exclude_categories=()))  # lone surrogates and NUL among it
flat = st.one_of(
    anything,
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
)
references = st.builds(
    lambda text, title, metadata: storable_reference(Reference.of(text, title, metadata=metadata)),
    anything,
    anything,
    st.dictionaries(anything, flat, max_size=3),
)


def rows(references):
    return [(each.id, each.title, each.text, dict(each.metadata)) for each in references]


@given(st.lists(references, max_size=6))
def test_what_is_written_is_read(items):
    unique = list({item.id: item for item in items}.values())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "references.jsonl")
        with Journal(path, "hashing") as journal:
            journal.append(items)
        assert rows(read_journal(path)) == rows(unique)


def test_opening_again_appends(tmp_path):
    path = tmp_path / "references.jsonl"
    with Journal(path, "hashing") as journal:
        journal.append([PARIS])
    with Journal(path, "another") as journal:
        assert journal.embedder == "hashing"
        journal.append([PARIS, ROME, ROME])
        assert list(journal.ids) == [PARIS.id, ROME.id]
    assert rows(read_journal(path)) == rows([PARIS, ROME])


def test_a_torn_last_line_is_cut_wherever_it_is_torn(tmp_path):
    path = tmp_path / "references.jsonl"
    with Journal(path, "hashing") as journal:
        journal.append([PARIS, ROME])
    whole = path.read_bytes()
    ends = [place + 1 for place, byte in enumerate(whole) if byte == ord("\n")]
    for length in range(len(whole) + 1):
        path.write_bytes(whole[:length])
        with Journal(path, "hashing") as journal:
            # A line that lacks only its end is whole.
            assert len(journal.ids) == max(0, sum(end <= length + 1 for end in ends) - 1)
            journal.append([ROME])
        assert ROME.id in {each.id for each in read_journal(path)}


def test_a_torn_line_longer_than_one_read_is_cut(tmp_path):
    path = tmp_path / "references.jsonl"
    with Journal(path, "hashing") as journal:
        journal.append([PARIS])
    with path.open("ab") as file:
        file.write(b'{"text": "' + b"x" * 200_000)
    with Journal(path, "hashing") as journal:
        assert list(journal.ids) == [PARIS.id]


@pytest.mark.parametrize("tail", [b"\0" * 5000, b'{"id":"torn\0\0', b'{"id":"torn\0\0}\n'])
def test_what_a_power_cut_filled_with_zeros_is_cut(tmp_path, tail):
    path = tmp_path / "references.jsonl"
    with Journal(path, "hashing") as journal:
        journal.append([PARIS])
    whole = path.read_bytes()
    path.write_bytes(whole + tail)
    with Journal(path, "hashing") as journal:
        assert list(journal.ids) == [PARIS.id]
    assert path.read_bytes() == whole


def test_a_broken_line_in_the_middle_is_named(tmp_path):
    path = tmp_path / "references.jsonl"
    with Journal(path, "hashing") as journal:
        journal.append([PARIS])
    path.write_bytes(path.read_bytes() + b"gibberish\n")
    with pytest.raises(DataError, match="line 3"):
        Journal(path, "hashing")


@pytest.mark.parametrize(
    "line",
    [
        b"[]\n",
        b'{"format": 99, "embedder": "x"}\n',
        b"text\n",
        b'{"doi": "1"}\n{"doi": "2"}',  # without a last line end, which looks torn
        b'{"format":"paper"}',
        b"x" * 100_000,
    ],
)
def test_a_file_of_another_kind_is_refused_and_left_alone(tmp_path, line):
    path = tmp_path / "references.jsonl"
    path.write_bytes(line)
    with pytest.raises(DataError, match="line 1"):
        Journal(path, "hashing")
    with pytest.raises(DataError, match="line 1"):
        rewrite_journal(path, "another")
    with pytest.raises(DataError, match="line 1"):
        list(read_journal(path))
    assert path.read_bytes() == line


def test_rewriting_changes_the_embedder_alone(tmp_path):
    path = tmp_path / "references.jsonl"
    with Journal(path, "hashing") as journal:
        journal.append([PARIS, ROME])
    rewrite_journal(path, "another")
    with Journal(path, "hashing") as journal:
        assert journal.embedder == "another"
    assert rows(read_journal(path)) == rows([PARIS, ROME])
    assert list(tmp_path.iterdir()) == [path]
