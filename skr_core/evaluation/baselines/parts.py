"""What the baselines share: one flow in both colours, and the answer at a reasoning's end."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from skr_core.flow import Flow, arun, run
from skr_core.references.citations import resolve_citations
from skr_core.types import Answer, Decision, Reference, Round, Usage

AnswerFlow = Callable[[str], Flow[Answer]]

_CONCLUSION = re.compile(
    r"\b(?:so\s+|thus,?\s+|therefore,?\s+)?(?:the\s+)?(?:final\s+)?answer(?:\s+is\b|:)\s*:?",
    re.IGNORECASE,
)


class FlowAnswerer:
    """A flow from question to answer as a `QuestionAnswerer`.

    Example:
        >>> from skr_core.testing import ScriptedModel
        >>> from skr_core.evaluation.baselines.direct import zero_shot
        >>> model = ScriptedModel(["Paris"])
        >>> FlowAnswerer(lambda question: zero_shot(model, question)).answer("Capital?").text
        'Paris'
    """

    def __init__(self, flow: AnswerFlow) -> None:
        self._flow = flow

    def answer(self, question: str) -> Answer:
        """Answer with blocking calls."""
        return run(self._flow(question))

    async def aanswer(self, question: str) -> Answer:
        """Answer with awaited calls."""
        return await arun(self._flow(question))


def final_answer(reasoning: str) -> str:
    """What follows the last "the answer is", on its line; the whole text where nothing does.

    Example:
        >>> final_answer("It flows there. So the answer is the Seine.")
        'the Seine.'
    """
    *before, said = _CONCLUSION.split(reasoning.strip())
    lines = said.strip().splitlines()
    return lines[0].strip() if before and lines else reasoning.strip()


def concluded(
    question: str,
    reasoning: str,
    usage: Mapping[str, Usage],
    references: Sequence[Reference] = (),
    rounds: Sequence[Round] = (),
) -> Answer:
    """An answer from a finished reasoning; its citations name the references."""
    cited = resolve_citations(final_answer(reasoning), references)
    return Answer(
        question=question,
        text=cited.text,
        citations=cited.citations,
        references=tuple(references),
        decision=Decision(bool(rounds), reason="a baseline decides nothing"),
        rounds=tuple(rounds),
        stop_reason="sufficient" if rounds else "known",
        usage=usage,
        removed_markers=cited.removed,
    )


def round_of(query: str, found: Sequence[Reference], draft: str = "") -> Round:
    """One search as a round."""
    ids = tuple(each.id for each in found)
    return Round((query,), ids, ids, draft)


def spend(spent: dict[str, Usage], task: str, usage: Usage) -> None:
    """Add what a call cost to what a task has cost."""
    spent[task] = spent.get(task, Usage()) + usage
