import asyncio
import os
import pickle
import shutil
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import pytest

from skr_core import HashingEmbedder, Reference, ReferenceStore
from skr_core.errors import InputError, StoreError
from skr_store import Store, vectors

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
    with Store.ephemeral() as store:
        yield store


def titles(references):
    return [reference.title for reference in references]


def test_it_fits_the_port(store):
    assert isinstance(store, ReferenceStore)
    assert store.name == "store:bm25:k=10:none"
    with Store.ephemeral(embedder=HashingEmbedder()) as other:
        assert other.name == "store:hybrid:k=10:hashing-1024-v1"


@pytest.mark.parametrize("search", ["hybrid", "dense", "bm25"])
def test_what_is_added_is_found_with_all_it_had(search):
    with Store.ephemeral(embedder=HashingEmbedder(), search=search, k=1) as store:
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
    with Store.ephemeral(search=search) as store:
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
    with Store.ephemeral() as one, Store.ephemeral() as other:
        one.add([PARIS])
        assert other.count() == 0
    with Store.ephemeral() as later:
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
        with Store.ephemeral(embedder=MeaningEmbedder(), search=search, k=3) as store:
            store.add([*fill, tower])
            found[search] = {reference.id for reference in store.retrieve(query)}
    assert tower.id not in found["dense"]
    assert found["bm25"] == {tower.id}
    assert tower.id in found["hybrid"]
    assert found["hybrid"] & {reference.id for reference in fill}


async def test_one_store_is_searched_in_several_ways():
    with Store.ephemeral(embedder=MeaningEmbedder()) as store:
        store.add([PARIS, ROME, CAT])
        near, worded = (store.searched_by(search, k=1) for search in ("dense", "bm25"))
        assert titles(near.retrieve("a feline")) == ["Cat"]
        assert titles(await worded.aretrieve("a feline of Italy")) == ["Rome"]
        assert (near.name, worded.name) == ("store:dense:k=1:meaning", "store:bm25:k=1:meaning")
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
        Store.ephemeral(**options)


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://localhost", "http://", "http://h:port"])
def test_what_is_not_an_address_is_refused(url):
    with pytest.raises(InputError, match="address"):
        Store.connect(url)


def test_a_folder_keeps_what_was_added(tmp_path):
    with Store.open(tmp_path / "new" / "store") as store:
        store.add([PARIS, ROME])
    with Store.open(tmp_path / "new" / "store") as store:
        assert store.count() == 2
        assert store.add([ROME, CAT]) == 1
        assert store.retrieve("purrs")[0].metadata == {}
        assert store.retrieve("France")[0].metadata == PARIS.metadata
    store.close()


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("text")
    with pytest.raises(StoreError, match="folder"):
        Store.open(tmp_path / "file")


@pytest.mark.parametrize("search", ["hybrid", "dense", "bm25"])
def test_a_store_that_was_made_with_hashing_goes_on_with_it(tmp_path, search):
    with Store.open(tmp_path, embedder=HashingEmbedder()) as store:
        store.add([PARIS, ROME])
    with Store.open(tmp_path, search=search, k=1) as store:
        assert store.name == f"store:{search}:k=1:hashing-1024-v1"
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


def test_a_new_store_is_not_made_with_an_embedder_that_does_not_work(tmp_path):
    with pytest.raises(InputError, match="broken"):
        Store.open(tmp_path / "store", embedder=BrokenEmbedder(0))
    assert not (tmp_path / "store").exists()


async def test_a_closed_store_says_so(tmp_path):
    for store in (Store.open(tmp_path), Store.ephemeral()):
        store.close()
        for use in (store.count, lambda s=store: s.add([PARIS]), lambda s=store: s.retrieve("x")):
            with pytest.raises(StoreError, match="the store is closed"):
                use()
        with pytest.raises(StoreError, match="the store is closed"):
            await store.aadd([PARIS])
        with pytest.raises(StoreError, match="the store is closed"):
            await store.aretrieve("x")


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


def test_a_killed_process_loses_nothing_that_was_acknowledged(tmp_path):
    script = f"""
        import os, signal, threading
        from skr_store import Store
        from skr_core.types import Reference
        store = Store.open({str(tmp_path)!r})
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
    with Store.open(tmp_path, k=1) as store:
        assert store.count() >= 20 * len(acknowledged)
        for n in (acknowledged[0], acknowledged[-1]):
            passage = Reference.of(f"passage n{n} m19")
            assert store.add([passage]) == 0
            assert [found.id for found in store.retrieve(passage.text)] == [passage.id]


async def test_the_event_loop_runs_while_a_folder_is_searched(tmp_path):
    with Store.open(tmp_path) as store:
        await store.aadd([Reference.of(f"passage number {n}") for n in range(300)])
        results = await asyncio.gather(*(store.aretrieve(f"number {n}") for n in range(20)))
    assert all(len(found) == 10 for found in results)


def test_chroma_is_told_to_tell_nobody(tmp_path, small):
    from chromadb.api.shared_system_client import SharedSystemClient

    with Store.open(tmp_path / "store", embedder=HashingEmbedder()) as store:
        store.add([Reference.of(f"passage {n}") for n in range(10)])
        systems = SharedSystemClient._identifier_to_system
        (ours,) = [each for path, each in systems.items() if str(tmp_path) in path]
        assert not ours.settings.anonymized_telemetry


@pytest.fixture
def small(monkeypatch):
    """Chroma is used from the first vectors on."""
    monkeypatch.setattr(vectors, "EXACT", 5)
    monkeypatch.setattr(vectors, "BEHIND", 5)


def test_a_folder_is_open_as_often_as_one_likes(tmp_path):
    with Store.open(tmp_path) as one, Store.open(tmp_path) as other:
        assert one.add([PARIS]) == 1
        assert titles(other.retrieve("France")) == ["Paris"]
        assert other.add([PARIS, ROME]) == 1
        assert titles(one.retrieve("Italy"))[0] == "Rome"
        script = f"""
            from skr_core import Reference
            from skr_store import Store
            with Store.open({str(tmp_path)!r}) as store:
                print(store.add([Reference.of("A late zebra.")]), store.count())
        """
        assert python(script).stdout.split() == ["1", "3"]
        assert one.retrieve("zebra")[0].text == other.retrieve("zebra")[0].text == "A late zebra."


def test_each_embedder_has_vectors_of_its_own(tmp_path, small):
    """They are made of what it has not seen, and no search mixes them."""
    passages = [Reference.of(f"passage number {n}") for n in range(20)]
    with Store.open(tmp_path, search="bm25") as store:
        store.add([PARIS, *passages])
    with Store.open(tmp_path, embedder=MeaningEmbedder(), search="dense", k=1) as store:
        store.add([CAT])
        assert titles(store.retrieve("a feline")) == ["Cat"]
        late = Reference.of("A feline.", "Late")
        with Store.open(tmp_path, embedder=HashingEmbedder(), search="dense", k=1) as other:
            assert titles(other.retrieve("capital of France")) == ["Paris"]
            other.add([late])
        store.clear("shared")
        assert store.retrieve("a feline") == []
    with Store.open(tmp_path, embedder=MeaningEmbedder()) as store:
        assert store.count() == 0


def test_nothing_is_embedded_twice(tmp_path, small):
    class Counting(HashingEmbedder):
        name = "counting"
        texts = 0

        def embed(self, texts):
            self.texts += len([each for each in texts if each != "probe"])
            return super().embed(texts)

    embedder = Counting()
    passages = [Reference.of(f"passage number {n}") for n in range(30)]
    with Store.open(tmp_path, embedder=embedder) as store:
        store.add(passages)
        store.add(passages)
        store.in_scope("another").add(passages)
    for index in (*tmp_path.glob("words*"), *tmp_path.glob("vectors*")):
        shutil.rmtree(index, ignore_errors=True)
    with Store.open(tmp_path, embedder=embedder, search="dense", k=1) as store:
        assert embedder.texts == 30
        assert store.retrieve("passage number 7")[0].text == "passage number 7"


def test_a_store_of_an_earlier_version_is_to_be_made_again(tmp_path):
    (tmp_path / "references.jsonl").write_text("{}")
    (tmp_path / "index").mkdir()
    with pytest.raises(StoreError, match=r"make it again from its documents.*skr ingest"):
        Store.open(tmp_path)


def test_a_store_in_a_folder_comes_out_of_a_pickle_and_an_ephemeral_one_says_why_not(tmp_path):
    with Store.open(tmp_path, k=1) as store:
        store.add([Reference.of("Paris is in France.")])
        with pickle.loads(pickle.dumps(store)) as again:
            assert (again.name, again.retrieve("Paris")[0].text) == (
                store.name,
                "Paris is in France.",
            )
    with (
        Store.ephemeral() as store,
        pytest.raises(TypeError, match="in one process alone: open one in a folder"),
    ):
        pickle.dumps(store)
