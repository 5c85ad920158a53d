"""Fine-tuning a transformer as a two-way classifier of questions (SKR equation 5)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skr_core.errors import extra
from skr_core.texts import encodable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEARNING_RATE = 2e-5  # both as in the settings that SKR released
EPOCHS = 10
BATCH_SIZE = 16
MOST_TOKENS = 256
"""A question is shorter; what is not is cut."""


class SequenceClassifier:
    """A transformer with a classification head.

    Args:
        model_name_or_path: A name on the hub, which is downloaded, or a folder.

    Raises:
        MissingDependency: transformers or torch is not installed.
    """

    def __init__(self, model_name_or_path: str | Path) -> None:
        with extra("local"):
            from transformers import AutoModelForSequenceClassification, AutoTokenizer
        source = str(model_name_or_path)
        self._tokenizer: Any = AutoTokenizer.from_pretrained(source)
        self._model: Any = AutoModelForSequenceClassification.from_pretrained(source, num_labels=2)

    def fit(self, texts: Sequence[str], labels: NDArray[np.int64], *, epochs: int = EPOCHS) -> None:
        """Minimise the cross entropy of the labels; the same call gives the same weights.

        Args:
            texts: Questions, n of them.
            labels: 1 for unknown, shape (n,).
            epochs: Times each question is seen.
        """
        import torch

        shuffle = torch.Generator().manual_seed(0)
        optimizer = torch.optim.AdamW(self._model.parameters(), lr=LEARNING_RATE)
        wanted = torch.as_tensor(labels)
        self._model.train()
        with torch.random.fork_rng(devices=[]):  # dropout draws from the global generator
            torch.manual_seed(0)
            for _ in range(epochs):
                order = torch.randperm(len(texts), generator=shuffle)
                for start in range(0, len(texts), BATCH_SIZE):
                    batch = order[start : start + BATCH_SIZE]
                    inputs = self._inputs([texts[place] for place in batch.tolist()])
                    loss = self._model(**inputs, labels=wanted[batch]).loss
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
        self._model.eval()

    def predict(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """The probability of unknown for each text, shape (n,)."""
        import numpy as np
        import torch

        self._model.eval()
        found: list[float] = []
        with torch.inference_mode():
            for start in range(0, len(texts), BATCH_SIZE):
                logits = self._model(**self._inputs(texts[start : start + BATCH_SIZE])).logits
                found += logits.softmax(dim=1)[:, 1].tolist()
        return np.array(found)

    def save(self, folder: Path) -> None:
        """Write weights and vocabulary; weights as safetensors, which hold no code."""
        self._model.save_pretrained(folder)
        self._tokenizer.save_pretrained(folder)

    def _inputs(self, texts: Sequence[str]) -> Any:
        return self._tokenizer(
            [encodable(text) for text in texts],
            padding=True,
            truncation=True,
            max_length=MOST_TOKENS,
            return_tensors="pt",
        )
