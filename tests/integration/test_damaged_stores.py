"""Whatever happens to a folder: nothing acknowledged is lost, nothing stands there twice."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from skr_core import HashingEmbedder, Reference
from skr_store import Store, vectors, words

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(600),
    # Forking with threads is what is tested.
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]

PASSAGES = [Reference.of(f"passage number {n} of the list", f"Title {n}") for n in range(600)]


@pytest.fixture(params=["words", "vectors"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store that was closed, both of whose indexes hold all of it."""
    monkeypatch.setattr(vectors, "EXACT", 100)
    monkeypatch.setattr(vectors, "BEHIND", 100)
    embedder = HashingEmbedder() if request.param == "vectors" else None
    with Store.open(tmp_path / "store", embedder=embedder) as store:
        store.add(PASSAGES)
    return tmp_path / "store"


def everything_is_found(folder: Path) -> None:
    with Store.open(folder) as store:
        assert store.count() == 600
        for search in (store, store.searched_by("bm25")):
            for n in (0, 77, 599):
                assert search.retrieve(f"Title {n} passage number {n}")[0].title == f"Title {n}"
        if "none" not in store.name:
            near = store.searched_by("dense", k=1)
            found = [near.retrieve(f"Title {n} passage number {n}")[0].title for n in range(50)]
            # A graph of vectors misses one now and then.
            assert sum(title == f"Title {n}" for n, title in enumerate(found)) >= 45


def run(script: str, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        **options,  # type: ignore[call-overload]
    )


def indexes(folder: Path) -> list[Path]:
    return [each for each in folder.iterdir() if each.is_dir()]


def test_the_indexes_may_be_deleted_at_any_time(folder: Path):
    assert indexes(folder)
    with Store.open(folder) as store:
        for each in indexes(folder):
            shutil.rmtree(each)
        assert store.retrieve("Title 77 passage number 77")[0].title == "Title 77"
    everything_is_found(folder)
    for each in indexes(folder):
        shutil.rmtree(each)
    everything_is_found(folder)


@pytest.mark.parametrize("damage", ["torn", "broken", "gone"])
def test_an_index_of_which_files_are_damaged_is_made_again(folder: Path, damage: str):
    [index] = folder.glob("words")
    for file in index.iterdir():
        if damage == "gone" and file.suffix == ".store":
            file.unlink()
        elif damage == "torn" and file.is_file():
            file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
        elif damage == "broken" and file.suffix == ".json":
            file.write_bytes(b"broken" * 100)
    everything_is_found(folder)


def test_chroma_is_made_again_where_it_was_not_written_to_its_end(folder: Path):
    if not (chroma := list(folder.glob("vectors-*[0-9a-f]"))):
        return
    run(
        """
        import os, signal, sys
        from skr_core import HashingEmbedder, Reference
        from skr_store import Store, vectors
        vectors.EXACT = vectors.BEHIND = 100
        store = Store.open(sys.argv[1], embedder=HashingEmbedder())
        store.retrieve("Title 7")  # by Chroma
        collection = store.backend.vectors._collection
        collection.add = lambda **_: os.kill(os.getpid(), signal.SIGKILL)
        store.add([Reference.of(f"late {n}") for n in range(200)])
        """,
        str(folder),
    )
    for file in chroma[0].rglob("*.bin"):
        file.write_bytes(b"broken" * 100)
    with Store.open(folder) as store:
        assert store.count() == 800
        near = store.searched_by("dense", k=1)
        assert near.retrieve("late 7")[0].text == "late 7"
        assert near.retrieve("Title 77 passage number 77")[0].title == "Title 77"


ADDING = """
    import sys
    from skr_core import HashingEmbedder, Reference
    from skr_store import Store, words
    words.LEAST_BEHIND = words.BEHIND = 300
    first = int(sys.argv[2])
    embedder = HashingEmbedder() if sys.argv[3] == "vectors" else None
    with Store.open(sys.argv[1], embedder=embedder) as store:
        for n in range(first, first + 1_000):
            store.add([Reference.of(f"passage p{n} q{m}") for m in range(20)])
            print(n, flush=True)
"""


def kill_two_who_add(path: Path, kind: str, times: int) -> None:
    """Two processes add to one store at a time, and each is killed at a random moment."""
    draw = random.Random(11)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    acknowledged: list[int] = []
    for turn in range(times):
        with ExitStack() as stack:
            adding = [
                stack.enter_context(
                    subprocess.Popen(
                        [
                            *(sys.executable, "-c", textwrap.dedent(ADDING), str(path)),
                            *(str(turn * 10_000 + which * 1_000), kind),
                        ],
                        env=environment,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE,
                        text=True,
                    )
                )
                for which in range(2)
            ]
            for process in adding:
                assert process.stdout is not None
                acknowledged.append(int(process.stdout.readline()))
            for process in adding:
                time.sleep(draw.uniform(0, 0.5))
                process.send_signal(signal.SIGKILL)
                assert process.stdout is not None
                assert process.stderr is not None
                acknowledged += map(int, process.stdout.read().split())
                assert "Traceback" not in process.stderr.read()
        with Store.open(path, k=1) as store:  # right after
            for n in draw.sample(acknowledged, min(3, len(acknowledged))):
                is_found(store, n)
    expected = {Reference.of(f"passage p{n} q{m}").id for n in acknowledged for m in range(20)}
    with Store.open(path, k=1) as store:
        database = store.backend.database  # type: ignore[attr-defined]
        there = [identity for (identity,) in database.all("SELECT id FROM passages")]
        assert expected <= set(there)
        assert len(there) == len(set(there))
        # Nothing but what was in flight came on top.
        assert len(there) <= len(expected) + 40 * times
        for n in draw.sample(acknowledged, min(20, len(acknowledged))):  # few on a busy machine
            is_found(store, n)
        found = store.searched_by("bm25", k=len(there)).retrieve("passage")
        assert len(found) == len({each.id for each in found}) == len(there)


def is_found(store: Store, number: int) -> None:
    query = f"passage p{number} q7"
    assert store.searched_by("bm25", k=1).retrieve(query)[0].text == query
    # A graph of vectors misses one now and then, but not all twenty that are so much alike.
    assert store.retrieve(query)[0].text.startswith(f"passage p{number} ")


@pytest.mark.parametrize(("kind", "times"), [("words", 3), ("vectors", 1)])
def test_a_few_kills_of_two_who_add(kind: str, times: int, tmp_path: Path):
    kill_two_who_add(tmp_path / "store", kind, times)


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["words", "vectors"])
def test_fifty_kills_of_two_who_add(kind: str, tmp_path: Path):
    kill_two_who_add(tmp_path / "store", kind, 50)


def test_a_store_whose_maker_was_killed_is_made(tmp_path: Path):
    folder = tmp_path / "store"
    folder.mkdir()
    connection = sqlite3.connect(tmp_path / "store.sqlite3", isolation_level=None)
    connection.execute("PRAGMA cache_size = 1")  # so that it writes before it commits
    connection.execute("BEGIN")
    connection.execute("CREATE TABLE half (made TEXT)")
    connection.executemany("INSERT INTO half VALUES (?)", [("made" * 1_000,)] * 50)
    for name in ("store.sqlite3", "store.sqlite3-journal"):
        shutil.copyfile(tmp_path / name, folder / name)
        assert (folder / name).stat().st_size
    connection.close()
    with Store.open(folder) as store:
        assert store.add(PASSAGES[:3]) == 3
        assert store.retrieve("Title 1")[0].title == "Title 1"


def kill_while_an_index_is_made_again(folder: Path, times: int) -> None:
    draw, killed = random.Random(7), 0
    for turn in range(times):
        for each in indexes(folder):
            shutil.rmtree(each)
        process = multiprocessing.get_context("spawn").Process(
            target=everything_is_found, args=(folder,)
        )
        process.start()
        until = time.monotonic() + 60
        while process.is_alive() and not indexes(folder) and time.monotonic() < until:
            time.sleep(0.002)
        time.sleep(draw.uniform(0, 0.3) if turn else 0)
        process.kill()
        process.join()
        killed += process.exitcode == -signal.SIGKILL
        everything_is_found(folder)
    assert killed
    print(f"{killed} of {times} killed while an index was made again")  # noqa: T201


def test_while_an_index_is_made_again_a_kill_loses_nothing(folder: Path):
    kill_while_an_index_is_made_again(folder, 2)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_while_an_index_is_made_again_fifty_kills_lose_nothing(folder: Path):
    kill_while_an_index_is_made_again(folder, 50)


@pytest.mark.parametrize("kind", [pytest.param("words", marks=pytest.mark.soak), "vectors"])
def test_a_forked_child_uses_the_store_as_its_parent_does(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(vectors, "EXACT", 100)
    monkeypatch.setattr(vectors, "BEHIND", 100)
    monkeypatch.setattr(words, "LEAST_BEHIND", 100)
    monkeypatch.setattr(words, "BEHIND", 100)
    embedder = HashingEmbedder() if kind == "vectors" else None
    with Store.open(tmp_path / "store", embedder=embedder, k=1) as store, ExitStack() as stack:
        store.add(PASSAGES)
        stop = threading.Event()
        pool = stack.enter_context(ThreadPoolExecutor(2))
        # Another thread is in the middle of an addition or of a search whenever a fork happens.
        busy = [pool.submit(keep_busy, store, stop, which) for which in range(2)]
        stack.callback(stop.set)

        def work(which: int) -> None:
            for n in range(8):
                late = Reference.of(f"late{which}x{n}", "Late")
                assert store.add([late, *(Reference.of(f"w{which}x{n}x{m}") for m in range(30))])
                assert store.retrieve(late.text)[0].text == late.text
                assert store.retrieve(f"Title {n}")[0].title == f"Title {n}"

        children = [forked(work, which) for which in range(4)]
        work(9)
        for child in children:
            child.join(120)
            assert child.exitcode == 0
        stop.set()
        for each in busy:
            each.result(60)
        for which in (0, 1, 2, 3, 9):
            assert store.retrieve(f"late{which}x7")[0].text == f"late{which}x7"
    with Store.open(tmp_path / "store", embedder=embedder, k=1) as store:
        assert store.retrieve("late3x7")[0].text == "late3x7"


def keep_busy(store: Store, stop: threading.Event, which: int) -> None:
    number = 0
    while not stop.is_set():
        number += 1
        store.add([Reference.of(f"busy busy{which}x{number}")])
        store.retrieve("busy")


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are read in /proc")
def test_a_forked_child_inherits_no_lock_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(words, "LEAST_BEHIND", 1)  # tantivy is written to all the time
    monkeypatch.setattr(words, "BEHIND", 1)

    def look(which: int) -> None:
        opened = [Path(each.path).readlink() for each in os.scandir("/proc/self/fd")]
        assert not [each for each in opened if "tantivy" in each.name and tmp_path in each.parents]

    with Store.open(tmp_path / "store", embedder=None) as store, ExitStack() as stack:
        stop = threading.Event()
        pool = stack.enter_context(ThreadPoolExecutor(2))
        busy = [pool.submit(keep_busy, store, stop, which) for which in range(2)]
        stack.callback(stop.set)
        for _ in range(20):
            child = forked(look, 0)
            child.join(60)
            assert child.exitcode == 0
        stop.set()
        for each in busy:
            each.result(60)


def forked(work: Callable[[int], None], which: int) -> multiprocessing.Process:
    child = multiprocessing.get_context("fork").Process(target=work, args=(which,))
    child.start()
    return child  # type: ignore[return-value]


def test_an_ephemeral_store_outlives_a_forked_child():
    with Store.ephemeral() as store:
        store.add(PASSAGES[:3])
        child = forked(lambda _: store.close(), 0)
        child.join(60)
        assert child.exitcode == 0
        assert store.retrieve("Title 1")[0].title == "Title 1"
        assert store.add(PASSAGES[:5]) == 2


ASKING = """
    import sys, time
    from skr_store import Store
    with Store.open(sys.argv[1], k=1) as store:
        print("open", flush=True)
        until = time.monotonic() + 8
        while time.monotonic() < until:
            assert store.retrieve("Title 77 passage number 77")[0].title == "Title 77"
    print("asked")
"""


@pytest.mark.parametrize(
    "folder", [pytest.param("words", marks=pytest.mark.soak), "vectors"], indirect=True
)
def test_four_processes_ask_while_one_adds_and_one_is_killed(folder: Path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", textwrap.dedent(ASKING), str(folder)]
    pipe = subprocess.PIPE
    asking = [
        subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True)
        for _ in range(4)
    ]
    for each in asking:
        assert each.stdout is not None
        assert each.stdout.readline() == "open\n"
    with Store.open(folder, search="bm25") as store:
        number = 10_000 if store.backend.embedder.name == "none" else 3_000
        for start in range(0, number, 500):
            store.add([Reference.of(f"added x{n}") for n in range(start, start + 500)])
            if start == 2_000:
                asking[0].kill()
        assert store.count() == 600 + number
        assert store.retrieve(f"added x{number - 1}")[0].text == f"added x{number - 1}"
    for each in asking[1:]:
        said, errors = each.communicate(timeout=120)
        assert (said, errors) == ("asked\n", "")
    asking[0].communicate()


def obey_modes() -> None:
    """Root may write anywhere: give the right to do so up, in the child alone."""
    if os.geteuid() == 0:
        drop, override = 24, 1  # PR_CAPBSET_DROP, CAP_DAC_OVERRIDE
        ctypes.CDLL(None).prctl(drop, override, 0, 0, 0)


@pytest.fixture(params=["closed", "killed"])
def read_only(request: pytest.FixtureRequest, folder: Path) -> Iterator[Path]:
    if request.param == "killed":  # the log of the database is there
        script = """
            import os, signal, sys
            from skr_core import Reference
            from skr_store import Store
            store = Store.open(sys.argv[1])
            store.add([Reference.of("the very last")])
            os.kill(os.getpid(), signal.SIGKILL)
        """
        run(script, str(folder))
        assert (folder / "store.sqlite3-wal").stat().st_size
        (folder / "store.sqlite3-shm").unlink()
    paths = [folder, *folder.rglob("*")]
    for each in paths:
        each.chmod(0o555 if each.is_dir() else 0o444)
    yield folder
    for each in paths:
        each.chmod(0o755 if each.is_dir() else 0o644)


SEARCH = """
    import os, sys
    folder = sys.argv[1]
    assert not os.access(folder, os.W_OK)
    from skr_core import Reference
    from skr_core.errors import StoreError
    from skr_store import Store
    with Store.open(folder, k=1) as store:
        print(store.count() // 100, store.retrieve("number 77 of the list")[0].title)
        try:
            store.add([Reference.of("more")])
        except StoreError as error:
            print(error)
"""


def test_a_read_only_store_is_searched_and_takes_nothing(read_only: Path, tmp_path: Path):
    before = {each: each.stat().st_mtime_ns for each in read_only.rglob("*")}
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SEARCH), str(read_only)],
        env={
            **os.environ,
            "TMPDIR": str(temporary),
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        },
        capture_output=True,
        text=True,
        timeout=300,
        preexec_fn=obey_modes,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    counted, refused = done.stdout.splitlines()
    assert counted == "6 Title 77"
    assert "is read-only here" in refused
    assert {each: each.stat().st_mtime_ns for each in read_only.rglob("*")} == before
    assert list(temporary.glob("skr-*")) == []


@pytest.mark.parametrize(("room", "of"), [(200_000, 50), (400_000, 50), (3_000_000, 500)])
def test_a_full_disk_says_so_and_loses_nothing_that_was_acknowledged(
    tmp_path: Path, room: int, of: int
):
    # A file that may not grow fails as a full disk does, at whichever file comes first.
    script = f"""
        import resource, sys
        from skr_core import Reference
        from skr_core.errors import StoreError
        from skr_store import Store
        with Store.open(sys.argv[1]) as store:
            store.add([Reference.of("the first")])
            resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room}))
            try:
                for n in range(10_000):
                    store.add([Reference.of(f"passage {{n}} {{m}}") for m in range({of})])
                    print(n, flush=True)
            except StoreError as error:
                print("said:", error)
    """
    done = run(script, str(tmp_path / "store"))
    *acknowledged, said = done.stdout.splitlines()
    assert said.startswith("said:"), done.stdout[-500:] + done.stderr[-500:]
    assert any(word in said.lower() for word in ("too large", "full", "disk", "i/o", "space"))
    with Store.open(tmp_path / "store") as store:
        assert store.count() >= 1 + of * len(acknowledged)
        for n in map(int, acknowledged):
            assert store.add([Reference.of(f"passage {n} {m}") for m in range(of)]) == 0
