"""LexicalEntailment: shared words as a baseline for entailment, without a model."""

from __future__ import annotations

from collections.abc import Sequence

from skr_app.extractive.text import content_words
from skr_core.ports import Entailment
from skr_core.texts import straight_quotes

THRESHOLD = 0.8
_NEGATIONS = {"not", "no", "never", "none", "nobody", "neither", "nor", "without", "cannot"}


class LexicalEntailment:
    """Entailed where the premise holds most of the hypothesis' content words.

    A baseline: it reads no meaning. Where one side negates and the other does not, it says
    contradiction; use an NLI model or a judge for figures that go out.

    Args:
        threshold: Share of the hypothesis' content words that the premise must hold, 0 to 1.

    Example:
        >>> pair = ("Paris is the capital of France.", "Paris is a capital.")
        >>> LexicalEntailment().predict([pair])
        ['entailment']
    """

    name = "lexical"

    def __init__(self, threshold: float = THRESHOLD) -> None:
        self._threshold = threshold

    def predict(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Entailment | None]:
        """Compare words."""
        return [self._verdict(*pair) for pair in pairs]

    async def apredict(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Entailment | None]:
        """The same; it has nothing to wait for."""
        return self.predict(pairs)

    def _verdict(self, premise: str, hypothesis: str) -> Entailment:
        given, wanted = set(content_words(premise)), set(content_words(hypothesis))
        if not wanted or len(wanted & given) < self._threshold * len(wanted):
            return "neutral"
        return "entailment" if _negates(premise) == _negates(hypothesis) else "contradiction"


def _negates(text: str) -> bool:
    words = straight_quotes(text).lower().split()
    return any(word.strip(".,;:!?") in _NEGATIONS or "n't" in word for word in words)
