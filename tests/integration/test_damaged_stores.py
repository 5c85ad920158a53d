"""Stores whose files were damaged, whose process was killed, whose disk is full or not theirs."""

import ctypes
import logging
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import orjson
import pytest

from skr_core import HashingEmbedder, Reference
from skr_core.errors import DataError, StoreError
from skr_store import ChromaStore, embedded, index_folder
from skr_store.chroma_index import CONFIGURATION
from skr_store.health import can_be_searched

pytestmark = pytest.mark.integration

PASSAGES = [Reference.of(f"passage number {n} of the list", f"Title {n}") for n in range(600)]


def run(script: str, **options) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        **options,
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "store"
    with ChromaStore.open(path, embedder=HashingEmbedder()) as store:
        store.add(PASSAGES)
    return path


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "store"))


def all_are_found(path: Path, passages: list[Reference] = PASSAGES) -> None:
    """Every vector is where it was; nothing is there twice."""
    with ChromaStore.open(path, search="dense", k=1) as store:
        assert store.count() == len(passages)
        missed = [each for each in passages if store.retrieve(f"{each.title}\n{each.text}") == []]
        found = store._index._collection.get(include=["embeddings"])
        assert not missed
        assert set(found["ids"]) == {each.id for each in passages} == set(store._folder.journal.ids)


def flip(path: Path, byte: int, bit: int) -> None:
    content = bytearray(path.read_bytes())
    content[byte] ^= 1 << bit
    path.write_bytes(content)


def test_a_store_that_was_closed_well_is_opened_without_a_word(folder: Path, caplog, monkeypatch):
    monkeypatch.setattr(index_folder, "can_be_searched", lambda *_: pytest.fail("not needed"))
    seal = (folder / "index.seal").read_bytes()
    for _ in range(2):
        with ChromaStore.open(folder) as store:
            assert store.retrieve("number 77")
        assert (folder / "index.seal").read_bytes() == seal
    with ChromaStore.open(folder) as store:
        store.add([Reference.of("one more")])
        assert not (folder / "index.seal").exists()
    with ChromaStore.open(folder) as store:
        assert store.count() == 601
    assert caplog.records == []


def test_a_program_that_does_not_close_its_store_leaves_it_closed(folder: Path):
    script = f"""
        from skr_store.chroma_store import ChromaStore
        from skr_core.types import Reference
        store = ChromaStore.open({str(folder)!r})
        store.add([Reference.of("one more")])
    """
    assert run(script).returncode == 0
    assert (folder / "index.seal").exists()


@pytest.mark.parametrize(("byte", "bit"), [(7, 3), (2, 6), (500_000, 5)])
def test_a_flipped_bit_in_the_vectors_is_mended_and_told_in_one_line(folder: Path, byte, bit):
    [vectors] = folder.rglob("data_level0.bin")
    whole = vectors.read_bytes()
    flip(vectors, byte, bit)
    script = f"""
        from skr_store.chroma_store import ChromaStore
        with ChromaStore.open({str(folder)!r}, k=1) as store:
            print(store.count(), store.retrieve("number 77 of the list")[0].title)
    """
    first, second = run(script), run(script)
    assert (first.returncode, first.stdout) == (0, "600 Title 77\n")
    [line] = first.stderr.splitlines()
    assert "made again from the journal's 600 references" in line
    assert "changed after it was closed" in line
    assert (second.stdout, second.stderr) == (first.stdout, "")
    [again] = folder.rglob("data_level0.bin")
    assert len(again.read_bytes()) == len(whole)
    all_are_found(folder)


def test_a_crash_inside_chroma_is_one_of_another_process(folder: Path, caplog):
    [vectors] = folder.rglob("data_level0.bin")
    # Of each vector the first link to another: not every search passes by the first of all.
    links = 2 * CONFIGURATION["hnsw"]["max_neighbors"]
    size = 4 + 4 * links + 4 * 1024 + 8
    content = bytearray(vectors.read_bytes())
    assert len(content) % size == 0
    content[7::size] = bytes(byte ^ 8 for byte in content[7::size])
    vectors.write_bytes(content)
    (folder / "index.seal").unlink()  # as after a kill
    assert not can_be_searched(folder / "index", "references")
    all_are_found(folder)
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert "was not closed and cannot be searched" in record.getMessage()


def test_an_index_of_a_kill_that_is_whole_is_kept(folder: Path, monkeypatch, caplog):
    (folder / "index.seal").unlink()
    monkeypatch.setattr(index_folder, "remove_index", lambda _: pytest.fail("not needed"))
    with ChromaStore.open(folder) as store:
        assert store.count() == 600
    assert (folder / "index.seal").exists()
    assert caplog.records == []


def test_vectors_that_are_lost_while_the_counts_are_equal_come_back(made: Path, folder, tmp_path):
    [now] = (each for each in (folder / "index").iterdir() if each.is_dir())
    before = Path(shutil.copytree(now, tmp_path / "before"))
    more = [Reference.of(f"a later passage {n}") for n in range(100)]
    with ChromaStore.open(folder) as store:
        store.add(more)
    shutil.rmtree(now)
    shutil.copytree(before, now)
    (folder / "index.seal").unlink()
    all_are_found(folder, PASSAGES + more)


def test_ids_are_compared_where_the_counts_are_equal(folder: Path, caplog):
    with ChromaStore.open(folder) as store:
        store._index._collection.delete(ids=[PASSAGES[5].id])
        other = Reference.of("given to the index alone")
        store._index._collection.add(
            ids=[other.id],
            embeddings=store._embedder.embed([other.text]),
            documents=[other.text],
            metadatas=[{"title": "", "metadata": "{}"}],
        )
        assert store.count() == 600
    (folder / "index.seal").unlink()
    all_are_found(folder, [*PASSAGES, other])
    assert "1 references that the index lacked" in caplog.text


@pytest.mark.parametrize("change", ["text", "metadata", "id", "no check"])
def test_a_line_of_the_journal_that_was_changed_is_refused(folder: Path, change: str):
    journal = folder / "references.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    row = orjson.loads(lines[3])
    if change == "no check":
        del row["check"]
    name = "text" if change == "no check" else change
    row[name] = {"page": 7} if name == "metadata" else row[name][:-1] + "0"
    lines[3] = orjson.dumps(row) + b"\n"
    journal.write_bytes(b"".join(lines))
    with pytest.raises(DataError, match="line 4: this line is not what was recorded"):
        ChromaStore.open(folder)
    assert journal.read_bytes() == b"".join(lines)


def test_a_journal_of_an_earlier_version_is_read(folder: Path):
    journal = folder / "references.jsonl"
    header, *lines = journal.read_bytes().splitlines(keepends=True)
    rows = [orjson.loads(line) for line in lines]
    for row in rows:
        del row["check"]
    journal.write_bytes(header + b"".join(orjson.dumps(row) + b"\n" for row in rows))
    all_are_found(folder)


def obey_modes():
    """Root may write anywhere: give the right to do so up, in the child alone."""
    if os.geteuid() == 0:
        drop, override = 24, 1  # PR_CAPBSET_DROP, CAP_DAC_OVERRIDE
        ctypes.CDLL(None).prctl(drop, override, 0, 0, 0)


@pytest.fixture
def read_only(folder: Path):
    paths = [folder, *folder.rglob("*")]
    for each in paths:
        each.chmod(0o555 if each.is_dir() else 0o444)
    yield folder
    for each in paths:
        each.chmod(0o755 if each.is_dir() else 0o644)


SEARCH = """
    import os, sys
    assert not os.access({path!r}, os.W_OK)
    from skr_core.errors import StoreError
    from skr_store.chroma_store import ChromaStore
    from skr_core.types import Reference
    with ChromaStore.open({path!r}, k=1) as store:
        print(store.count(), store.retrieve("number 77 of the list")[0].title)
        try:
            store.add([Reference.of("more")])
        except StoreError as error:
            print(error)
"""


@pytest.mark.parametrize("index", ["whole", "damaged"])
def test_a_read_only_store_is_searched_and_takes_nothing(read_only: Path, tmp_path, index: str):
    if index == "damaged":
        [vectors] = read_only.rglob("data_level0.bin")
        vectors.chmod(0o644)
        flip(vectors, 7, 3)
        vectors.chmod(0o444)
    before = {each: each.stat().st_mtime_ns for each in read_only.rglob("*")}
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    paths = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SEARCH.format(path=str(read_only)))],
        env={**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=300,
        preexec_fn=obey_modes,
    )
    assert done.returncode == 0, done.stderr
    counted, refused = done.stdout.splitlines()
    assert counted == "600 Title 77"
    assert "is read-only here" in refused
    assert {each: each.stat().st_mtime_ns for each in read_only.rglob("*")} == before
    assert list(temporary.glob("skr-*")) == []


@pytest.mark.parametrize(("room", "of"), [(2_000, 50), (400_000, 50), (3_000_000, 500)])
def test_a_full_disk_says_so_and_loses_nothing_that_was_acknowledged(
    tmp_path: Path, room: int, of: int
):
    # A file that may not grow fails as a full disk does, at whichever file comes first.
    script = f"""
        import resource
        from skr_core.errors import StoreError
        from skr_store.chroma_store import ChromaStore
        from skr_core.types import Reference
        with ChromaStore.open({str(tmp_path / "store")!r}) as store:
            store.add([Reference.of("the first")])
            resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room}))
            try:
                for n in range(10_000):
                    store.add([Reference.of(f"passage {{n}} {{m}}") for m in range({of})])
                    print(n, flush=True)
            except StoreError as error:
                print("said:", error)
    """
    done = run(script)
    *acknowledged, said = done.stdout.splitlines()
    assert said.startswith("said:"), done.stdout[-500:] + done.stderr[-500:]
    assert any(word in said.lower() for word in ("too large", "full", "disk", "i/o", "space"))
    with ChromaStore.open(tmp_path / "store") as store:
        assert store.count() >= 1 + of * len(acknowledged)
        for n in map(int, acknowledged):
            assert store.add([Reference.of(f"passage {n} {m}") for m in range(of)]) == 0


ADDING = """
    import sys
    from skr_core.models.embedders import HashingEmbedder
    from skr_store.chroma_store import ChromaStore
    from skr_core.types import Reference
    first = int(sys.argv[2])
    with ChromaStore.open(sys.argv[1], embedder=HashingEmbedder()) as store:
        for n in range(first, first + 1_000):
            store.add([Reference.of(f"passage {n} {m}") for m in range(20)])
            print(n, flush=True)
"""


def kill_while_adding(path: Path, times: int) -> int:
    draw = random.Random(11)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    acknowledged: list[int] = []
    for turn in range(times):
        command = [sys.executable, "-c", textwrap.dedent(ADDING), str(path), str(turn * 1_000)]
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            acknowledged.append(int(process.stdout.readline()))
            time.sleep(draw.uniform(0, 0.6))
            process.send_signal(signal.SIGKILL)
            acknowledged += map(int, process.stdout.read().split())
            told = process.stderr.read().splitlines()
            assert len(told) <= 1, told
    passages = {Reference.of(f"passage {n} {m}").id for n in acknowledged for m in range(20)}
    with ChromaStore.open(path) as store:
        collection = store._index._collection
        ids = collection.get(include=["embeddings"])["ids"]
        assert passages <= set(ids) == set(store._folder.journal.ids)
        assert len(ids) == len(set(ids))
        # Nothing but what was in flight came on top.
        assert len(ids) <= len(passages) + 20 * times
    size = sum(file.stat().st_size for file in path.rglob("*.bin"))
    assert size < len(ids) * embedded.MOST_BYTES_A_ROW
    return len(ids)


def test_three_kills_while_adding(tmp_path: Path):
    kill_while_adding(tmp_path / "store", 3)


@pytest.mark.soak
def test_thirty_kills_while_adding(tmp_path: Path):
    kill_while_adding(tmp_path / "store", 30)


def test_an_index_that_nothing_can_be_read_of_is_not_thrown_away(folder: Path):
    (folder / "references.jsonl").unlink()
    database = folder / "index" / "chroma.sqlite3"
    database.write_bytes(b"broken" * 100)
    with pytest.raises(StoreError):
        ChromaStore.open(folder)
    assert database.read_bytes() == b"broken" * 100
