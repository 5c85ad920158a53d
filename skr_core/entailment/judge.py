"""JudgeEntailment: a language model judges whether a text follows from another."""

from __future__ import annotations

from collections.abc import Sequence

from skr_core.answering import generate
from skr_core.errors import ModelError
from skr_core.flow import Flow, arun, gather, run
from skr_core.models.adapting import AnyModel, as_language_model
from skr_core.ports import Entailment
from skr_core.prompts.judging import ask_entailment, judge_name
from skr_core.replies.judgements import parse_entailment
from skr_core.types import NO_USAGE, Usage


class JudgeEntailment:
    """Asks a model for each pair; a reply that is no verdict, or a failure, becomes None.

    Args:
        model: The judge, preferably another than the one that is judged.
        concurrency: Pairs under way at a time.

    Attributes:
        name: Of the model and the wording, so that verdicts asked for in other words are told
            apart.
        usage: What all verdicts cost so far.

    Example:
        >>> from skr_core.testing import ScriptedModel
        >>> JudgeEntailment(ScriptedModel(["entailment", "hm"])).predict([("a", "b"), ("c", "d")])
        ['entailment', None]
    """

    def __init__(self, model: AnyModel, *, concurrency: int = 8) -> None:
        self._model = as_language_model(model)
        self._concurrency = concurrency
        self.name = judge_name(self._model.name)
        self.usage: Usage = NO_USAGE

    def predict(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Entailment | None]:
        """Judge with blocking calls."""
        return run(self._judge_all(pairs))

    async def apredict(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Entailment | None]:
        """Judge with awaited calls."""
        return await arun(self._judge_all(pairs))

    def _judge_all(self, pairs: Sequence[tuple[str, str]]) -> Flow[list[Entailment | None]]:
        judged = yield from gather([self._judge(*pair) for pair in pairs], self._concurrency)
        self.usage = sum((usage for _, usage in judged), self.usage)
        return [verdict for verdict, _ in judged]

    def _judge(self, premise: str, hypothesis: str) -> Flow[tuple[Entailment | None, Usage]]:
        try:
            reply = yield from generate(self._model, ask_entailment(premise, hypothesis))
        except ModelError:
            return None, NO_USAGE
        return parse_entailment(reply.text), reply.usage
