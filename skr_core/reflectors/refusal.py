"""RefusalReflector: the model already said whether the references suffice."""

from __future__ import annotations

from collections.abc import Sequence

from skr_core.replies.reply import Reply, read_reply
from skr_core.types import Reference, Reflection


class RefusalReflector:
    """Reads the verdict from the model's own reply (RaLLM §5.1); costs no call.

    Example:
        >>> from skr_core.types import Reference
        >>> known = [Reference.of("It was Ada Lovelace.")]
        >>> RefusalReflector().reflect("Who?", known, "Ada Lovelace [1].").sufficient
        True
        >>> RefusalReflector().reflect("Who?", known, "Ada Lovelace.").sufficient
        False
    """

    name = "refusal"

    def reflect(self, question: str, references: Sequence[Reference], draft: str) -> Reflection:
        """Sufficient where the draft says so or cites a reference, and names no gap."""
        return judge_reply(read_reply(draft, len(references)))

    async def areflect(
        self, question: str, references: Sequence[Reference], draft: str
    ) -> Reflection:
        """The same; nothing is awaited, because nothing is called."""
        return self.reflect(question, references, draft)


def judge_reply(reply: Reply, *, must_cite: bool = True) -> Reflection:
    """What a reply says of its references.

    Args:
        reply: As it was read.
        must_cite: Whether an answer has to cite a reference to be sufficient. Without, whatever
            does not refuse is.

    Example:
        >>> judge_reply(Reply(True, "Paris.", stated=True)).reason
        'the answer cites none of the references'
    """
    if reply.sufficient is False:
        return Reflection(False, "the model finds the references insufficient", reply.missing)
    if must_cite and not reply.cites:
        return Reflection(False, "the answer cites none of the references")
    return Reflection(True, "the model answered from the references")
