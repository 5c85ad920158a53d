"""The answer of a reply as it comes, from the first word behind its verdict's line on."""

from __future__ import annotations

from skr_core.replies.answer_text import AnswerText
from skr_core.replies.refusal import begins_with_refusal
from skr_core.replies.reply import Reply, read_reply
from skr_core.replies.thoughts import HEAD, ThoughtFilter
from skr_core.replies.tokens import leading_verdict

_SETTLING = 8
"""Characters behind a token on its line, after which they are known to be an answer."""


class VerdictStream:
    """Passes on the answer of a sufficient reply, piece by piece, and nothing that is taken back.

    What is passed on adds up to a beginning of the reply's text. Nothing is passed on of a reply
    that does not begin with SUFFICIENT: whether it is the answer is known at its end. Nor is an
    answer whose first sentence may refuse. How the reply is cut makes no difference.

    Args:
        n_references: How many references the prompt numbered, from 1.

    Attributes:
        verdict: What the reply's first line states, as soon as it is known; None before, and where
            it states nothing.
        undecided: Whether the verdict's line, or its absence, is still to come.

    Example:
        >>> stream = VerdictStream(1)
        >>> list(map(stream.write, ["SUFF", "ICIENT\\nLy", "on [1].", "\\n"]))
        ['', 'Ly', 'on [1].', '']
        >>> stream.verdict, stream.finish().text
        (True, 'Lyon [1].')
    """

    def __init__(self, n_references: int) -> None:
        self.verdict: bool | None = None
        self.undecided = True
        self._count = n_references
        self._raw: list[str] = []
        self._thoughts = ThoughtFilter()
        self._head = ""
        self._answer = AnswerText()
        self._opening = ""  # of the answer, while it may refuse
        self._passes: bool | None = None

    def write(self, piece: str) -> str:
        """Take the next piece, and give what is to be passed on."""
        self._raw.append(piece)
        said = self._thoughts.write(piece)
        if self.undecided or self.verdict is None:
            said = self._decide(said)
        if not self.verdict or not said or self._passes is False:
            return ""
        answer = self._answer.write(said)
        if self._passes:
            return answer
        self._opening += answer
        refuses = begins_with_refusal(self._opening)
        if refuses is not None and self._opening:
            self._passes = not refuses
        if not self._passes:
            return ""
        answer, self._opening = self._opening, ""
        return answer

    def finish(self) -> Reply:
        """The reply has ended: what it says. What has not been passed on ends its text."""
        self.undecided = False
        return read_reply("".join(self._raw), self._count)

    def _decide(self, said: str) -> str:
        """Look for the verdict in the reply's first lines, and give what stands behind it."""
        if self._thoughts.restarted:
            self._head, self.undecided = "", True
        if not self.undecided:
            return ""
        self._head = (self._head + said).lstrip()
        leading = leading_verdict(self._head)
        if leading is None:
            self.undecided = len(self._head) <= HEAD and not _is_settled(self._head)
            return ""
        verdict, end = leading
        is_ended = self._head[:end].endswith("\n")
        if not is_ended and len(verdict.rest) < _SETTLING:
            return ""
        self.verdict, self.undecided = verdict.sufficient, False
        line = f"{verdict.rest}\n" if is_ended and verdict.rest else verdict.rest
        return f"{line}{self._head[end:]}"


def _is_settled(head: str) -> bool:
    """Whether a beginning without a verdict has a whole line that is none."""
    return "\n" in head and leading_verdict(f"{head}\nSUFFICIENT\n") is None
