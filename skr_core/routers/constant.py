"""AlwaysRetrieve and NeverRetrieve: the constant policies that every other router must beat."""

from __future__ import annotations

from skr_core.types import Decision


class AlwaysRetrieve:
    """Retrieve for every question.

    Example:
        >>> AlwaysRetrieve().decide("What is the capital of France?").retrieve
        True
    """

    def decide(self, question: str) -> Decision:
        """Retrieve."""
        return Decision(True, reason="every question is retrieved for")

    async def adecide(self, question: str) -> Decision:
        """The same; there is nothing to await."""
        return self.decide(question)


class NeverRetrieve:
    """Answer every question from what the model knows.

    Example:
        >>> NeverRetrieve().decide("What is the capital of France?").retrieve
        False
    """

    def decide(self, question: str) -> Decision:
        """Do not retrieve."""
        return Decision(False, reason="no question is retrieved for")

    async def adecide(self, question: str) -> Decision:
        """The same; there is nothing to await."""
        return self.decide(question)
