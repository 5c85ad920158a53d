import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import httpx
import psutil
import pytest

from skr_core import HashingEmbedder, Reference
from skr_core.errors import EmbedderMismatch, InputError, StoreError
from skr_store import Store, ingest
from tests.servers import reserved_port

pytestmark = pytest.mark.integration

PASSAGES = [Reference.of(f"passage number {n}", metadata={"n": n}) for n in range(50)]


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    command = [Path(sys.executable).with_name("chroma"), "run", "--host", "127.0.0.1"]
    command += ["--path", tmp_path_factory.mktemp("chroma"), "--port"]
    with (
        reserved_port() as port,
        subprocess.Popen(
            [*map(str, command), str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as server,
    ):
        address = f"http://127.0.0.1:{port}"
        try:
            wait_for(address, server)
            yield address
        finally:
            server.terminate()


def wait_for(address, server):
    until = time.monotonic() + 120
    while time.monotonic() < until and server.poll() is None:
        try:
            httpx.get(f"{address}/api/v2/heartbeat", timeout=60)
            return
        except httpx.TransportError:
            time.sleep(0.1)
    pytest.fail("Chroma's server did not start")


@pytest.fixture
def collection(request):
    return f"{request.node.name.split('[')[0]}-{os.getpid()}"


def test_an_embedder_that_does_not_work_marks_no_collection(url, collection):
    class Broken(HashingEmbedder):
        name = "broken"

        def embed(self, texts):
            raise InputError("broken")

    with pytest.raises(InputError, match="broken"):
        Store.connect(url, collection=collection, embedder=Broken())
    Store.connect(url, collection=collection).close()


def test_blocking(url, collection):
    with Store.connect(url, collection=collection, k=5) as store:
        assert store.retrieve("anything") == []
        assert store.add(PASSAGES) == 50
        assert store.add(PASSAGES) == 0
        found = store.retrieve("number 17")
        assert (found[0].text, found[0].metadata, len(found)) == ("passage number 17", {"n": 17}, 5)


async def test_awaited(url, collection):
    async with Store.connect(url, collection=collection, k=5) as store:
        assert await store.aretrieve("anything") == []
        assert await store.aadd(PASSAGES) == 50
        assert await store.aadd(PASSAGES) == 0
        assert await store.aretrieve("number 17") == store.retrieve("number 17")
        results = await asyncio.gather(*(store.aretrieve(f"number {n}") for n in range(20)))
        assert [found[0].metadata["n"] for found in results] == list(range(20))


def test_one_store_serves_several_event_loops(url, collection):
    async def search(store):
        try:
            return (await store.aretrieve("number 3"))[0].text
        finally:
            await store.backend.aclose()

    with Store.connect(url, collection=collection) as store:
        store.add(PASSAGES)
        assert {asyncio.run(search(store)) for _ in range(5)} == {"passage number 3"}


def connections_to(url):
    port = int(url.rpartition(":")[2])
    found = psutil.Process().net_connections("tcp")
    return [each for each in found if each.raddr and each.raddr.port == port]


def test_an_event_loop_that_ends_closes_its_connections(url, collection):
    async def search(one, other):
        await one.aretrieve("number 3")
        await other.aretrieve("number 4")
        await other.aclose()  # the one's are opened again, and end with the loop
        return await one.aretrieve("number 5")

    with Store.connect(url, collection=collection) as one:
        one.add(PASSAGES)
        blocking = len(connections_to(url))
        for _ in range(2):
            other = Store.connect(url, collection=collection)
            assert asyncio.run(search(one, other))[0].text == "passage number 5"
            assert len(connections_to(url)) == blocking
    assert connections_to(url) == []


def test_what_another_client_adds_is_found(url, collection):
    with (
        Store.connect(url, collection=collection) as one,
        Store.connect(url, collection=collection) as other,
    ):
        one.add([*PASSAGES, Reference.of("a zebra")])
        assert other.retrieve("zebra")[0].text == "a zebra"


def test_scopes_documents_and_times_to_live(url, collection, tmp_path):
    note = tmp_path / "note.txt"
    note.write_text("The ferry sails at noon.")
    with Store.connect(url, collection=collection, k=5) as store:
        assert ingest([note], store).added == 1
        assert ingest([note], store).left == 1
        note.write_text("The ferry is red.")
        assert ingest([note], store).replaced == 1
        [found] = store.retrieve("ferry")
        assert (found.text, found.metadata["position"]) == ("The ferry is red.", 1)
        ours = store.in_scope("ours")
        assert ours.add([Reference.of("The vault is in Ghent.")], ttl=0.2) == 1
        assert [each.text for each in ours.retrieve("ferry")] == ["The vault is in Ghent."]
        assert [each.text for each in store.retrieve("vault")] == ["The ferry is red."]
        assert [(each.name, each.scope) for each in store.sources()] == [
            ("", "ours"),
            (str(note), "shared"),
        ]
        time.sleep(0.3)
        assert ours.retrieve("vault") == []
        assert store.delete(str(note)) == 1
        assert store.retrieve("ferry") == []


def test_another_embedder_is_refused(url, collection):
    class Other(HashingEmbedder):
        name = "other"

    Store.connect(url, collection=collection).close()
    with pytest.raises(EmbedderMismatch, match="other"):
        Store.connect(url, collection=collection, embedder=Other())


def test_no_server_is_one_line_that_says_what_to_do(port):
    with pytest.raises(StoreError, match="skr store serve"):
        Store.connect(f"http://127.0.0.1:{port}")
