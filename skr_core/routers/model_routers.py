"""Routers that ask the model itself, and what they have in common.

`PromptRouter` asks whether it needs help (SKR §3.2, Direct Prompting); `UncertaintyRouter` looks at
how sure it is of its tokens, or how well its samples agree.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar, Self

from skr_core.answering import answer_directly, generate
from skr_core.errors import InputError, StampMismatch
from skr_core.flow import Flow, arun, gather, run
from skr_core.match import token_f1
from skr_core.models.adapting import AnyModel, as_language_model
from skr_core.ports import Embedder, LanguageModel, Retriever
from skr_core.prompts.asking import checked_question
from skr_core.prompts.routing import NEED_TEMPLATES, ROUTING_VERSION, NeedTemplate, ask_need
from skr_core.replies.certainty import parse_need
from skr_core.replies.refusals import says_unknown
from skr_core.routers.saving import SavedRouter
from skr_core.types import NO_USAGE, Decision, Generation, Stamp

QUOTED = 120
"""The most characters of a model's words that a reason quotes."""


class ModelRouter(ABC):
    """A router that decides by asking a model; a subclass writes one flow.

    What such a router says holds for one model and one wording, so both are saved with it.

    Args:
        model: The model that would answer; what another one knows says nothing about it.

    Attributes:
        parameter: The parameter that stands behind a colon in its name, as in
            ``confidence:explain``; empty without one.
        max_rounds: The rounds of retrieval where it decides to retrieve; None leaves them to the
            budget.

    Example:
        >>> from skr_core.testing import ScriptedModel
        >>> class Polite(ModelRouter):
        ...     kind = "polite"
        ...     def _decision(self, question):
        ...         yield from ()
        ...         return Decision(question.endswith("please?"), reason="manners")
        ...     def _parameters(self):
        ...         return {}
        >>> Polite(ScriptedModel()).decide("Who wrote Emma, please?").retrieve
        True
    """

    kind: ClassVar[str]
    parameter: ClassVar[str] = ""
    max_rounds: int | None = None

    def __init__(self, model: AnyModel) -> None:
        self._model = as_language_model(model)

    def decide(self, question: str) -> Decision:
        """Decide by asking the model.

        Raises:
            InputError: The question is empty.
            ModelError: The model failed.
        """
        return run(self._limited(checked_question(question)))

    async def adecide(self, question: str) -> Decision:
        """Async version of `decide`."""
        return await arun(self._limited(checked_question(question)))

    def save(self, path: str | Path) -> None:
        """Write the router to a file, without its model."""
        parameters = self._parameters() | {"wording": ROUTING_VERSION}
        if self.max_rounds is not None:
            parameters["max_rounds"] = self.max_rounds
        SavedRouter(self.kind, parameters, stamp=Stamp(model=self._model.name)).write(path)

    @classmethod
    def load(
        cls,
        path: str | Path | SavedRouter,
        *,
        model: LanguageModel | None = None,
        embedder: Embedder | None = None,
        retriever: Retriever | None = None,
        force: bool = False,
    ) -> Self:
        """Read a router that `save` wrote.

        Args:
            path: The file, or what was read of it.
            model: The model to ask.
            embedder: Not used by routers that ask a model.
            retriever: Not used by them either.
            force: Whether it is taken although it was made for another model or wording.

        Raises:
            InputError: There is no such router, or no model.
            DataError: Its file is broken.
            StampMismatch: It was made for another model or wording.
        """
        saved = SavedRouter.read(path, cls.kind)
        if model is None:
            raise InputError(
                f"a {cls.kind} router asks a model: give model= or llm=, or "
                "load_router(path, model=...)"
            )
        saved.check(model, force=force)
        with saved.unpacking():
            parameters = dict(saved.parameters)
            if parameters.pop("wording") != ROUTING_VERSION and not force:
                raise StampMismatch(
                    f"this {cls.kind} router was made with another wording of its question: "
                    "make it anew, or load it with force=True"
                )
            limit = parameters.pop("max_rounds", None)
            router = cls(model, **parameters)
            router.max_rounds = limit
            return router

    def _limited(self, question: str) -> Flow[Decision]:
        decision = yield from self._decision(question)
        if decision.retrieve and self.max_rounds is not None:
            return replace(decision, max_rounds=self.max_rounds)
        return decision

    @abstractmethod
    def _decision(self, question: str) -> Flow[Decision]:
        """Ask and decide."""

    @abstractmethod
    def _parameters(self) -> dict[str, Any]:
        """What the constructor needs beside the model, as plain values."""


def quoted(text: str) -> str:
    """Quote a model's words for a reason: on one line, shortened.

    Example:
        >>> quoted("No,  I don't." + chr(10) + "Really.")
        '"No, I don\\'t. Really."'
    """
    words = " ".join(text.split())
    return f'"{words}"' if len(words) <= QUOTED else f'"{words[:QUOTED].rstrip()} …"'


class PromptRouter(ModelRouter):
    """Asks one question about the question, one of the five of SKR Table 2.

    A reply that says neither yes nor no leads to retrieval, which is the safe side.

    Args:
        model: The model that would answer.
        template: The template's place in the table, from 0, or its name:
            ``additional_information``, ``extra_prompts``, ``additional_clues``, ``can_answer``,
            ``can_solve``.

    Raises:
        InputError: There is no such template.

    Example:
        >>> from skr_core.testing import ScriptedModel
        >>> router = PromptRouter(ScriptedModel(["No, I don't need any."]))
        >>> router.decide("What is the capital of France?").retrieve
        False
    """

    kind: ClassVar[str] = "prompt"
    parameter: ClassVar[str] = "template"

    def __init__(self, model: AnyModel, *, template: int | str = 0) -> None:
        super().__init__(model)
        self._template = need_template(template)

    def _decision(self, question: str) -> Flow[Decision]:
        reply = yield from generate(self._model, ask_need(question, self._template))
        return decision_of(reply, self._template)

    def _parameters(self) -> dict[str, Any]:
        return {"template": self._template.name}


def need_template(template: int | str) -> NeedTemplate:
    """Find a template by its place in SKR Table 2, from 0, or by its name.

    Raises:
        InputError: There is no such template.

    Example:
        >>> need_template(3).name
        'can_answer'
    """
    for place, each in enumerate(NEED_TEMPLATES):
        if template in (place, each.name):
            return each
    names = ", ".join(each.name for each in NEED_TEMPLATES)
    raise InputError(f"no template {template!r}: give 0 to {len(NEED_TEMPLATES) - 1} or {names}")


def decision_of(reply: Generation, template: NeedTemplate) -> Decision:
    """Read the decision from a reply to a template (SKR Table 2).

    Example:
        >>> decision_of(Generation("No, I cannot."), NEED_TEMPLATES[3]).retrieve
        True
    """
    need = parse_need(reply.text, yes_means_unknown=template.yes_means_unknown)
    if need is None:
        reason = (
            f"the model said neither yes nor no, so it is safer to retrieve: {quoted(reply.text)}"
        )
        return Decision(True, reason=reason, usage=reply.usage)
    claim = "it needs help" if need else "it can answer by itself"
    return Decision(need, reason=f"the model says {claim}: {quoted(reply.text)}", usage=reply.usage)


class UncertaintyRouter(ModelRouter):
    """Answers directly and retrieves where that answer was unlikely, or one of many.

    Where the provider returns log-probabilities, the score is one minus the probability of an
    average token. Where it does not, more answers are sampled, and the score is one minus their
    mean agreement in words; a model that always says the same (temperature 0) then never retrieves.
    An answer that says it does not know scores 1. SKR and W2R have no such router: it is the usual
    baseline.

    Args:
        model: The model that would answer.
        threshold: The score above which it retrieves; calibrate it on records.
        samples: The number of answers compared where there are no log-probabilities, the first
            included.

    Raises:
        InputError: The threshold is not between 0 and 1, or there are fewer than 2 samples.

    Example:
        >>> from skr_core.testing import ScriptedModel
        >>> router = UncertaintyRouter(ScriptedModel(["Paris.", "Lyon."]), samples=2)
        >>> router.decide("What is the capital of Lydia?").score
        1.0
    """

    kind: ClassVar[str] = "uncertainty"
    drafts = True

    def __init__(self, model: AnyModel, *, threshold: float = 0.5, samples: int = 5) -> None:
        super().__init__(model)
        if not 0 <= threshold <= 1:
            raise InputError(f"threshold must be between 0 and 1, not {threshold}")
        if samples < 2:
            raise InputError(f"samples must be at least 2, not {samples}: one agrees with itself")
        self._threshold, self._samples = threshold, samples

    def decide_on(self, question: str, direct: Generation) -> Decision:
        """Decide when the direct answer is there already."""
        return run(self._decision_on(checked_question(question), direct))

    async def adecide_on(self, question: str, direct: Generation) -> Decision:
        """Async version of `decide_on`."""
        return await arun(self._decision_on(checked_question(question), direct))

    def _decision(self, question: str) -> Flow[Decision]:
        direct = yield from answer_directly(self._model, question)
        return (yield from self._decision_on(question, direct))

    def _decision_on(self, question: str, direct: Generation) -> Flow[Decision]:
        answers = [direct]
        likely = token_probability(direct)
        if says_unknown(direct.text):
            score, ground = 1.0, "the model says that it does not know"
        elif likely is not None:
            score, ground = 1 - likely, f"an average token has probability {likely:.2f}"
        else:
            answers += yield from gather(
                answer_directly(self._model, question, sample=number)
                for number in range(1, self._samples)
            )
            agreed = agreement([answer.text for answer in answers])
            score, ground = 1 - agreed, f"{len(answers)} answers agree to {agreed:.0%}"
        return Decision(
            retrieve=score > self._threshold,
            score=score,
            threshold=self._threshold,
            reason=f"{ground}: {quoted(direct.text)}",
            usage=sum((answer.usage for answer in answers), NO_USAGE),
            draft=direct.text,
        )

    def _parameters(self) -> dict[str, Any]:
        return {"threshold": self._threshold, "samples": self._samples}


def token_probability(answer: Generation) -> float | None:
    """Return the geometric mean of an answer's token probabilities; None where unknown.

    Example:
        >>> token_probability(Generation("Paris", logprobs=(0.0, 0.0)))
        1.0
    """
    mean = answer.mean_logprob
    return None if mean is None else math.exp(min(0.0, mean))


def agreement(answers: Sequence[str]) -> float:
    """Return the mean word F1 over all pairs of answers; one that knows nothing agrees with none.

    Example:
        >>> agreement(["Paris.", "paris", "Lyon"])
        0.3333333333333333
    """
    pairs = [
        0.0 if says_unknown(one) or says_unknown(other) else token_f1(one, [other])
        for one, other in combinations(answers, 2)
    ]
    return math.fsum(pairs) / len(pairs)
