"""Reflectors: do the references suffice for a draft? And a judge of entailment, which one asks."""

from __future__ import annotations

from collections.abc import Sequence

from skr_core.answering import generate
from skr_core.errors import ModelError
from skr_core.flow import Flow, arun, call, gather, run
from skr_core.models.adapting import AnyModel, as_language_model
from skr_core.ports import Entailment, EntailmentModel
from skr_core.prompts.judging import ask_entailment, ask_is_sufficient, judge_name
from skr_core.references.citations import resolve_citations, without_markers
from skr_core.replies.refusals import is_refusal
from skr_core.replies.reply import Reply, read_reply
from skr_core.texts import split_sentences
from skr_core.types import NO_USAGE, Reference, Reflection, Usage

CITES_NOTHING = "the answer cites none of the references"
"""The reason where a model does not find its references insufficient, but cites none of them."""


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
        """Async version of `reflect`; nothing is awaited, because nothing is called."""
        return self.reflect(question, references, draft)


def judge_reply(reply: Reply, *, must_cite: bool = True) -> Reflection:
    """Judge a reply by what it says of its references.

    Args:
        reply: The reply, as it was read.
        must_cite: Whether an answer has to cite a reference to be sufficient; if not, every
            answer that does not refuse is.

    Example:
        >>> judge_reply(Reply(True, "Paris.", stated=True)).reason
        'the answer cites none of the references'
    """
    if reply.sufficient is False:
        return Reflection(False, "the model finds the references insufficient", reply.missing)
    if must_cite and not reply.cites:
        return Reflection(False, CITES_NOTHING)
    return Reflection(True, "the model answered from the references")


class JudgeReflector:
    """Asks a model, which may be another than the one that answers, for a verdict.

    A draft that refuses is insufficient without a call. A reply that gives no verdict counts as
    sufficient, so that a judge that cannot follow its instructions does not burn the budget.

    Args:
        model: The judge.

    Attributes:
        name: The names of model and wording, for the stamp of what is made with it.

    Example:
        >>> from skr_core.testing import ScriptedModel
        >>> judge = JudgeReflector(ScriptedModel(["insufficient: the birthplace"]))
        >>> judge.reflect("Where was she born?", [], "In spring.").missing
        'the birthplace'
    """

    def __init__(self, model: AnyModel) -> None:
        self._model = as_language_model(model)
        self.name = judge_name(self._model.name)

    def reflect(self, question: str, references: Sequence[Reference], draft: str) -> Reflection:
        """Judge a draft with a call of the model."""
        return run(self._reflection(question, references, draft))

    async def areflect(
        self, question: str, references: Sequence[Reference], draft: str
    ) -> Reflection:
        """Async version of `reflect`."""
        return await arun(self._reflection(question, references, draft))

    def _reflection(
        self, question: str, references: Sequence[Reference], draft: str
    ) -> Flow[Reflection]:
        from skr_core.replies.judgements import parse_sufficient

        if is_refusal(draft):
            return Reflection(False, "the model finds the references insufficient")
        reply = yield from generate(self._model, ask_is_sufficient(question, references, draft))
        verdict = parse_sufficient(reply.text)
        if verdict is None:
            return Reflection(True, "the judge gave no verdict", usage=reply.usage)
        sufficient, missing = verdict
        reason = "the judge finds the references " + (
            "sufficient" if sufficient else "insufficient"
        )
        return Reflection(sufficient, reason, missing, reply.usage)


class EntailmentReflector:
    """Holds a draft insufficient when a sentence does not follow from its citations (RaLLM §4.2).

    A sentence without a citation follows from nothing, but for one that only announces what comes
    next, such as "These are:".

    Args:
        model: The model that decides entailment.
        threshold: The share of the draft's sentences that must be entailed, 0 to 1.

    Attributes:
        name: The name, with the model's, for the stamp of what is made with it.

    Example:
        >>> class Never:
        ...     def predict(self, pairs): return ["neutral"] * len(pairs)
        ...     async def apredict(self, pairs): return ["neutral"] * len(pairs)
        >>> reference = Reference.of("Paris is the capital of France.")
        >>> EntailmentReflector(Never()).reflect("?", [reference], "It is Lyon [1].").sufficient
        False
    """

    def __init__(self, model: EntailmentModel, *, threshold: float = 1.0) -> None:
        self._model = model
        self._threshold = threshold
        judge = getattr(model, "name", type(model).__name__)
        self.name = f"entailment:{judge}:{threshold:g}"

    def reflect(self, question: str, references: Sequence[Reference], draft: str) -> Reflection:
        """Judge whether the sentences of a draft follow from what they cite."""
        return run(self._reflection(references, draft))

    async def areflect(
        self, question: str, references: Sequence[Reference], draft: str
    ) -> Reflection:
        """Async version of `reflect`."""
        return await arun(self._reflection(references, draft))

    def _reflection(self, references: Sequence[Reference], draft: str) -> Flow[Reflection]:
        if is_refusal(draft):
            return Reflection(False, "the model finds the references insufficient")
        text_of = {reference.id: reference.text for reference in references}
        cited = resolve_citations(draft, references)
        premises: dict[str, list[str]] = {sentence: [] for sentence in split_sentences(cited.text)}
        for citation in cited.citations:
            premises[citation.sentence].append(text_of[citation.reference_id])
        pairs = [
            (" ".join(premise), without_markers(sentence))
            for sentence, premise in premises.items()
            if premise or not sentence.endswith(":")
        ]
        if not pairs:
            return Reflection(False, "the draft says nothing beside its markers")
        grounded = [pair for pair in pairs if pair[0]]
        verdicts: Sequence[Entailment | None] = ()
        if grounded:
            verdicts = yield from call(self._model.predict, self._model.apredict, grounded)
        verdict_of = dict(zip(grounded, verdicts, strict=True))
        missing = [pair[1] for pair in pairs if verdict_of.get(pair) != "entailment"]
        entailed = len(pairs) - len(missing)
        return Reflection(
            entailed >= self._threshold * len(pairs),
            f"{entailed} of {len(pairs)} sentences follow from what they cite",
            "; ".join(missing),
        )


class JudgeEntailment:
    """Asks a model for each pair; a reply that is no verdict, or a failure, becomes None.

    Args:
        model: The judge, preferably another than the one that is judged.
        concurrency: The most pairs under way at a time.

    Attributes:
        name: The names of model and wording, so that verdicts asked for in other words are kept
            apart.
        usage: The usage of all verdicts so far.

    Example:
        >>> from skr_core.testing import ScriptedModel
        >>> judge = JudgeEntailment(ScriptedModel(["entailment", "hm"]), concurrency=1)
        >>> judge.predict([("a", "b"), ("c", "d")])
        ['entailment', None]
    """

    def __init__(self, model: AnyModel, *, concurrency: int = 8) -> None:
        self._model = as_language_model(model)
        self._concurrency = concurrency
        self.name = judge_name(self._model.name)
        self.usage: Usage = NO_USAGE

    def predict(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Entailment | None]:
        """Judge each pair with a call of the model."""
        return run(self._judge_all(pairs))

    async def apredict(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Entailment | None]:
        """Async version of `predict`."""
        return await arun(self._judge_all(pairs))

    def _judge_all(self, pairs: Sequence[tuple[str, str]]) -> Flow[list[Entailment | None]]:
        judged = yield from gather([self._judge(*pair) for pair in pairs], self._concurrency)
        self.usage = sum((usage for _, usage in judged), self.usage)
        return [verdict for verdict, _ in judged]

    def _judge(self, premise: str, hypothesis: str) -> Flow[tuple[Entailment | None, Usage]]:
        from skr_core.replies.judgements import parse_entailment

        try:
            reply = yield from generate(self._model, ask_entailment(premise, hypothesis))
        except ModelError:
            return None, NO_USAGE
        return parse_entailment(reply.text), reply.usage
