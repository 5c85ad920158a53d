"""EncoderRouter: known or unknown, by a fine-tuned encoder (SKR §3.2, equation 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from skr_core.errors import InputError, extra
from skr_core.models.embedders import one_thread_in_children
from skr_core.texts import encodable
from skr_learn.records import Record
from skr_learn.routers.base import Arrays, Floats, Learnt, QuestionRouter

LEARNING_RATE = 2e-5  # both as in the settings that SKR released
EPOCHS = 10
BATCH_SIZE = 16
UPDATE_EPOCHS = 1
"""More would forget what it learnt before."""
MOST_TOKENS = 256
"""A question is shorter; what is not is cut."""
_ENDINGS = {".json", ".jinja", ".model", ".safetensors", ".txt"}
"""Endings of the files that a saved encoder is made of: none of them holds code."""


class EncoderRouter(QuestionRouter):
    """The paper's classifier: BERT fine-tuned on known and unknown questions; made with `fit`.

    It needs ``pip install "skr-rag[local]"``, and a GPU for more than a few thousand records. The
    `ClassifierRouter` learns the same from fixed embeddings in seconds.
    """

    kind: ClassVar[str] = "encoder"

    def __init__(self, learnt: Learnt, classifier: SequenceClassifier, **common: Any) -> None:
        super().__init__(learnt, **common)
        self._classifier = classifier

    @classmethod
    def fit(
        cls,
        records: Sequence[Record],
        *,
        encoder: str | Path = "bert-base-uncased",
        threshold: float = 0.5,
    ) -> Self:
        """Fine-tune an encoder, leaving out the records that no answer got right.

        Args:
            records: The records.
            encoder: A name on the hub, or a folder.
            threshold: The probability of unknown above which retrieval happens.

        Raises:
            InputError: No answer is right on any record.
            MissingDependency: The extra is not installed.
        """
        learnt = Learnt.of(records, informative=True)
        classifier = SequenceClassifier(encoder)
        classifier.fit(learnt.texts, learnt.unknown)
        return cls(learnt, classifier, threshold=threshold)

    def _learn(self, learnt: Learnt, kept: NDArray[np.bool_]) -> None:
        # Training goes on from the weights there are, on the new questions alone.
        new = slice(int(kept.sum()), None)
        if learnt.texts[new]:
            self._classifier.fit(learnt.texts[new], learnt.unknown[new], epochs=UPDATE_EPOCHS)

    def _judge(self, given: Sequence[str]) -> tuple[Floats, None]:
        return self._classifier.predict(given), None

    def _state(self) -> tuple[dict[str, Any], Arrays]:
        return {}, self._classifier.arrays()

    @classmethod
    def _restored(cls, parameters: Mapping[str, Any], arrays: Arrays, **common: Any) -> Self:
        return cls(classifier=SequenceClassifier.from_arrays(arrays), **common)


class SequenceClassifier:
    """A transformer with a classification head.

    Args:
        model_name_or_path: A name on the hub, which is downloaded, or a folder.
        **options: Options of transformers for reading it.

    Raises:
        InputError: It cannot be loaded.
        MissingDependency: transformers or torch is not installed.
    """

    def __init__(self, model_name_or_path: str | Path, **options: Any) -> None:
        with extra("local"):
            from transformers import AutoModelForSequenceClassification, AutoTokenizer
        one_thread_in_children()
        source, options = str(model_name_or_path), {"trust_remote_code": False, **options}
        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(source, **options)
            self._model: Any = AutoModelForSequenceClassification.from_pretrained(
                source, num_labels=2, **options
            )
        except Exception as error:  # of the hub, of torch, of the folder: whatever is wrong
            reason = (str(error).strip() or type(error).__name__).split("\n", 1)[0]
            raise InputError(f"cannot load the encoder {source!r}: {reason}") from error

    def fit(
        self, texts: Sequence[str], unknown: NDArray[np.bool_], *, epochs: int = EPOCHS
    ) -> None:
        """Minimise the cross entropy of the labels; the same call gives the same weights.

        Args:
            texts: Questions, n of them.
            unknown: Which of them are unknown, shape (n,).
            epochs: Times each question is seen.
        """
        import torch

        shuffle = torch.Generator().manual_seed(0)
        optimizer = torch.optim.AdamW(self._model.parameters(), lr=LEARNING_RATE)
        labels = torch.as_tensor(unknown.astype(np.int64))
        self._model.train()
        with torch.random.fork_rng(devices=[]):  # dropout draws from the global generator
            torch.manual_seed(0)
            for _ in range(epochs):
                order = torch.randperm(len(texts), generator=shuffle)
                for start in range(0, len(texts), BATCH_SIZE):
                    batch = order[start : start + BATCH_SIZE]
                    inputs = self._inputs([texts[place] for place in batch.tolist()])
                    loss = self._model(**inputs, labels=labels[batch]).loss
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
        self._model.eval()

    def predict(self, texts: Sequence[str]) -> Floats:
        """Return the probability of unknown for each text, shape (n,)."""
        import torch

        self._model.eval()
        found: list[float] = []
        with torch.inference_mode():
            for start in range(0, len(texts), BATCH_SIZE):
                logits = self._model(**self._inputs(texts[start : start + BATCH_SIZE])).logits
                found += logits.softmax(dim=1)[:, 1].tolist()
        return np.array(found, dtype=np.float64)

    def arrays(self) -> Arrays:
        """Return the files of weights and vocabulary as bytes, by their names."""
        with TemporaryDirectory() as folder:
            self._model.save_pretrained(folder)
            self._tokenizer.save_pretrained(folder)
            return {
                file.name: np.frombuffer(file.read_bytes(), np.uint8)
                for file in Path(folder).iterdir()
                if file.suffix in _ENDINGS
            }

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """Make a classifier from what `arrays` returned.

        Raises:
            ValueError: A name is that of another kind of file.
            InputError: They are no transformer.
        """
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            for name, content in arrays.items():
                if Path(name).name != name or Path(name).suffix not in _ENDINGS:
                    raise ValueError(f"{name!r} is no part of an encoder")
                Path(folder, name).write_bytes(content.tobytes())
            return cls(folder, use_safetensors=True, local_files_only=True)

    def _inputs(self, texts: Sequence[str]) -> Any:
        return self._tokenizer(
            [encodable(text) for text in texts],
            padding=True,
            truncation=True,
            max_length=MOST_TOKENS,
            return_tensors="pt",
        )
