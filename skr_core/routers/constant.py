"""AlwaysRetrieve and NeverRetrieve, the policies every other router must beat; FixedDecision."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from skr_core.types import Action, Decision

if TYPE_CHECKING:
    from skr_core.routers.saving import SavedRouter


class _ConstantRouter:
    kind: ClassVar[str]

    def decide(self, question: str) -> Decision:
        """Make the same decision for every question."""
        raise NotImplementedError

    async def adecide(self, question: str) -> Decision:
        """Async version of `decide`."""
        return self.decide(question)

    def save(self, path: str | Path) -> None:
        """Write the router to a file: calibration recommends one where routing does not pay."""
        from skr_core.routers.saving import SavedRouter

        SavedRouter(self.kind, self._parameters()).write(path)

    @classmethod
    def load(cls, path: str | Path | SavedRouter, **_: Any) -> Self:
        """Read a router that `save` wrote; it holds for any model, retriever and embedder.

        Raises:
            InputError: There is no such router.
            DataError: Its file is broken.
        """
        from skr_core.routers.saving import SavedRouter

        saved = SavedRouter.read(path, cls.kind)
        with saved.unpacking():
            return cls(**saved.parameters)

    def _parameters(self) -> dict[str, Any]:
        return {}


class AlwaysRetrieve(_ConstantRouter):
    """Retrieve for every question.

    Args:
        max_rounds: The rounds of retrieval allowed: 1 is single shot, None leaves them to the
            budget.

    Example:
        >>> AlwaysRetrieve().decide("What is the capital of France?").retrieve
        True
    """

    kind: ClassVar[str] = "always"

    def __init__(self, *, max_rounds: int | None = None) -> None:
        self._max_rounds = max_rounds

    def decide(self, question: str) -> Decision:
        """Retrieve."""
        once = " once" if self._max_rounds == 1 else ""
        reason = f"every question is retrieved for{once}"
        return Decision(True, max_rounds=self._max_rounds, reason=reason)

    def _parameters(self) -> dict[str, Any]:
        return {} if self._max_rounds is None else {"max_rounds": self._max_rounds}


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


def constant_router(action: Action) -> AlwaysRetrieve | NeverRetrieve:
    """Make the router that takes one action for every question.

    Example:
        >>> constant_router("single").decide("Who wrote Emma?").max_rounds
        1
    """
    if action == "direct":
        return NeverRetrieve()
    return AlwaysRetrieve(max_rounds=1 if action == "single" else None)


class FixedDecision:
    """Repeats a decision: for a run whose router was asked already.

    Args:
        decision: The decision that every question gets.

    Example:
        >>> FixedDecision(Decision(True, max_rounds=1)).decide("Who directed Jaws?").max_rounds
        1
    """

    def __init__(self, decision: Decision) -> None:
        self._decision = decision

    def decide(self, question: str) -> Decision:
        """Return the decision."""
        return self._decision

    async def adecide(self, question: str) -> Decision:
        """Async version of `decide`."""
        return self._decision
