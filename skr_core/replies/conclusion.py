"""The conclusion of a reply: what follows "the answer is" or "Answer:" (Wei et al. 2022)."""

from __future__ import annotations

import re

from skr_core.patterns import lazy_pattern

# What is said of an answer without giving it: "This answer is supported by [1]".
_REMARK = (
    r"(?![ *_]*(?:(?:not|also|fully|only|directly|clearly|explicitly) )*"
    r"(?:supported|based|derived|found|given|stated|provided|taken|confirmed|mentioned|contained"
    r"|known|available|clear|correct|incorrect|wrong|in (?:the|reference|passage))\b)"
)
_BETWEEN = (
    r"(?:,? (?:then|therefore|thus|here|choice|option|in (?:this|that) case"
    r"|I (?:would )?(?:give|choose|get)|(?:to|for|of) [^.\n]{0,80}?)\b,?)?"
)
CONCLUSION = lazy_pattern(
    r"(?:\b(?:so|thus|therefore|hence),? )?(?:\b(?:the|my|our) )?"
    rf"(?:\b(?:final|correct|right|best|short) )?\banswer{_BETWEEN}[ *_]* "
    r"(?:is|was|would be|should be|must be|will be|has to be)\b"
    rf"[ *_]*:?{_REMARK}(?: ?that\b)?"
    # A label, on a line of its own or at the beginning of a sentence.
    r"|(?:^|(?<=[.!?\n]))[ *_#>]*(?:(?:so|thus|therefore),? )?(?:(?:the|my) )?"
    r"(?:(?:final|correct|best|short) )?answer[ *_]*(?:[:=]|[–—-](?=\s))"
    r"|\bfinal answer[ *_]*:",
    re.IGNORECASE,
)
"""The words that lead to a conclusion, in a text with single spaces; it has no groups."""

_SPACES = lazy_pattern(r"[^\S\n]+")
# A completion of a prompt with demonstrations may go on with a question of its own.
_NEXT_QUESTION = lazy_pattern(r"\n\s*(?:Question|Q):")


def conclusion(text: str) -> str | None:
    """What follows the last "the answer is" of a reply, to its end; None where nothing does.

    A question that the model asks itself behind its answer ends the reply. Bold print is taken off.

    Args:
        text: The reply.

    Example:
        >>> conclusion("A street? No, the answer is (b).")
        '(b).'
        >>> conclusion("**Answer:** Paris")
        'Paris'
        >>> conclusion("Paris.") is None
        True
    """
    said = _NEXT_QUESTION.split(text.strip(), maxsplit=1)[0].replace("**", "")
    _, *concluded = CONCLUSION.split(_SPACES.sub(" ", said))
    found = [each.strip(" \t\n*_:") for each in concluded]
    return next((each for each in reversed(found) if each), None)


def final_answer(text: str) -> str:
    """The first line of a reply's conclusion; the whole reply where it has none.

    Example:
        >>> final_answer("It flows there. So the answer is the Seine.")
        'the Seine.'
        >>> final_answer("The Seine.")
        'The Seine.'
    """
    concluded = conclusion(text)
    if concluded is None:
        return text.strip()
    return concluded.splitlines()[0].strip()
