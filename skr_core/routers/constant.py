"""AlwaysRetrieve and NeverRetrieve, the policies every other router must beat; FixedDecision."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self

from skr_core.errors import InputError
from skr_core.routers.saving import SavedRouter, read_router
from skr_core.types import Decision


class _ConstantRouter:
    kind: ClassVar[str]

    def save(self, path: str | Path) -> None:
        """Write the router to a folder: calibration recommends one where routing does not pay."""
        SavedRouter(self.kind, {}, {}).write(path)

    @classmethod
    def load(cls, path: str | Path, **_: Any) -> Self:
        """Read a router that `save` wrote; it holds for any model, retriever and embedder.

        Raises:
            InputError: There is no such router.
        """
        kind = read_router(path).kind
        if kind != cls.kind:
            raise InputError(f"{path} holds a {kind} router, not a {cls.kind} router")
        return cls()


class AlwaysRetrieve(_ConstantRouter):
    """Retrieve for every question.

    Example:
        >>> AlwaysRetrieve().decide("What is the capital of France?").retrieve
        True
    """

    kind: ClassVar[str] = "always"

    def decide(self, question: str) -> Decision:
        """Retrieve."""
        return Decision(True, reason="every question is retrieved for")

    async def adecide(self, question: str) -> Decision:
        """The same; there is nothing to await."""
        return self.decide(question)


class NeverRetrieve(_ConstantRouter):
    """Answer every question from what the model knows.

    Example:
        >>> NeverRetrieve().decide("What is the capital of France?").retrieve
        False
    """

    kind: ClassVar[str] = "never"

    def decide(self, question: str) -> Decision:
        """Do not retrieve."""
        return Decision(False, reason="no question is retrieved for")

    async def adecide(self, question: str) -> Decision:
        """The same; there is nothing to await."""
        return self.decide(question)


class FixedDecision:
    """Decides as was decided before: for a run whose router was asked already.

    Args:
        decision: What every question gets.

    Example:
        >>> FixedDecision(Decision(True, max_rounds=1)).decide("Who directed Jaws?").max_rounds
        1
    """

    def __init__(self, decision: Decision) -> None:
        self._decision = decision

    def decide(self, question: str) -> Decision:
        """The decision."""
        return self._decision

    async def adecide(self, question: str) -> Decision:
        """The same; there is nothing to await."""
        return self._decision
