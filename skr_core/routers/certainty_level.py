"""CertaintyLevelRouter: four levels of certainty from two ways of asking (W2R §5)."""

from __future__ import annotations

from typing import Any, ClassVar

from skr_core.errors import InputError
from skr_core.flow import Flow, gather
from skr_core.models.adapting import AnyModel
from skr_core.routers.confidence import assessment
from skr_core.routers.model_router import ModelRouter, quoted
from skr_core.types import Decision

HIGHEST = 3


class CertaintyLevelRouter(ModelRouter):
    """Asks by Vanilla and by Punish+Explain, side by side, and retrieves at low levels.

    Both uncertain is level 0, only Vanilla uncertain 1, only Vanilla certain 2, both certain 3. The
    levels score 1, 2/3, 1/3 and 0. W2R finds that models lean on references less, the higher it is.

    Args:
        model: The one that would answer.
        threshold: Retrieval happens where the score is above it: 0.5 retrieves at levels 0 and 1,
            0.8 at level 0, 0.2 at all but level 3.

    Raises:
        InputError: The threshold is not between 0 and 1.

    Example:
        >>> from skr_core.testing import ScriptedModel
        >>> router = CertaintyLevelRouter(ScriptedModel(["Paris (certain)"]))
        >>> router.decide("What is the capital of France?").score
        0.0
    """

    kind: ClassVar[str] = "certainty_level"

    def __init__(self, model: AnyModel, *, threshold: float = 0.5) -> None:
        super().__init__(model)
        if not 0 <= threshold <= 1:
            raise InputError(f"threshold must be between 0 and 1, not {threshold}")
        self._threshold = threshold

    def _decision(self, question: str) -> Flow[Decision]:
        vanilla, prudent = yield from gather(
            [
                assessment(self._model, question, "vanilla", answer_needed=False),
                assessment(self._model, question, "punish_explain", answer_needed=False),
            ]
        )
        level = certainty_level(bool(vanilla.certain), bool(prudent.certain))
        score = 1 - level / HIGHEST
        return Decision(
            retrieve=score > self._threshold,
            score=score,
            threshold=self._threshold,
            reason=f"certainty level {level} of {HIGHEST}: "
            f"{quoted(vanilla.said)}, {quoted(prudent.said)}",
            usage=vanilla.usage + prudent.usage,
            draft=prudent.answer or vanilla.answer or "",
        )

    def _parameters(self) -> dict[str, Any]:
        return {"threshold": self._threshold}


def certainty_level(vanilla: bool, prudent: bool) -> int:
    """The level of two statements of certainty, 0 to 3 (W2R §5.1).

    Args:
        vanilla: Certain when asked by Vanilla.
        prudent: Certain when asked by Punish+Explain.

    Example:
        >>> certainty_level(True, False)
        2
    """
    return 2 * vanilla + prudent
