"""Importing a package is quick and light, and `__all__` is true."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from skr_core import Reference
from skr_store import Store

PACKAGES = ["skr_core", "skr_graphs", "langchain_skr", "llamaindex_skr", "skr_learn", "skr_store"]
ROOMS = ["skr_core.files", "skr_core.routers"]
PLUG_INS = ["langchain_skr", "llamaindex_skr"]
UNASKED = {"skr_learn", "skr_store", "skr_app", "skr_lab"}
MOST_MODULES = 60
"""Of ours, that a plain chain loads."""
HEAVY = [
    *("torch", "transformers", "sentence_transformers", "chromadb", "sklearn", "scipy"),
    *(
        "matplotlib",
        "pandas",
        "typer",
        "pypdfium2",
        "pptx",
        "openpyxl",
        "bs4",
        "tiktoken",
        "openai",
        "ray",
    ),
    *("langchain", "langchain_openai", "langchain_text_splitters"),
]


PLAIN_CHAIN = (
    "langchain_skr; from langchain_core.documents import Document; "
    "from langchain_core.language_models import FakeListChatModel as Model; "
    "from langchain_core.runnables import RunnableLambda as Runnable; "
    "chain = langchain_skr.create_skr_chain("
    "Model(responses=['Paris [1].']), Runnable(lambda query: [Document('Paris.')])); "
    "chain.invoke('Capital of France?')"
)


@cache
def loaded_by(package: str) -> frozenset[str]:
    """The modules that importing the package loads."""
    code = f"import sys, {package}; print(*sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=150, check=False
    )
    assert result.returncode == 0, result.stderr
    return frozenset(result.stdout.split())


@pytest.mark.parametrize("package", PACKAGES)
def test_importing_is_light(package: str):
    assert loaded_by(package) & {*HEAVY} == set()


@pytest.mark.parametrize("package", PLUG_INS)
def test_a_plug_in_brings_nothing_that_measures(package: str):
    assert loaded_by(package) & UNASKED == set()


def test_a_plain_chain_loads_little_of_ours():
    packages = {*PACKAGES, *UNASKED}
    ours = {name for name in loaded_by(PLAIN_CHAIN) if name.partition(".")[0] in packages}
    assert len(ours) <= MOST_MODULES
    assert ours & UNASKED == set()


def test_chains_and_retrievers_bring_nothing_that_only_tools_and_prompts_need():
    unused = {"langgraph.prebuilt", "langchain_core.prompts", "yaml", *HEAVY}
    unused |= {"skr_app.extractive", "langchain_core.runnables.configurable"}
    used = "create_skr_chain, create_skr_graph, SKRRetriever"
    assert loaded_by(f"langchain_skr; from langchain_skr import {used}") & unused == set()


def test_the_llamaindex_plug_in_loads_langgraph_when_an_engine_is_made():
    unused = {"langgraph", "langchain_core", "langsmith", "skr_app.extractive"}
    assert loaded_by("llamaindex_skr") & unused == set()
    assert "langgraph" in loaded_by(
        "llamaindex_skr; from skr_core.testing import MappingRetriever as Search; "
        "llamaindex_skr.SKRRetriever(Search({}), llm='extractive')"
    )


def test_asking_loads_what_asking_needs(tmp_path: Path):
    with Store.open(tmp_path) as store:
        store.add([Reference.of("Paris is the capital of France.")])
    argv = ["skr", "ask", "What is the capital of France?", "--store", str(tmp_path)]
    argv += ["--model", "extractive"]
    run = "from skr_app.__main__ import main as run\ntry: run()\nexcept SystemExit: pass\n"
    code = f"import sys\nsys.argv = {argv!r}\n{run}print(*sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    *said, loaded = result.stdout.splitlines()
    assert "Paris is the capital of France" in " ".join(said), result.stderr
    unasked = ("sklearn", "scipy", "torch", "langchain_skr", "llamaindex_skr", "llama_index")
    unasked += ("tiktoken", "skr_learn.calibration", "skr_learn.learning", "skr_learn.arbiters")
    unasked += ("skr_learn.evaluate", "skr_app.report", "skr_app.measuring")
    assert {*unasked} & {*loaded.split()} == set()


@pytest.mark.parametrize("name", PACKAGES + ROOMS)
def test_all_is_true_and_sorted(name: str):
    package = importlib.import_module(name)
    public = package.__all__
    assert sorted(public) == public
    assert len(set(public)) == len(public)
    assert [each for each in public if not hasattr(package, each)] == []


@pytest.mark.parametrize("name", [*PACKAGES, "skr_app"])
def test_packages_are_typed(name: str):
    spec = importlib.util.find_spec(name)
    assert spec is not None
    (folder,) = spec.submodule_search_locations or []
    assert (Path(folder) / "py.typed").is_file()
