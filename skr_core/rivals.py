"""Rival answers to one question: their standing in the references, and their likelihoods.

How an answer stands in references is found without a model: by its words that stand close together
in one of them.

Of the direct answer d and the answer r that was given references R to the question q, with log p
the mean log-probability of an answer's tokens (arXiv 2606.08397):

- the *prior* margin is log p(r | q) - log p(d | q): does the model's memory accept what was found?
- the *binding* margin is [log p(r | q, R) - log p(r | R)] - [log p(d | q, R) - log p(d | R)]: is it
  the question that binds the answer to the references, or does it merely stand in them?

These are six prompts of which nothing is generated, four of them with the references.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skr_core.candidates import CandidateAnswer, Margins, Standing
from skr_core.flow import Flow, call, gather
from skr_core.models.windows import tokens_for
from skr_core.ports import TextScorer
from skr_core.prompts.judging import before_answer
from skr_core.references.citations import without_markers
from skr_core.references.passages import pack_references
from skr_core.replies.refusals import is_refusal
from skr_core.settings import Settings
from skr_core.texts import normalise, words
from skr_core.types import NO_USAGE, Answer, Generation, Reference, Usage

WINDOW = 3
"""A window of a reference is this many times as long as the words looked for, and at least
`SHORTEST_WINDOW`."""
SHORTEST_WINDOW = 12
LONGEST_ANSWER = 40
"""Words of an answer that are looked for; a longer one is an explanation, not a name."""
MOST_WORDS = 20_000
"""Words of all references together that are read."""

_SMALL = frozenset(
    "the a an of in on at to for and or is are was were be by with from as that this it its".split()
)
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")

Asked = tuple[str, str]
"""A prompt, and the text whose likelihood after it is asked for."""


def candidate_of_generation(direct: Generation) -> CandidateAnswer:
    """Return what is known of the direct answer that a model has just given.

    Example:
        >>> candidate_of_generation(Generation("Paris.", logprobs=(-0.5,))).confidence
        -0.5
    """
    return CandidateAnswer(without_markers(plain_text(direct.text)), confidence=direct.mean_logprob)


def candidate_of_answer(answer: Answer, direct: str = "") -> CandidateAnswer:
    """Return what is known of an answer that a system has just given.

    Args:
        answer: The system's answer.
        direct: Text of the direct answer beside it, empty where there is none.
    """
    retrieved = answer.decision.retrieve
    return CandidateAnswer(
        without_markers(plain_text(answer.text)),
        confidence=answer.logprob,
        grounded=answer.grounded if retrieved else None,
        standing=standing_of(answer, direct) if retrieved else None,
    )


def plain_text(text: Any) -> str:
    r"""Return a recorded answer as it was said: logs often keep it quoted, with escapes.

    Example:
        >>> plain_text(r'"Beyonc\u00e9 sang \"Halo\"."')
        'Beyoncé sang "Halo".'
    """
    if not isinstance(text, str):
        return ""
    said = _ESCAPE.sub(lambda match: chr(int(match.group(1), 16)), text)
    return said.strip().strip('"').replace('\\"', '"')


def standing_of(answer: Answer, direct: str) -> Standing:
    """Measure how an answer from references, and the direct answer beside it, stand in them.

    Example:
        >>> from skr_core.types import Decision, Reference
        >>> given = (Reference.of("It was built by Gustave Eiffel."),)
        >>> answer = Answer("Who?", "Eiffel.", (), given, Decision(True), (), "sufficient", {})
        >>> standing_of(answer, "Gustave Eiffel")
        Standing(direct=1.0, direct_cited=0.0, own=1.0)
    """
    found = [reference.text for reference in answer.references]
    cited = [reference.text for reference in answer.cited_references]
    return standing_in(direct, without_markers(answer.text), found, cited)


def standing_in(
    direct: str, own: str, references: Sequence[str], cited: Sequence[str] = ()
) -> Standing:
    """Measure the standing of texts, as `standing_of` does of answers.

    Example:
        >>> standing_in("Emma", "Persuasion", ["Persuasion came out in 1817."]).own
        1.0
    """
    return Standing(
        share_standing(direct, references),
        share_standing(direct, cited),
        share_standing(own, references),
    )


def share_standing(answer: str, texts: Iterable[str]) -> float:
    """Return the largest share of an answer's words that stand close together in one text.

    Example:
        >>> share_standing("Ada Lovelace", ["Ada King, Countess of Lovelace", "Ada"])
        1.0
    """
    said = words(answer)[:LONGEST_ANSWER]
    wanted = frozenset(word for word in said if word not in _SMALL) or frozenset(said)
    if not wanted:
        return 0.0
    best, left = 0, MOST_WORDS
    size = max(SHORTEST_WINDOW, WINDOW * len(wanted))
    for text in texts:
        read = words(text)[:left]
        left -= len(read)
        places = [place for place, word in enumerate(read) if word in wanted]
        for first, place in enumerate(places):
            together = {read[each] for each in places[first:] if each < place + size}
            best = max(best, len(together))
            if best == len(wanted):
                return 1.0
    return best / len(wanted)


@dataclass(frozen=True, slots=True)
class Rivals:
    """The model's own answer, and one from references.

    Attributes:
        question: The question, as it can be understood alone.
        direct: The model's own answer.
        retrieved: The one from references, without markers.
        references: The references that it was given.
        metadata_keys: The keys of their metadata that the model is shown.

    Example:
        >>> rivals = Rivals("Capital?", "Lyon", "Paris", (Reference.of("Paris is it."),))
        >>> likelihoods = {asked: -2.0 for asked in rivals.asked}
        >>> likelihoods[before_answer("Capital?"), "Paris"] = -0.5
        >>> rivals.margins(likelihoods)
        Margins(prior=1.5, binding=0.0)
    """

    question: str
    direct: str
    retrieved: str
    references: tuple[Reference, ...]
    metadata_keys: tuple[str, ...] = ()

    @property
    def agree(self) -> bool:
        """Whether both say the same: neither is then likelier."""
        return normalise(self.direct) == normalise(self.retrieved)

    @property
    def asked(self) -> list[Asked]:
        """The prompts that set them apart: none where they agree, or one refuses."""
        if self.agree or is_refusal(self.direct) or is_refusal(self.retrieved):
            return []
        prompts = (
            before_answer(self.question),
            before_answer(self.question, self.references, metadata_keys=self.metadata_keys),
            before_answer("", self.references, metadata_keys=self.metadata_keys),
        )
        return [(prompt, text) for prompt in prompts for text in (self.direct, self.retrieved)]

    def margins(self, likelihoods: Mapping[Asked, float]) -> Margins | None:
        """Return the margins; None where a likelihood is missing.

        Args:
            likelihoods: The mean log-probability a token of each of `asked`.
        """
        if self.agree:
            return Margins()
        found = [likelihoods.get(each, math.nan) for each in self.asked]
        if not found or not all(map(math.isfinite, found)):
            return None
        direct, own, direct_given, own_given, direct_alone, own_alone = found
        return Margins(own - direct, (own_given - own_alone) - (direct_given - direct_alone))


def rivals_in(question: str, direct: str, answer: Answer, settings: Settings) -> Rivals:
    """Return an answer from references beside the direct one, with the references handed on.

    Args:
        question: The question, as it can be understood alone.
        direct: The text of the direct answer.
        answer: The answer from references.
        settings: The settings of the system that gave both.
    """
    keys = settings.metadata_keys
    limit = tokens_for(settings.budget, settings.model.name)
    packed = pack_references(answer.references, limit, metadata_keys=keys)
    texts = without_markers(direct), without_markers(answer.text)
    return Rivals(question, *texts, packed.references, keys)


def distinct(rivals: Iterable[Rivals]) -> list[Asked]:
    """Return all that has to be asked, each once."""
    return list(dict.fromkeys(asked for each in rivals for asked in each.asked))


def measure_margins(
    scorer: TextScorer, rivals: Sequence[Rivals]
) -> Flow[tuple[list[Margins | None], Usage]]:
    """Return the margins of each pair, and what asking for the likelihoods cost.

    Raises:
        ModelError: The scorer failed.
        NoLikelihoodsError: It gives no likelihood of a given text.

    Example:
        >>> from skr_core.flow import run
        >>> from skr_core.testing import WordScorer
        >>> rivals = Rivals("Capital?", "Lyon", "Paris", (Reference.of("Paris is it."),))
        >>> margins, spent = run(measure_margins(WordScorer(known=["Lyon"]), [rivals]))
        >>> margins[0].prior < 0, spent.calls
        (True, 6)
    """
    asked = distinct(rivals)
    scored = yield from gather([call(scorer.score, scorer.ascore, *each) for each in asked])
    found = {
        each: math.nan if reply.mean_logprob is None else reply.mean_logprob
        for each, reply in zip(asked, scored, strict=True)
    }
    spent = sum((reply.usage for reply in scored), NO_USAGE)
    return [each.margins(found) for each in rivals], spent
