"""NLI cross-encoders of sentence-transformers: entailment by a model made for it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from skr_core._compat import cached_property
from skr_core.errors import InputError, extra
from skr_core.models.embedders import one_thread_in_children
from skr_core.ports import Entailment
from skr_core.texts import encodable

BATCH_SIZE = 32
# How models on the hub name their classes; the beginning of the name decides.
_NAMES: dict[str, Entailment] = {
    "entail": "entailment",
    "not_entail": "neutral",
    "not entail": "neutral",
    "neutral": "neutral",
    "contradict": "contradiction",
}


class CrossEncoderEntailment:
    """An NLI model, loaded at the first call; the order of its labels is read from its config.

    A pair longer than the model's window is cut by its tokenizer, at the premise first where that
    is the longer one.

    Args:
        model_name_or_path: A name on the hub, which is downloaded, or a folder; for example
            ``cross-encoder/nli-deberta-v3-base``.
        batch_size: The pairs of a step.

    Raises:
        MissingDependency: sentence-transformers is not installed; raised at the first call.
        InputError: It cannot be loaded or its labels are not those of NLI; raised at the first
            call.

    Example:
        >>> CrossEncoderEntailment("cross-encoder/nli-deberta-v3-base").name
        'nli:nli-deberta-v3-base'
    """

    def __init__(self, model_name_or_path: str, *, batch_size: int = BATCH_SIZE) -> None:
        self._model_name_or_path = model_name_or_path
        self._batch_size = batch_size
        self.name = f"nli:{model_name_or_path.rstrip('/').rsplit('/', 1)[-1]}"

    def predict(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Entailment | None]:
        """Return the likeliest label of each pair."""
        if not pairs:
            return []
        model, labels = self._loaded
        logits = model.predict(
            [(encodable(premise), encodable(hypothesis)) for premise, hypothesis in pairs],
            batch_size=self._batch_size,
            show_progress_bar=False,
            convert_to_numpy=True,
        )
        return [labels[int(place)] for place in logits.argmax(axis=1)]

    async def apredict(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Entailment | None]:
        """Async version of `predict`, in a thread, because a local model computes."""
        return await asyncio.to_thread(self.predict, pairs)

    @cached_property
    def _loaded(self) -> tuple[Any, dict[int, Entailment]]:
        with extra("local"):
            from sentence_transformers import CrossEncoder
        one_thread_in_children()
        try:
            model = CrossEncoder(self._model_name_or_path)
        except (OSError, ValueError) as error:
            first = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise InputError(
                f"the NLI model {self._model_name_or_path} cannot be loaded: {first}"
            ) from error
        return model, label_order(model.config.id2label, self._model_name_or_path)


def label_order(id2label: Mapping[Any, str], source: str = "the model") -> dict[int, Entailment]:
    """Return which output means what, by the names that a model's config gives its outputs.

    Raises:
        InputError: A name is none of NLI's, or none of them is entailment.

    Example:
        >>> label_order({0: "CONTRADICTION", 1: "entailment", 2: "neutral"})[1]
        'entailment'
    """
    order: dict[int, Entailment] = {}
    for place, name in id2label.items():
        bare = str(name).strip().lower()
        found = next((label for start, label in _NAMES.items() if bare.startswith(start)), None)
        if found is None:
            raise InputError(
                f"{source} names an output {name!r}: an NLI model names entailment, neutral and "
                "contradiction in its config's id2label"
            )
        order[int(place)] = found
    if "entailment" not in order.values():
        raise InputError(f"{source} has no output for entailment")
    return order
