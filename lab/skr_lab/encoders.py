"""The papers' encoders of texts, SimCSE and DPR, as their authors published them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skr_core.errors import InputError, extra
from skr_core.texts import encodable

BATCH_SIZE = 32
MOST_TOKENS = 256
DPR = "DPR"
"""How the names of DPR's classes begin; which of its two encoders a checkpoint is, it says."""


class PooledEmbedder:
    """An encoder whose pooled output is the vector (SimCSE, DPR), loaded at the first call.

    Args:
        model_name_or_path: A name on the hub, which is downloaded, such as
            ``princeton-nlp/sup-simcse-bert-base-uncased``, or a folder.

    Attributes:
        name: Identifies the vectors: the last part of the name or folder.

    Raises:
        InputError: At the first call, where it cannot be loaded or has no pooled output.
        MissingDependency: At the first call, where transformers or torch is not installed.

    Example:
        >>> PooledEmbedder("princeton-nlp/sup-simcse-bert-base-uncased").name
        'pooled:sup-simcse-bert-base-uncased'
    """

    def __init__(self, model_name_or_path: str) -> None:
        self._source = model_name_or_path
        self.name = f"pooled:{model_name_or_path.rstrip('/').rsplit('/', 1)[-1]}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vector of each text, shape (n, d), rows of length 1."""
        tokenizer, model = self._loaded
        import torch

        rows = []
        with torch.inference_mode():
            for at in range(0, len(texts), BATCH_SIZE):
                given = [encodable(text) for text in texts[at : at + BATCH_SIZE]]
                inputs = tokenizer(
                    given,
                    padding=True,
                    truncation=True,
                    max_length=MOST_TOKENS,
                    return_tensors="pt",
                )
                pooled = getattr(model(**inputs), "pooler_output", None)
                if pooled is None:
                    raise InputError(f"{self._source} has no pooled output: give another embedder")
                rows.append(torch.nn.functional.normalize(pooled.float(), dim=1).numpy())
        return np.concatenate(rows) if rows else np.zeros((0, model.config.hidden_size), np.float32)

    async def aembed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """`embed` in a thread, because a local model computes."""
        return await asyncio.to_thread(self.embed, texts)

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        with extra("local"):
            import transformers
        try:
            config = transformers.AutoConfig.from_pretrained(self._source)
            named = next(iter(config.architectures or ()), "")
            # AutoModel would read DPR's encoder of passages as that of questions, without weights.
            made = getattr(transformers, named) if named.startswith(DPR) else transformers.AutoModel
            tokenizer = transformers.AutoTokenizer.from_pretrained(self._source)
            return tokenizer, made.from_pretrained(self._source).eval()
        except Exception as error:  # of the hub, of torch, of the folder: whatever is wrong
            reason = (str(error).strip() or type(error).__name__).split("\n", 1)[0]
            raise InputError(f"cannot load embedder {self._source!r}: {reason}") from error
