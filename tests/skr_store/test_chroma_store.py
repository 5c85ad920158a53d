import asyncio
import os
import shutil
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import pytest

from skr_core import HashingEmbedder, Reference, ReferenceStore
from skr_core.errors import EmbedderMismatch, InputError, StoreError, StoreLocked
from skr_core.models.embedders import NoEmbedder
from skr_store import ChromaStore, embedded
from skr_store.journal import read_journal

PARIS = Reference.of("It is the capital of France.", "Paris", metadata={"page": 3, "#odd key": 0.5})
ROME = Reference.of("It is the capital of Italy.", "Rome")
CAT = Reference.of("A small animal that purrs.", "Cat")


class OtherEmbedder(HashingEmbedder):
    name = "other"


class MeaningEmbedder:
    """Knows that a feline is a cat, which no keyword search can."""

    name = "meaning"

    def embed(self, texts):
        import numpy as np

        cat = [any(word in text.lower() for word in ("cat", "feline")) for text in texts]
        return np.array([[1.0, 0.0] if each else [0.0, 1.0] for each in cat], np.float32)

    async def aembed(self, texts):
        return self.embed(texts)


@pytest.fixture
def store():
    with ChromaStore.ephemeral() as store:
        yield store


def titles(references):
    return [reference.title for reference in references]


def test_it_fits_the_port(store):
    assert isinstance(store, ReferenceStore)
    assert store.name == "chroma:bm25:k=10:none"
    with ChromaStore.ephemeral(embedder=HashingEmbedder()) as other:
        assert other.name == "chroma:hybrid:k=10:hashing-1024-v1"


@pytest.mark.parametrize("search", ["hybrid", "dense", "bm25"])
def test_what_is_added_is_found_with_all_it_had(search):
    with ChromaStore.ephemeral(embedder=HashingEmbedder(), search=search, k=1) as store:
        assert store.add([PARIS, ROME, CAT]) == 3
        [found] = store.retrieve("What is the capital of France?")
    assert found == Reference(PARIS.id, PARIS.text, PARIS.title, found.score)
    assert found.metadata == PARIS.metadata
    assert (found.score is None) == (search == "hybrid")


async def test_awaited_is_the_same(store):
    assert await store.aadd([PARIS, ROME]) == 2
    assert await store.aadd([PARIS, CAT]) == 1
    query = "capital of Italy"
    assert await store.aretrieve(query) == store.retrieve(query)


def test_adding_again_changes_nothing(store):
    assert store.add([PARIS, ROME, PARIS]) == 2
    assert store.add([ROME, PARIS, CAT]) == 1
    assert store.add([]) == 0
    assert store.count() == 3


def test_blank_references_are_passed_over(store):
    assert store.add([Reference.of(""), Reference.of(" \n", "Title"), PARIS]) == 1


@pytest.mark.parametrize("value", [None, ["list"], float("nan"), 2**64])
def test_metadata_that_are_not_flat_are_refused_before_anything_is_kept(store, value):
    with pytest.raises(InputError, match="'key'"):
        store.add([PARIS, Reference.of("text", metadata={"key": value})])
    assert store.count() == 0


@pytest.mark.parametrize("search", ["hybrid", "dense", "bm25"])
def test_an_empty_store_and_a_blank_query_find_nothing(search):
    with ChromaStore.ephemeral(search=search) as store:
        assert store.retrieve("capital") == []
        store.add([PARIS])
        assert store.retrieve("") == store.retrieve(" \n\t") == []


@pytest.mark.parametrize(
    "text",
    ["埃菲尔铁塔位于巴黎", "Эйфелева башня", "lone \ud800 surrogate", "nul \0 nul", "é " * 500_000],
)
def test_odd_text_is_kept_once_and_found(store, text):
    odd = Reference.of(text, metadata={"note": text[:20]})
    assert store.add([odd, ROME]) == 2
    assert store.add([odd]) == 0
    found = store.retrieve(text[:1000])
    assert found[0].id == odd.id
    assert store.add(found) == 0


def test_memory_stores_are_apart():
    with ChromaStore.ephemeral() as one, ChromaStore.ephemeral() as other:
        one.add([PARIS])
        assert other.count() == 0
    with ChromaStore.ephemeral() as later:
        assert later.count() == 0


def test_more_than_one_batch_and_later_additions_are_found(store):
    assert store.add([Reference.of(f"passage number {n}") for n in range(1500)]) == 1500
    assert store.retrieve("number 1499")[0].text == "passage number 1499"
    store.add([Reference.of("a late zebra")])
    assert store.retrieve("zebra")[0].text == "a late zebra"


def test_hybrid_finds_what_either_alone_misses():
    tower = Reference.of("Tower XK-42 stands there.")
    fill = [Reference.of(f"cat tale {n}") for n in range(3)]
    query = "feline XK-42"
    found = {}
    for search in ("dense", "bm25", "hybrid"):
        with ChromaStore.ephemeral(embedder=MeaningEmbedder(), search=search, k=3) as store:
            store.add([*fill, tower])
            found[search] = {reference.id for reference in store.retrieve(query)}
    assert tower.id not in found["dense"]
    assert found["bm25"] == {tower.id}
    assert tower.id in found["hybrid"]
    assert found["hybrid"] & {reference.id for reference in fill}


async def test_one_store_is_searched_in_several_ways():
    with ChromaStore.ephemeral(embedder=MeaningEmbedder()) as store:
        store.add([PARIS, ROME, CAT])
        near, worded = (store.searched_by(search, k=1) for search in ("dense", "bm25"))
        assert titles(near.retrieve("a feline")) == ["Cat"]
        assert titles(await worded.aretrieve("a feline of Italy")) == ["Rome"]
        assert (near.name, worded.name) == ("chroma:dense:k=1:meaning", "chroma:bm25:k=1:meaning")
        late = Reference.of("A feline.", "Late")
        store.add([late])
        assert titles(worded.retrieve("feline")) == ["Late"]
        with pytest.raises(InputError):
            store.searched_by("magic")
    with pytest.raises(StoreError):
        near.retrieve("a feline")


def test_threads_may_add_and_search_side_by_side(store):
    passages = [Reference.of(f"passage number {n}") for n in range(60)]

    def work(start):
        added = store.add(passages[start : start + 30])
        return added, len(store.retrieve("passage number 7"))

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(work, [0, 10, 20, 30] * 4))
    assert sum(added for added, _ in results) == store.count() == 60
    assert all(found == 10 for _, found in results)


@pytest.mark.parametrize("options", [{"search": "fuzzy"}, {"k": 0}])
def test_unusable_options_are_refused(options):
    with pytest.raises(InputError):
        ChromaStore.ephemeral(**options)


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://localhost", "http://", "http://h:port"])
def test_what_is_not_an_address_is_refused(url):
    with pytest.raises(InputError, match="address"):
        ChromaStore.connect(url)


def test_a_folder_keeps_what_was_added(tmp_path):
    with ChromaStore.open(tmp_path / "new" / "store") as store:
        store.add([PARIS, ROME])
    with ChromaStore.open(tmp_path / "new" / "store") as store:
        assert store.count() == 2
        assert store.add([ROME, CAT]) == 1
        assert store.retrieve("purrs")[0].metadata == {}
        assert store.retrieve("France")[0].metadata == PARIS.metadata
    store.close()


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("text")
    with pytest.raises(StoreError, match="folder"):
        ChromaStore.open(tmp_path / "file")


def test_another_embedder_is_refused_and_rebuild_lets_it_in(tmp_path):
    with ChromaStore.open(tmp_path, embedder=HashingEmbedder()) as store:
        store.add([PARIS, ROME])
    with pytest.raises(EmbedderMismatch, match=r"hashing-1024-v1.*other.*rebuild"):
        ChromaStore.open(tmp_path, embedder=OtherEmbedder())
    with ChromaStore.rebuild(tmp_path, embedder=OtherEmbedder()) as store:
        assert titles(store.retrieve("capital of Italy"))[0] == "Rome"
    with pytest.raises(EmbedderMismatch):
        ChromaStore.open(tmp_path)


def test_a_store_of_words_has_no_vectors_to_search_until_it_is_rebuilt(tmp_path):
    with ChromaStore.open(tmp_path) as store:
        store.add([PARIS, ROME])
        assert store.retrieve("capital of Italy")[0].title == "Rome"
        with pytest.raises(InputError, match=r"no vectors.*rebuild"):
            store.searched_by("dense")
    with pytest.raises(EmbedderMismatch, match="made without an embedder, but hashing-1024-v1"):
        ChromaStore.open(tmp_path, search="dense")
    with pytest.raises(InputError, match="no vectors"):
        ChromaStore.open(tmp_path, embedder=NoEmbedder(), search="dense")
    with ChromaStore.rebuild(tmp_path, search="dense") as store:
        assert titles(store.retrieve("Italy Rome"))[0] == "Rome"


@pytest.mark.parametrize("search", ["hybrid", "dense", "bm25"])
def test_a_store_that_was_made_with_hashing_goes_on_with_it(tmp_path, search):
    with ChromaStore.open(tmp_path, embedder=HashingEmbedder()) as store:
        store.add([PARIS, ROME])
    with ChromaStore.open(tmp_path, search=search, k=1) as store:
        assert store.name == f"chroma:{search}:k=1:hashing-1024-v1"
        assert store.add([CAT]) == 1
        assert titles(store.retrieve("an animal that purrs")) == ["Cat"]


class BrokenEmbedder(OtherEmbedder):
    """Works for so many calls."""

    def __init__(self, calls):
        self.calls = calls

    def embed(self, texts):
        self.calls -= 1
        if self.calls < 0:
            raise InputError("broken")
        return super().embed(texts)


@pytest.mark.parametrize("calls", [0, 1])
def test_a_rebuild_that_fails_leaves_the_old_store(tmp_path, calls):
    with ChromaStore.open(tmp_path) as store:
        store.add([PARIS, ROME])
    with pytest.raises(InputError, match="broken"):
        ChromaStore.rebuild(tmp_path, embedder=BrokenEmbedder(calls))
    assert not (tmp_path / "index.draft").exists()
    with ChromaStore.open(tmp_path) as store:
        assert titles(store.retrieve("capital of Italy"))[0] == "Rome"


def test_rebuilding_again_after_a_torn_line_and_a_kill(tmp_path):
    with ChromaStore.open(tmp_path) as store:
        store.add([PARIS, ROME])
    shutil.copytree(tmp_path / "index", tmp_path / "index.draft")
    with (tmp_path / "references.jsonl").open("ab") as file:
        file.write(b'{"id": "torn')
    for embedder in (OtherEmbedder(), HashingEmbedder()):
        with ChromaStore.rebuild(tmp_path, embedder=embedder) as store:
            assert store.count() == 2
            assert titles(store.retrieve("capital of Italy"))[0] == "Rome"


def test_a_rebuild_killed_before_the_journal_changed_opens_as_it_was(tmp_path, monkeypatch):
    with ChromaStore.open(tmp_path) as store:
        store.add([PARIS, ROME])

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(embedded, "rewrite_journal", killed)
    with pytest.raises(KeyboardInterrupt):
        ChromaStore.rebuild(tmp_path, embedder=OtherEmbedder())
    with ChromaStore.open(tmp_path) as store:
        assert titles(store.retrieve("capital of Italy"))[0] == "Rome"


def test_a_new_store_is_not_made_with_an_embedder_that_does_not_work(tmp_path):
    with pytest.raises(InputError, match="broken"):
        ChromaStore.open(tmp_path / "store", embedder=BrokenEmbedder(0))
    assert not (tmp_path / "store").exists()


async def test_a_closed_store_says_so(tmp_path):
    for store in (ChromaStore.open(tmp_path), ChromaStore.ephemeral()):
        store.close()
        for use in (store.count, lambda s=store: s.add([PARIS]), lambda s=store: s.retrieve("x")):
            with pytest.raises(StoreError, match="the store is closed"):
                use()
        with pytest.raises(StoreError, match="the store is closed"):
            await store.aadd([PARIS])
        with pytest.raises(StoreError, match="the store is closed"):
            await store.aretrieve("x")


def test_rebuild_needs_a_journal(tmp_path):
    with pytest.raises(InputError, match=r"references\.jsonl"):
        ChromaStore.rebuild(tmp_path)


def test_a_folder_is_open_once(tmp_path):
    with ChromaStore.open(tmp_path):
        with pytest.raises(StoreLocked, match="skr store serve"):
            ChromaStore.open(tmp_path)
        script = f"""
            from skr_store.chroma_store import ChromaStore
            from skr_core.errors import StoreLocked
            try:
                ChromaStore.open({str(tmp_path)!r})
            except StoreLocked:
                print("locked")
        """
        assert python(script).stdout.strip() == "locked"
    ChromaStore.open(tmp_path).close()


def python(script, **options):
    path = os.pathsep.join(each for each in sys.path if each)
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=150,
        **options,
    )


def test_what_the_index_lost_comes_back_from_the_journal(tmp_path):
    with ChromaStore.open(tmp_path) as store:
        store.add([PARIS, ROME])
    shutil.rmtree(tmp_path / "index")
    with ChromaStore.open(tmp_path) as store:
        assert store.count() == 2
        assert titles(store.retrieve("Italy"))[0] == "Rome"


def test_what_only_the_index_has_enters_the_journal(tmp_path):
    with ChromaStore.open(tmp_path) as store:
        store.add([PARIS, ROME])
    (tmp_path / "references.jsonl").unlink()
    with ChromaStore.open(tmp_path):
        recorded = list(read_journal(tmp_path / "references.jsonl"))
    assert {each.id for each in recorded} == {PARIS.id, ROME.id}


@pytest.mark.parametrize("damage", ["database", "vectors"])
def test_an_unreadable_index_is_made_again(tmp_path, damage):
    passages = [Reference.of(f"passage number {n}") for n in range(1200)]
    with ChromaStore.open(tmp_path) as store:
        store.add(passages)
    files = tmp_path / "index"
    broken = [files / "chroma.sqlite3"] if damage == "database" else list(files.rglob("*.bin"))
    assert broken
    for file in broken:
        file.write_bytes(b"broken" * 100)
    with ChromaStore.open(tmp_path) as store:
        assert store.count() == 1200
        assert store.retrieve("number 77")[0].text == "passage number 77"


def test_a_runaway_index_is_noticed_and_made_again(tmp_path, monkeypatch):
    with ChromaStore.open(tmp_path) as store:
        store.add([PARIS])
        runaway = tmp_path / "index" / "link_lists.bin"
        with runaway.open("wb") as file:
            file.truncate(embedded.BYTES_SET_ASIDE * 2)  # takes no room on the disk
        with pytest.raises(StoreError, match="out of proportion"):
            store.add([ROME])
    with ChromaStore.open(tmp_path) as store:
        assert store.count() == 2
        assert not runaway.exists()


def test_after_a_kill_a_runaway_index_is_noticed_within_a_batch(tmp_path):
    with ChromaStore.open(tmp_path) as store:
        store.add([PARIS])
    (tmp_path / "index.seal").unlink()
    with ChromaStore.open(tmp_path) as store:
        runaway = tmp_path / "index" / "link_lists.bin"
        with runaway.open("wb") as file:
            file.truncate(embedded.BYTES_SET_ASIDE * 3)
        with pytest.raises(StoreError, match="out of proportion"):
            store.add([Reference.of(f"passage number {n}") for n in range(500)])
        assert store.count() == 101
    with ChromaStore.open(tmp_path) as store:
        assert store.count() == 501
        assert store._index.batch_size > 100


def test_a_killed_process_loses_nothing_that_was_acknowledged(tmp_path):
    script = f"""
        import os, signal, threading
        from skr_store.chroma_store import ChromaStore
        from skr_core.types import Reference
        store = ChromaStore.open({str(tmp_path)!r})
        for n in range(10**6):
            if n == 1:
                threading.Timer(1, os.kill, (os.getpid(), signal.SIGKILL)).start()
            store.add([Reference.of(f"passage n{{n}} m{{m}}") for m in range(20)])
            print(n, flush=True)
    """
    killed = python(script)
    acknowledged = [int(line) for line in killed.stdout.splitlines()]
    assert killed.returncode < 0
    assert acknowledged
    with ChromaStore.open(tmp_path, k=1) as store:
        assert store.count() >= 20 * len(acknowledged)
        for n in (acknowledged[0], acknowledged[-1]):
            passage = Reference.of(f"passage n{n} m19")
            assert store.add([passage]) == 0
            assert [found.id for found in store.retrieve(passage.text)] == [passage.id]


async def test_the_event_loop_runs_while_a_folder_is_searched(tmp_path):
    with ChromaStore.open(tmp_path) as store:
        await store.aadd([Reference.of(f"passage number {n}") for n in range(300)])
        results = await asyncio.gather(*(store.aretrieve(f"number {n}") for n in range(20)))
    assert all(len(found) == 10 for found in results)


def test_chroma_is_told_to_tell_nobody(tmp_path):
    from chromadb.api.shared_system_client import SharedSystemClient

    with ChromaStore.open(tmp_path / "store") as store:
        store.add([Reference.of("Paris is in France.")])
        systems = SharedSystemClient._identifier_to_system
        (ours,) = [each for path, each in systems.items() if str(tmp_path) in path]
        assert not ours.settings.anonymized_telemetry
