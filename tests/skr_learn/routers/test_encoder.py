"""EncoderRouter: the real training code, on a BERT small enough for a test."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from skr_core import load_router
from skr_core.errors import DataError, InputError, StampMismatch
from skr_core.routers.saving import SavedRouter
from skr_core.testing import ScriptedModel
from skr_learn.routers import EncoderRouter
from tests.skr_learn.routers.facts import answered, firm, records

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    transformers = pytest.importorskip("transformers")
    import torch

    folder = tmp_path_factory.mktemp("bert")
    words = "[PAD] [UNK] [CLS] [SEP] [MASK] into which sea does the river flow who keeps books of"
    (folder / "vocab.txt").write_text("\n".join([*words.split(), "company", "?"]))
    transformers.BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(words.split()) + 2,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
    )
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    return folder


def test_it_is_trained_saved_loaded_and_trained_on(tiny: Path, tmp_path: Path):
    some = records(20)
    router = EncoderRouter.fit(some, encoder=tiny)
    decision = router.decide(firm("Omega"))
    assert decision.retrieve == (decision.score > decision.threshold)
    assert EncoderRouter.fit(some, encoder=tiny).decide(firm("Omega")).score == decision.score
    assert router.scores([firm("Omega")] * 20).tolist() == pytest.approx([decision.score] * 20)
    path = tmp_path / "router"
    router.save(path)
    loaded = load_router(path, model=ScriptedModel(name="m"))
    assert loaded.decide(firm("Omega")).score == pytest.approx(decision.score, abs=1e-6)
    with pytest.raises(StampMismatch):
        load_router(path, model=ScriptedModel(name="other"))
    router.update([each for each in some if not each.known] * 5)
    assert router.decide(firm("Omega")).score > decision.score


@pytest.mark.parametrize("name", ["pytorch_model.bin", "modeling.py"])
def test_a_file_that_may_hold_code_is_refused(tiny: Path, tmp_path: Path, name: str):
    path = tmp_path / "router"
    EncoderRouter.fit(records(2), encoder=tiny).save(path)
    saved = SavedRouter.read(path)
    replace(saved, arrays={**saved.arrays, name: np.zeros(3, np.uint8)}).write(path)
    with pytest.raises(DataError, match="no part of an encoder"):
        load_router(path)


def test_what_is_no_encoder_is_refused_in_a_line(tiny: Path, tmp_path: Path):
    path = tmp_path / "router"
    EncoderRouter.fit(records(2), encoder=tiny).save(path)
    saved = SavedRouter.read(path)
    broken = {**saved.arrays, "model.safetensors": np.zeros(9, np.uint8)}
    replace(saved, arrays=broken).write(path)
    with pytest.raises(InputError, match="cannot load the encoder") as caught:
        load_router(path)
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="cannot load the encoder"):
        EncoderRouter.fit(records(2), encoder=tmp_path)


def test_records_must_tell_something(tiny: Path):
    with pytest.raises(InputError, match="nothing is known"):
        EncoderRouter.fit([answered("a?", 0.0, 0.0)], encoder=tiny)
