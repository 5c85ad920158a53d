"""EntailmentReflector: each sentence of the draft must follow from what it cites."""

from __future__ import annotations

from collections.abc import Sequence

from skr_core.flow import Flow, arun, call, run
from skr_core.ports import Entailment, EntailmentModel
from skr_core.references.citations import resolve_citations, without_markers
from skr_core.replies.refusals import is_refusal
from skr_core.texts import split_sentences
from skr_core.types import Reference, Reflection


class EntailmentReflector:
    """Holds a draft insufficient when a sentence does not follow from its citations (RaLLM §4.2).

    A sentence without a citation follows from nothing, but for one that only announces what comes
    next, such as "These are:".

    Args:
        model: Decides entailment.
        threshold: Share of the draft's sentences that must be entailed, 0 to 1.

    Attributes:
        name: With the model's, for the stamp of what is made with it.

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
        """Judge with blocking calls."""
        return run(self._reflection(references, draft))

    async def areflect(
        self, question: str, references: Sequence[Reference], draft: str
    ) -> Reflection:
        """Judge with awaited calls."""
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
