import builtins

import numpy as np
import pytest

from skr_core.errors import InputError, MissingDependency
from skr_core.models.embedders import DIMENSIONS, HashingEmbedder, SentenceTransformerEmbedder
from skr_core.ports import Embedder

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
    with pytest.raises(MissingDependency, match=r"skr-rag\[local\]"):
        SentenceTransformerEmbedder("mini").embed(["text"])


def test_a_model_that_cannot_be_loaded_is_one_line(tmp_path):
    pytest.importorskip("sentence_transformers")
    with pytest.raises(InputError, match="cannot load embedder") as caught:
        SentenceTransformerEmbedder(str(tmp_path)).embed(["text"])
    assert "\n" not in str(caught.value)


def test_a_blank_name_is_refused():
    with pytest.raises(InputError, match="name"):
        SentenceTransformerEmbedder(" ")
