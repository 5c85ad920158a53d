"""What a command's options describe is what a worker opens, and keeps to the same limits."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from skr_core.engines import LocalEngine, RayEngine

from skr_app.described import Described, _opened
from skr_app.engines import EngineName, open_engine, open_for
from skr_app.limits import Limits, keeping_to
from skr_app.options import WhenInsufficient
from skr_core.errors import BudgetError, InputError
from skr_core.flow import run
from skr_core.models.limited import Spending
from skr_core.questions import Question
from skr_core.types import Reference
from skr_store.chroma_store import ChromaStore
from tests.skr_app.conftest import Skr

DESCRIBED = Described(
    model="extractive",
    base_url=None,
    embedder="hashing",
    search="bm25",
    reflector="refusal",
    likelihoods=False,
    max_rounds=2,
    when_insufficient=WhenInsufficient.refuse,
    decompose=False,
    templates="rallm",
    demonstrations=None,
    cache=None,
    limits=Limits(seconds=7.0, spending=Spending(max_calls=1)),
)


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    _opened().close()


def test_a_description_travels_and_is_opened_within_its_limits(tmp_path: Path):
    sent: Described = pickle.loads(pickle.dumps(DESCRIBED))
    with ChromaStore.open(tmp_path / "store", search="bm25") as store, ExitStack() as stack:
        store.add([Reference.of("Jaws was directed by Steven Spielberg.", "Jaws")])
        with keeping_to(DESCRIBED.limits):
            here = DESCRIBED.open(stack, store)
    there = replace(sent, address=str(tmp_path / "store")).answerer()
    assert there.settings.stamp() == here.stamp()
    assert there.settings.budget.deadline_s == 7.0
    assert there.answer("Who directed Jaws?", "direct").text
    with pytest.raises(BudgetError, match="1 of 1 calls"):
        there.answer("Who directed Jaws?", "direct")


def test_systems_keep_to_the_seconds_of_a_question(tmp_path: Path):
    ChromaStore.open(tmp_path / "store").close()
    late = replace(DESCRIBED, address=str(tmp_path / "store"), limits=Limits(seconds=1e-9))
    systems = late.systems("single_shot,loop", None, None)
    assert list(systems) == ["single_shot", "loop"]
    with pytest.raises(TimeoutError):
        run(systems["loop"].ask(Question("1", "Who directed Jaws?", ())))


def test_a_cluster_shares_a_store_by_its_address(tmp_path: Path):
    pytest.importorskip("ray")
    cluster = RayEngine("10.0.0.1:6379")
    with ExitStack() as stack, pytest.raises(InputError, match="give --store http://HOST:8000"):
        open_for(
            stack,
            cluster,
            DESCRIBED,
            store=str(tmp_path),
            corpus=None,
            questions=[],
            skip_bad=False,
        )


@pytest.mark.parametrize("kind", ["", "ray://"])
def test_a_cluster_that_is_not_there_is_said_at_once(
    skr: Skr, questions: Path, kind: str, port: int
):
    pytest.importorskip("ray")
    address = f"{kind}127.0.0.1:{port}"
    result = skr("collect", questions, "--engine", "ray", "--address", address)
    assert (result.code, result.out) == (1, "")
    assert f"no Ray answers at {address}: " in " ".join(result.err.split())


def test_options_of_another_engine_are_refused():
    with ExitStack() as stack:
        assert isinstance(open_engine(stack, EngineName.local, None, None), LocalEngine)
        with pytest.raises(InputError, match="--workers is for --engine ray"):
            open_engine(stack, EngineName.local, None, 2)
        with pytest.raises(InputError, match="--address is for --engine ray"):
            open_engine(stack, EngineName.local, "localhost:6379", None)


def test_requests_a_second(skr: Skr, corpus: Path, questions: Path, tmp_path: Path):
    options = [questions, "--corpus", corpus, "--out", tmp_path / "records.jsonl"]
    result = skr("collect", *options, "--requests-per-second", "0")
    assert (result.code, result.out) == (2, "")
    assert "requests_per_second must be above 0" in result.err
    assert skr("collect", *options, "--requests-per-second", "1000").code == 0
