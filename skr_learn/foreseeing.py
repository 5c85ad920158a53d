"""What asking questions will cost, said before the first is asked: no model is called for it.

Some of the questions are searched for, and their prompts are written as the graph writes those of
the first round; the length of replies is assumed. How many rounds a question takes nobody knows
before, so the costs are a range, from one round each to all that the settings allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from statistics import fmean

from skr_core.budget import Price, cost, estimate_usage
from skr_core.errors import RetrieverError
from skr_core.flow import Flow, arun, call, gather, run
from skr_core.models.windows import UNKNOWN_MODEL
from skr_core.prompts import asking as prompts
from skr_core.questions import Question
from skr_core.references import pack_references
from skr_core.reflectors import RefusalReflector
from skr_core.settings import Settings
from skr_core.types import NO_USAGE, Action, Prompt, Reference, Usage

SAMPLE = 8
"""Questions that are searched for; their passages are about as long as those of all."""
REPLY = 60
"""Tokens of a reply, with its verdict; a model that thinks aloud writes more."""
STATEMENT = 6
"""Calls by which a router asks the model, at most: an answer and five samples."""


@dataclass(frozen=True)
class Foreseen:
    """What asking will cost, at least and at most.

    Attributes:
        questions: The number of questions that are asked.
        least: What is spent where every question takes one round.
        most: What is spent where every question takes all rounds.
    """

    questions: int
    least: Usage
    most: Usage

    def sentence(self, price: Price | None = None) -> str:
        """The cost in words.

        Args:
            price: The price of the model's tokens; None says nothing of money.

        Example:
            >>> twice = Usage(1_080_000, 36_000, calls=600), Usage(2_100_000, 66_000, calls=1_100)
            >>> Foreseen(300, *twice).sentence(Price(0.4, 1.6))
            '300 questions: 600 to 1,100 calls, 1.1 to 2.2 million tokens, 0.49 to 0.95 USD'
        """
        calls = _range(f"{self.least.calls:,}", f"{self.most.calls:,}")
        tokens = [each.total_tokens for each in (self.least, self.most)]
        if tokens[1] >= 1_000_000:
            said = f"{_range(*(f'{each / 1_000_000:.1f}' for each in tokens))} million"
        else:
            said = _range(*(f"{round(each, -2):,}" for each in tokens))
        parts = [f"{calls} calls", f"{said} tokens"]
        if price is not None:
            spent = (f"{cost(each, price):.2f}" for each in (self.least, self.most))
            parts.append(f"{_range(*spent)} USD")
        noun = "question" if self.questions == 1 else "questions"
        return f"{self.questions:,} {noun}: {', '.join(parts)}"


Due = Sequence[tuple[Question, Action | None]]
"""Questions that are still to be asked, each by an action; None is what the router decides."""

Range = tuple[int, int]
"""At least, and at most."""


def foresee(
    settings: Settings, due: Due, *, verdicts: Range = (0, 0), statements: int = 0
) -> Foreseen:
    """Foresee what asking costs.

    Args:
        settings: The settings of the system.
        due: The questions that are asked, by which actions.
        verdicts: The number of verdicts of a judge.
        statements: How often a router is asked about a question.

    Example:
        >>> from skr_core.budget import Budget
        >>> from skr_core.testing import ScriptedModel
        >>> settings = Settings(ScriptedModel(), budget=Budget(max_rounds=2))
        >>> who = Question("1", "Who?", ("Ada",))
        >>> foreseen = foresee(settings, [(who, "direct"), (who, "loop")])
        >>> foreseen.least.calls, foreseen.most.calls
        (2, 4)
    """
    return run(_foreseen(settings, due, verdicts, statements))


async def aforesee(
    settings: Settings, due: Due, *, verdicts: Range = (0, 0), statements: int = 0
) -> Foreseen:
    """Async version of `foresee`."""
    return await arun(_foreseen(settings, due, verdicts, statements))


def _foreseen(settings: Settings, due: Due, verdicts: Range, statements: int) -> Flow[Foreseen]:
    settings = settings.of_run({})
    sample = [question for question, _ in due[:: max(1, len(due) // SAMPLE)][:SAMPLE]]
    shown = yield from gather(_prompts(settings, each) for each in sample)
    closed, read = (
        fmean([estimate_usage(pair[place], "").prompt_tokens for pair in shown] or [0])
        for place in (0, 1)
    )
    rounds, direct, first = settings.budget.max_rounds, _calls(1, closed), _calls(1, read)
    if settings.decompose:
        first += _calls(1, closed)
    judging = not isinstance(settings.reflector, RefusalReflector)
    anyway = settings.when_insufficient == "own_knowledge"
    # A further round asks for queries, where no verdict named them, and answers anew.
    loop = first + _calls(2 * (rounds - 1) + judging * rounds + anyway, read)
    ends: dict[Action | None, tuple[Usage, Usage]] = {
        "direct": (direct, direct),
        "single": (first, first + _calls(judging + anyway, read)),
        "loop": (first, loop),
        None: (direct, loop + _calls(1 + STATEMENT, closed)),
    }
    least, most = (
        sum((ends[action][end] for _, action in due), NO_USAGE)
        + _calls(verdicts[end], closed + 2 * REPLY)
        + _calls(statements * (1, STATEMENT)[end], closed)
        for end in (0, 1)
    )
    return Foreseen(len({question.asked for question, _ in due}), least, most)


def _prompts(settings: Settings, question: Question) -> Flow[tuple[Prompt, Prompt]]:
    """The prompts that ask a question without references and, in the first round, with them."""
    asked, given = question.asked, settings.demonstrations
    found: Sequence[Reference] = ()
    if (searched := settings.retriever or settings.reference_store) is not None:
        with suppress(RetrieverError):  # as a question that fails, which is told of when it does
            found = yield from call(searched.retrieve, searched.aretrieve, asked)
    budget, keys = settings.budget, settings.metadata_keys
    most = budget.max_reference_tokens or UNKNOWN_MODEL
    packed = pack_references(found[: budget.max_references], most, metadata_keys=keys)
    reading = prompts.answer_with_references(
        asked, packed.references, given, templates=settings.templates, metadata_keys=keys
    )
    return prompts.answer_directly(asked, given, templates=settings.templates), reading


def _calls(number: int, tokens: float) -> Usage:
    return Usage(round(number * tokens), number * REPLY, calls=number, estimated=True)


def _range(least: str, most: str) -> str:
    return least if least == most else f"{least} to {most}"
