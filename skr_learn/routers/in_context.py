"""InContextRouter: asks the model after showing it what it knew before (SKR §3.2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, zip_longest
from typing import Any, ClassVar, Self

from skr_core.answering import generate
from skr_core.errors import InputError
from skr_core.flow import Flow
from skr_core.models.adapting import AnyModel
from skr_core.prompts.routing import NEED_TEMPLATES, NEEDS_MORE, NEEDS_NOTHING, ask_need
from skr_core.routers.model_routers import ModelRouter, decision_of
from skr_core.types import Decision, Demonstration
from skr_learn.records import Record

DEMONSTRATIONS = 4
"""SKR §4 sets four demonstrations in its few-shot prompts."""


class InContextRouter(ModelRouter):
    """Asks whether help is needed, after questions for which the answer is on record.

    Args:
        model: The model that would answer.
        known: The questions that it has answered right by itself.
        unknown: The questions that it needed references for.

    Raises:
        InputError: One of the two is empty: one kind alone teaches the model a single answer.

    Example:
        >>> from skr_core.testing import ScriptedModel
        >>> model = ScriptedModel(["Yes, I need additional information."])
        >>> router = InContextRouter(model, known=["Who wrote Emma?"], unknown=["Who is our CFO?"])
        >>> router.decide("Who is our CEO?").retrieve
        True
    """

    kind: ClassVar[str] = "in_context"

    def __init__(self, model: AnyModel, *, known: Sequence[str], unknown: Sequence[str]) -> None:
        super().__init__(model)
        if not known or not unknown:
            raise InputError("give at least one known and one unknown question to show the model")
        self._known, self._unknown = tuple(known), tuple(unknown)
        # In turn, because a model leans towards the answer that it saw last and most.
        shown = zip_longest(
            (Demonstration(question, NEEDS_NOTHING) for question in self._known),
            (Demonstration(question, NEEDS_MORE) for question in self._unknown),
        )
        self._demonstrations = tuple(filter(None, chain.from_iterable(shown)))

    @classmethod
    def from_records(
        cls,
        model: AnyModel,
        records: Iterable[Record],
        *,
        n: int = DEMONSTRATIONS,
    ) -> Self:
        """Show questions from records, as many known as unknown.

        They are taken at even distances from all of each kind. Records that no answer got
        right are left out, as SKR §3.1 does.

        Args:
            model: The model that the records are about.
            records: The records.
            n: How many questions are shown.

        Raises:
            InputError: The records hold only one kind, or `n` is below 2.

        Example:
            >>> from skr_core.testing import ScriptedModel
            >>> known = Record.of("Who wrote Emma?", direct=("Jane", 1), loop=("Bob", 0))
            >>> unknown = Record.of("Who is our CFO?", direct=("Bob", 0), loop=("Ada", 1))
            >>> router = InContextRouter.from_records(ScriptedModel(["No."]), [known, unknown])
            >>> router.decide("Who wrote Persuasion?").retrieve
            False
        """
        if n < 2:
            raise InputError(f"n must be at least 2, one known and one unknown, not {n}")
        judged = [record for record in records if not record.all_wrong]
        known = [record.question for record in judged if record.known]
        unknown = [record.question for record in judged if not record.known]
        return cls(model, known=_spread(known, n - n // 2), unknown=_spread(unknown, n // 2))

    def _decision(self, question: str) -> Flow[Decision]:
        template = NEED_TEMPLATES[0]
        prompt = ask_need(question, template, self._demonstrations)
        reply = yield from generate(self._model, prompt)
        return decision_of(reply, template)

    def _parameters(self) -> dict[str, Any]:
        return {"known": list(self._known), "unknown": list(self._unknown)}


def _spread(questions: Sequence[str], n: int) -> list[str]:
    """At most n of the questions, at even distances."""
    n = min(n, len(questions))
    return [questions[place * len(questions) // n] for place in range(n)]
