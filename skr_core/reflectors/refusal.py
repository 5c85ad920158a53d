"""RefusalReflector: the model already said whether the references suffice."""

from __future__ import annotations

from collections.abc import Sequence

from skr_core.replies.refusal import is_refusal
from skr_core.types import Reference, Reflection


class RefusalReflector:
    """Reads the refusal sentence from the draft (RaLLM §5.1); costs no call.

    Example:
        >>> RefusalReflector().reflect("Who?", [], "Ada Lovelace [1].").sufficient
        True
    """

    name = "refusal"

    def reflect(self, question: str, references: Sequence[Reference], draft: str) -> Reflection:
        """Insufficient exactly when the draft is a refusal."""
        if is_refusal(draft):
            return Reflection(False, "the model finds the references insufficient")
        return Reflection(True, "the model answered from the references")

    async def areflect(
        self, question: str, references: Sequence[Reference], draft: str
    ) -> Reflection:
        """The same; nothing is awaited, because nothing is called."""
        return self.reflect(question, references, draft)
