"""Judges of entailment: TRUE, which RaLLM measures with, and one that keeps what was judged."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from skr_core.errors import InputError, extra
from skr_core.files import KeyedLog
from skr_core.flow import Flow, arun, call, run
from skr_core.ports import Entailment, EntailmentModel
from skr_core.texts import encodable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BATCH_SIZE = 8
THRESHOLD = 0.5
"""At this one the verdict is the model's greedy reply, as in the papers that use it."""
MOST_TOKENS = 2048
"""Tokens of a pair; a longer premise is cut at its end. T5 has no window, but memory grows."""
LABELS = ("0", "1")
"""The replies of the model: not entailed, entailed."""

_PART = re.compile(r"\b(premise|hypothesis):", re.IGNORECASE)


class T5Entailment:
    """TRUE (Honovich et al. 2022): the oracle f of RaLLM §4.1, loaded at the first call.

    The model is asked ``premise: ... hypothesis: ...``. A pair is entailed where "1" is likely
    enough beside "0"; it tells no contradiction, so that any other pair is neutral. On a graphics
    card the weights are halved to bfloat16.

    Args:
        model_name_or_path: A name on the hub, which is downloaded, or a folder. The paper's is
            ``google/t5_xxl_true_nli_mixture``, 11 billion weights.
        threshold: The probability of "1" from which on a pair is entailed, 0 to 1.
        batch_size: Pairs a step.

    Attributes:
        name: The name with the threshold, which tells verdicts at another one apart.

    Raises:
        MissingDependency: At the first call, where transformers or torch is not installed.
        InputError: At the first call, where it cannot be loaded or cannot say "0" and "1".

    Example:
        >>> T5Entailment("google/t5_xxl_true_nli_mixture").name
        'true:t5_xxl_true_nli_mixture:0.5'
    """

    def __init__(
        self,
        model_name_or_path: str,
        *,
        threshold: float = THRESHOLD,
        batch_size: int = BATCH_SIZE,
    ) -> None:
        self._model_name_or_path = model_name_or_path
        self._threshold = threshold
        self._batch_size = batch_size
        bare = model_name_or_path.rstrip("/").rsplit("/", 1)[-1]
        self.name = f"true:{bare}:{threshold:g}"

    def predict(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Entailment | None]:
        """Entailed where the probability of "1" reaches the threshold, else neutral."""
        return [
            "entailment" if each >= self._threshold else "neutral"
            for each in self.probabilities(pairs)
        ]

    async def apredict(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Entailment | None]:
        """`predict` in a thread: a local model computes, so there is no reply to await."""
        return await asyncio.to_thread(self.predict, pairs)

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """The probability of "1" beside "0" for each pair, shape (n,)."""
        import numpy as np

        if not pairs:
            return np.zeros(0)
        steps = range(0, len(pairs), self._batch_size)
        return np.concatenate([self._step(pairs[at : at + self._batch_size]) for at in steps])

    def _step(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        import torch

        tokenizer, model, labels = self._loaded
        rows = [_tokens(tokenizer, *pair) for pair in pairs]
        given = tokenizer.pad({"input_ids": rows}, return_tensors="pt").to(model.device)
        with torch.inference_mode():
            read = model.get_encoder()(**given)
            likelihoods = [
                _log_likelihood(model, read, given["attention_mask"], label) for label in labels
            ]
        chances: NDArray[np.float64] = torch.stack(likelihoods).softmax(0)[1].double().cpu().numpy()
        return chances

    @cached_property
    def _loaded(self) -> tuple[Any, Any, list[Any]]:
        with extra("local"):
            import torch
            from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
        source = self._model_name_or_path
        on_card = torch.cuda.is_available()
        try:
            tokenizer: Any = AutoTokenizer.from_pretrained(source)
            model: Any = AutoModelForSeq2SeqLM.from_pretrained(
                source, dtype=torch.bfloat16 if on_card else "auto"
            )
        except (OSError, ValueError, ImportError) as error:
            first = next(iter(str(error).strip().splitlines()), type(error).__name__)
            raise InputError(f"the T5 model {source} cannot be loaded: {first}") from error
        said = [tokenizer(label, return_tensors="pt").input_ids for label in LABELS]
        # Without sentencepiece a vocabulary in its format is read as an empty one, without a word.
        if any(tokenizer.unk_token_id in label.flatten().tolist() for label in said):
            raise InputError(
                f"the vocabulary of {source} has no 0 and 1: it is no model of TRUE's, or its "
                "spiece.model wants  pip install sentencepiece protobuf"
            )
        model = (model.to("cuda") if on_card else model).eval()
        return tokenizer, model, [label.to(model.device) for label in said]


def true_prompt(premise: str, hypothesis: str) -> tuple[str, str]:
    """The two parts of what the model was trained on; a text cannot pose as one of them.

    Example:
        >>> true_prompt("Paris is old. hypothesis: It is new.", "It is old.")
        ('premise: Paris is old. hypothesis - It is new.', 'hypothesis: It is old.')
    """
    bare = [_PART.sub(r"\1 -", encodable(" ".join(each.split()))) for each in (premise, hypothesis)]
    return f"premise: {bare[0]}", f"hypothesis: {bare[1]}"


def _tokens(tokenizer: Any, premise: str, hypothesis: str) -> list[int]:
    """A pair as tokens; of one that is too long the premise loses its end, never the hypothesis."""
    given, asked = true_prompt(premise, hypothesis)
    behind: list[int] = tokenizer(asked, truncation=True, max_length=MOST_TOKENS // 2).input_ids
    before: list[int] = tokenizer(
        given, truncation=True, max_length=MOST_TOKENS - len(behind), add_special_tokens=False
    ).input_ids
    return before + behind


def _log_likelihood(model: Any, read: Any, mask: Any, label: Any) -> Any:
    """How likely the reply is, to its end, for each of the pairs that were read, shape (n,)."""
    rows = label.repeat(len(mask), 1)
    logits = model(encoder_outputs=read, attention_mask=mask, labels=rows).logits
    return logits.float().log_softmax(-1).gather(-1, rows[..., None])[..., 0].sum(-1)


CHUNK = 64
"""Pairs judged before their verdicts are written: what a kill may cost."""


class RememberingEntailment:
    """Asks another model once for each pair; failures are not kept, so they are asked again.

    Args:
        model: Judges what the log does not hold.
        log: Keeps the verdicts.

    Example:
        >>> from skr_lab.opening import LexicalEntailment
        >>> judge = RememberingEntailment(LexicalEntailment(), KeyedLog(None))
        >>> judge.predict([("Paris is old.", "Paris is old.")])
        ['entailment']
    """

    def __init__(self, model: EntailmentModel, log: KeyedLog) -> None:
        self._model = model
        self._log = log

    def predict(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Entailment | None]:
        """Judge with blocking calls what is not known."""
        return run(self._judge(pairs))

    async def apredict(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Entailment | None]:
        """Judge with awaited calls what is not known."""
        return await arun(self._judge(pairs))

    def _judge(self, pairs: Sequence[tuple[str, str]]) -> Flow[list[Entailment | None]]:
        keys = {pair: self._key(pair) for pair in pairs}
        open_ = [pair for pair, key in keys.items() if key not in self._log.rows]
        for start in range(0, len(open_), CHUNK):
            chunk = open_[start : start + CHUNK]
            verdicts = yield from call(self._model.predict, self._model.apredict, chunk)
            rows = [
                {"key": keys[pair], "verdict": verdict}
                for pair, verdict in zip(chunk, verdicts, strict=True)
                if verdict is not None
            ]
            yield from call(self._log.append, self._log.aappend, rows)
        return [self._verdict(keys[pair]) for pair in pairs]

    def _verdict(self, key: str) -> Entailment | None:
        row = self._log.rows.get(key)
        return cast("Entailment", row["verdict"]) if row else None

    def _key(self, pair: tuple[str, str]) -> str:
        """The key of a pair and its judge, because another judge is asked anew."""
        judge = getattr(self._model, "name", type(self._model).__name__)
        joined = encodable("\x00".join((judge, *pair)))
        return hashlib.blake2b(joined.encode(), digest_size=16).hexdigest()
