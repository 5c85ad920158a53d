"""What stands before an answer whose likelihood is asked for (TrustMargin, arXiv 2606.08397)."""

from __future__ import annotations

from collections.abc import Sequence

from skr_core.prompts.parts import number_references, one_line
from skr_core.types import Reference

GIVEN = "Use the passages below to answer the question.\n\n{references}\n\n"
"""Before the question where there are references; in the paper's words, but for our fences."""


def before_answer(
    question: str = "",
    references: Sequence[Reference] = (),
    *,
    metadata_keys: Sequence[str] = (),
) -> str:
    """A prompt that a completion model goes on with an answer after.

    Args:
        question: Empty where the references alone are given: their prompt keeps its form.
        references: Empty where the question alone is.
        metadata_keys: What of the references' metadata is shown.

    Example:
        >>> before_answer("Who wrote Emma?")
        'Question: Who wrote Emma?\\nAnswer:'
        >>> before_answer("", [Reference.of("Jane Austen wrote Emma.")])[-18:]
        'Question: \\nAnswer:'
    """
    shown = ""
    if references:
        shown = GIVEN.format(references=number_references(references, metadata_keys))
    return f"{shown}Question: {one_line(question)}\nAnswer:"
