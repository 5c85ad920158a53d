"""NLI cross-encoders: label order, and a tiny model through the real code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from skr_core.errors import InputError, MissingDependency
from skr_core.models.cross_encoder import CrossEncoderEntailment, label_order

PAIRS = [(f"premise {n} of words", f"hypothesis {n}") for n in range(5)]


@pytest.mark.parametrize(
    "names",
    [
        {0: "contradiction", 1: "entailment", 2: "neutral"},
        {"0": "CONTRADICTION", "1": "ENTAILMENT", "2": "NEUTRAL"},
        {0: "not_entailment", 1: "entailment"},
    ],
)
def test_labels_are_read_by_name(names: dict):
    assert label_order(names)[1] == "entailment"


@pytest.mark.parametrize("names", [{0: "LABEL_0", 1: "LABEL_1"}, {0: "neutral"}])
def test_labels_that_mean_nothing(names: dict):
    with pytest.raises(InputError):
        label_order(names)


def test_without_sentence_transformers(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(__import__("sys").modules, "sentence_transformers", None)
    with pytest.raises(MissingDependency, match=r"\[local\]"):
        CrossEncoderEntailment("some-model").predict(PAIRS)


def test_nothing_to_predict_loads_nothing():
    assert CrossEncoderEntailment("/no/such/model").predict([]) == []


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random weights, and labels in an order that no published model has."""
    transformers = pytest.importorskip("transformers", reason="the extra local is not installed")
    import torch

    folder = tmp_path_factory.mktemp("tiny-nli")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "premise", "hypothesis", "of", "words"]
    words += [str(n) for n in range(10)]
    (folder / "vocab.txt").write_text("\n".join(words))
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    labels = {0: "neutral", 1: "entailment", 2: "contradiction"}
    torch.manual_seed(3)
    config = transformers.BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        id2label=labels,
        label2id={name: place for place, name in labels.items()},
    )
    model = transformers.BertForSequenceClassification(config)
    # The bias decides: whatever is said, output 1 is likeliest.
    with torch.no_grad():
        model.classifier.bias.copy_(torch.tensor([0.0, 9.0, 0.0]))
    model.save_pretrained(folder)
    return folder


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore")
async def test_a_real_cross_encoder(tiny: Path):
    model = CrossEncoderEntailment(str(tiny), batch_size=2)
    assert model.predict(PAIRS) == ["entailment"] * 5
    assert await model.apredict(PAIRS) == model.predict(PAIRS)
    from sentence_transformers import CrossEncoder

    logits = CrossEncoder(str(tiny)).predict(PAIRS)
    assert np.asarray(logits).argmax(axis=1).tolist() == [1] * 5


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore")
def test_a_folder_without_a_model(tmp_path: Path):
    with pytest.raises(InputError, match="cannot be loaded"):
        CrossEncoderEntailment(str(tmp_path)).predict(PAIRS)
