"""A router is given by its file or its name, and with a framework's own objects."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import RunnableLambda
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.llms import MockLLM

import langchain_skr
import llamaindex_skr
from langchain_skr import create_skr_chain, create_skr_graph
from llamaindex_skr import SKRQueryEngine
from skr_core import Decision, Settings, load_router
from skr_core.errors import InputError, ModelError, StampMismatch
from skr_core.models.adapting import as_embedder
from skr_core.routers import (
    AlwaysRetrieve,
    CertaintyLevelRouter,
    ConfidenceRouter,
    NeverRetrieve,
    PromptRouter,
    UncertaintyRouter,
)
from skr_core.routers.saving import SavedRouter, embedder_stamp
from skr_core.settings import as_router
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_core.types import Stamp
from skr_graphs import SKRContext, create_route_node, create_self_completion_graph

MODEL = ScriptedModel(["No, I don't need any."], name="m")
LIBRARY = MappingRetriever({"Who?": ["It is she."]})
NAMED: dict[str, type] = {
    "always": AlwaysRetrieve,
    "never": NeverRetrieve,
    "uncertainty": UncertaintyRouter,
    "certainty_level": CertaintyLevelRouter,
    "confidence": ConfidenceRouter,
    "confidence:punish_explain": ConfidenceRouter,
    "prompt": PromptRouter,
    "prompt:can_answer": PromptRouter,
}


class Keen:
    """A router of the user's own that is saved, and asks for an embedder."""

    kind = "always"

    @classmethod
    def load(cls, path: Any, **given: Any) -> Any:
        saved = SavedRouter.read(path)
        made = cls()
        made.given = given
        made.embedder = saved.embedder_beside(
            given["model"], given["retriever"], given["embedder"], force=given["force"]
        )
        return made

    def decide(self, question: str) -> Decision:
        return Decision(True)

    async def adecide(self, question: str) -> Decision:
        return Decision(True)


@pytest.mark.parametrize("name", NAMED)
def test_names_are_taken_where_files_are(name: str):
    assert isinstance(load_router(name, model=MODEL), NAMED[name])
    assert isinstance(load_router(Path(name), model=MODEL), NAMED[name])
    assert isinstance(as_router(name, MODEL), NAMED[name])
    assert isinstance(Settings.of(MODEL, LIBRARY, router=name).router, NAMED[name])


def test_what_stands_behind_the_colon_is_the_parameter():
    assert load_router("prompt:can_answer", model=MODEL).decide("Who?").retrieve
    assert not load_router("prompt:extra_prompts", model=MODEL).decide("Who?").retrieve


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "nevver",
            "there is no saved router or reflector at nevver, and none is registered by that name",
        ),
        ("never:more", "the router 'never' takes nothing behind a colon, and not 'more'"),
        ("prompt:mine", "no template 'mine'"),
        ("confidence:", "no strategy ''"),
        ("confidence:shouting", "no strategy 'shouting': give one of vanilla"),
        ("knn", "the router 'knn' learns from records: give the file that skr calibrate"),
        ("in_context", "the router 'in_context' learns from records"),
    ],
)
def test_other_names_are_refused_in_a_line(name: str, said: str):
    with pytest.raises(InputError, match=said) as caught:
        Settings.of(MODEL, LIBRARY, router=name)
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="'uncertainty' asks a model: give model="):
        load_router("uncertainty")


def test_a_file_of_that_name_comes_first_and_a_folder_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "always").mkdir()
    assert isinstance(load_router("always"), AlwaysRetrieve)
    NeverRetrieve().save(tmp_path / "confidence:explain")
    assert isinstance(load_router("confidence:explain"), NeverRetrieve)


@pytest.mark.parametrize("form", ["sync", "async"])
def test_a_run_names_its_router_and_no_file(form: str, tmp_path: Path):
    model = ScriptedModel({"answer_directly": ["By heart."]})
    NeverRetrieve().save(tmp_path / "router")
    graph = create_skr_graph(model, LIBRARY)
    chain = create_skr_chain(model, LIBRARY)

    def asked(name: str) -> tuple[Any, Any]:
        given, context = {"question": "Who?"}, SKRContext(router=name)
        led = chain.with_config(configurable={"router": name})
        if form == "sync":
            return graph.invoke(given, context=context)["answer"], led.invoke("Who?")
        output = asyncio.run(graph.ainvoke(given, context=context))
        return output["answer"], asyncio.run(led.ainvoke("Who?"))

    assert asked("never") == ("By heart.", "By heart.")
    for name in (str(tmp_path / "router"), "nevver"):
        with pytest.raises(InputError, match="a run names one that needs no records"):
            asked(name)
    with pytest.raises(InputError, match="learns from records"):
        asked("knn")


def test_a_run_s_router_asks_the_run_s_model():
    graph = create_skr_graph(ScriptedModel(["Nobody asks me."]), LIBRARY)
    other = ScriptedModel(["No, I don't."], name="other")
    context = SKRContext(router="prompt", model=other)
    output = graph.invoke({"question": "Who?"}, context=context)
    assert not output["decision"]["retrieve"]
    assert "No, I don't." in output["decision"]["reason"]


def test_an_engine_takes_a_name():
    engine = SKRQueryEngine.from_defaults(LIBRARY, llm=MockLLM(max_tokens=2), router="never")
    assert engine.query("Who?").metadata["stop_reason"] == "known"


FOUND = RunnableLambda(lambda query: [], name="library")
OBJECTS: dict[str, tuple[Any, Any, Any, str]] = {
    "langchain": (
        FakeListChatModel(responses=["No."]),
        FOUND,
        DeterministicFakeEmbedding(size=8),
        "fake-list",
    ),
    "llamaindex": (MockLLM(max_tokens=1), LIBRARY, MockEmbedding(embed_dim=8), "mockllm"),
    "ours": (MODEL, LIBRARY, as_embedder(MockEmbedding(embed_dim=8)), "m"),
}


@pytest.mark.parametrize("kind", OBJECTS)
def test_a_framework_s_own_objects_are_taken(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("skr_core.routers.loading.registered", lambda group, name: Keen)
    model, retriever, embedder, name = OBJECTS[kind]
    own = as_embedder(embedder)
    retriever_name = "library" if retriever is FOUND else LIBRARY.name
    stamp = Stamp(model=name, retriever=retriever_name)
    path = tmp_path / "router"
    SavedRouter("always", {}, stamp=stamp, embedder=embedder_stamp(own)).write(path)
    found: Any = load_router(path, model=model, retriever=retriever, embedder=embedder)
    assert found.given["model"].name == name
    assert found.embedder.name == own.name
    with pytest.raises(InputError, match="give embedder="):
        load_router(path, model=model, retriever=retriever)
    SavedRouter("always", {}, stamp=Stamp(model="another")).write(path)
    with pytest.raises(StampMismatch, match="made with the model 'another'"):
        load_router(path, model=model)
    assert load_router(path, model=model, force=True) is not None


@pytest.mark.parametrize("kind", ["langchain", "llamaindex"])
def test_embedders_of_a_framework_give_unit_vectors(kind: str):
    embedder = as_embedder(OBJECTS[kind][2])
    vectors = embedder.embed(["Paris", "Rome"])
    assert vectors.shape == (2, 8)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert np.array_equal(vectors, asyncio.run(embedder.aembed(["Paris", "Rome"])))


def test_an_embedder_that_fails_is_a_model_error():
    class Failing(DeterministicFakeEmbedding):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            raise RuntimeError("no server")

    with pytest.raises(ModelError, match="no server"):
        as_embedder(Failing(size=2)).embed(["Paris"])
    with pytest.raises(InputError, match="an embedder is wanted, not int"):
        as_embedder(3)  # type: ignore[arg-type]


FACTORIES: dict[str, Callable[[str], Any]] = {
    "create_skr_chain": lambda name: create_skr_chain(MODEL, LIBRARY, router=name),
    "create_skr_graph": lambda name: create_skr_graph(MODEL, LIBRARY, router=name),
    "create_skr_tool": lambda name: langchain_skr.create_skr_tool(MODEL, LIBRARY, router=name),
    "SKRRetriever": lambda name: langchain_skr.SKRRetriever(retriever=FOUND, router=name),
    "SKRMiddleware": lambda name: langchain_skr.SKRMiddleware(name, retriever=LIBRARY, model=MODEL),
    "create_route_node": lambda name: create_route_node(name, model=MODEL),
    "create_self_completion_graph": lambda name: create_self_completion_graph(
        model=MODEL, retriever=LIBRARY, router=name
    ),
    "SKRQueryEngine": lambda name: SKRQueryEngine.from_defaults(LIBRARY, llm=MODEL, router=name),
    "SKRChatEngine": lambda name: llamaindex_skr.SKRChatEngine.from_defaults(
        LIBRARY, llm=MODEL, router=name
    ),
    "SKRRetriever of LlamaIndex": lambda name: llamaindex_skr.SKRRetriever(LIBRARY, router=name),
    "SKRSelector": lambda name: llamaindex_skr.SKRSelector(name),
}


@pytest.mark.parametrize("factory", FACTORIES)
def test_every_factory_takes_a_name_and_tells_a_misspelling(factory: str):
    assert FACTORIES[factory]("never") is not None
    # A retriever of LangChain's is checked by pydantic, whose error is a ValueError too.
    with pytest.raises(
        ValueError, match="no saved router or reflector at nevver, and none is registered"
    ):
        FACTORIES[factory]("nevver")
