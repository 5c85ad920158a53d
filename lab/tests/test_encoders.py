"""SimCSE and DPR: the real loading code, on encoders small enough for a test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lab.tests.conftest import Lab, one_line
from skr_core.errors import InputError
from skr_lab.encoders import PooledEmbedder
from skr_lab.opening import open_embedder

pytestmark = pytest.mark.integration
WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] who keeps the books of this harbour town ?".split()
TEXTS = ["who keeps the books", "the town ?", ""]
SMALL = {
    "vocab_size": len(WORDS),
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
}
CLASSES = {
    "BertModel": "BertConfig",
    "DPRQuestionEncoder": "DPRConfig",
    "DPRContextEncoder": "DPRConfig",
}


@pytest.fixture(params=CLASSES)
def encoder(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Any, Any]:
    """A folder as the hub has it, and what was saved there."""
    transformers = pytest.importorskip("transformers")
    import torch

    folder = tmp_path / "small-encoder"
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    tokenizer = transformers.BertTokenizer(str(folder / "vocab.txt"))
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = getattr(transformers, CLASSES[request.param])(**SMALL)
    model = getattr(transformers, request.param)(config).eval()
    model.save_pretrained(folder)
    return folder, tokenizer, model


@pytest.mark.parametrize(
    "embed", [PooledEmbedder.embed, lambda made, texts: asyncio.run(made.aembed(texts))]
)
def test_the_pooled_output_of_what_was_published_is_the_vector(
    encoder: tuple[Path, Any, Any], embed: Callable[[Any, list[str]], Any]
) -> None:
    folder, tokenizer, model = encoder
    embedder = open_embedder(f"pooled:{folder}")
    assert embedder.name == "pooled:small-encoder"
    found = embed(embedder, TEXTS)
    for text, row in zip(TEXTS, found, strict=True):
        pooled = model(**tokenizer([text], return_tensors="pt")).pooler_output[0].detach().numpy()
        assert row == pytest.approx(pooled / np.linalg.norm(pooled), abs=1e-5)
    assert embed(embedder, []).shape == (0, 32)


def test_records_are_compared_by_it(
    encoder: tuple[Path, Any, Any], lab: Lab, data_dir: Path
) -> None:
    recorded = data_dir / "whentoretrieve_nq_chatgpt.jsonl.gz"
    fields = {"recorded": recorded, "embedder": f"pooled:{encoder[0]}", "limit": 60}
    found = lab("run", "training-size", "--json", **fields).json
    assert found["result"]["rows"][-1]["cells"]["answer_accuracy"]["n"] == 30
    one_line(lab("run", "training-size", **{**fields, "embedder": "pooled:/none"}), "cannot load")


def test_what_has_no_pooled_output_is_refused_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot load embedder"):
        PooledEmbedder(str(tmp_path)).embed(["Who?"])
