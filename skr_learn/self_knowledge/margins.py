"""How likely the model finds its own answer and the one from references (arXiv 2606.08397).

Of the direct answer d and the answer r that was given references R to the question q, with log p
the mean log-probability of an answer's tokens:

- the *prior* margin is log p(r | q) - log p(d | q): does the model's memory accept what was found?
- the *binding* margin is [log p(r | q, R) - log p(r | R)] - [log p(d | q, R) - log p(d | R)]: is it
  the question that binds the answer to the references, or does it merely stand in them?

These are six prompts of which nothing is generated, four of them with the references.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skr_core.flow import Flow, call, gather
from skr_core.models.windows import tokens_for
from skr_core.ports import TextScorer
from skr_core.prompts.judging import before_answer
from skr_core.references.citations import without_markers
from skr_core.references.passages import pack_references
from skr_core.replies.refusals import is_refusal
from skr_core.texts import normalise
from skr_core.types import NO_USAGE, Answer, Reference, Usage

if TYPE_CHECKING:
    from skr_core.settings import Settings

Asked = tuple[str, str]
"""A prompt, and the text whose likelihood after it is asked for."""


@dataclass(frozen=True, slots=True)
class Margins:
    """How much likelier the model finds the answer from references than its own.

    Attributes:
        prior: Without the references, in natural-log probability a token.
        binding: With them, less what they alone make likely.
    """

    prior: float = 0.0
    binding: float = 0.0


@dataclass(frozen=True, slots=True)
class Rivals:
    """The model's own answer, and one from references.

    Attributes:
        question: What was asked.
        direct: The model's own answer.
        retrieved: The one from references, without markers.
        references: Those it was given.
        metadata_keys: What of their metadata the model is shown.

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
        """What has to be asked to tell them apart: nothing where they agree, or one refuses."""
        if self.agree or is_refusal(self.direct) or is_refusal(self.retrieved):
            return []
        prompts = (
            before_answer(self.question),
            before_answer(self.question, self.references, metadata_keys=self.metadata_keys),
            before_answer("", self.references, metadata_keys=self.metadata_keys),
        )
        return [(prompt, text) for prompt in prompts for text in (self.direct, self.retrieved)]

    def margins(self, likelihoods: Mapping[Asked, float]) -> Margins | None:
        """The margins; None where a likelihood is missing.

        Args:
            likelihoods: Mean log-probability a token of each of `asked`.
        """
        if self.agree:
            return Margins()
        found = [likelihoods.get(each, math.nan) for each in self.asked]
        if not found or not all(map(math.isfinite, found)):
            return None
        direct, own, direct_given, own_given, direct_alone, own_alone = found
        return Margins(own - direct, (own_given - own_alone) - (direct_given - direct_alone))


def rivals_in(question: str, direct: str, answer: Answer, settings: Settings) -> Rivals:
    """An answer from references beside the direct one, with as many references as are handed on.

    Args:
        question: As it can be understood alone.
        direct: Text of the direct answer.
        answer: From references.
        settings: Of the system that gave both.
    """
    keys = settings.metadata_keys
    limit = tokens_for(settings.budget, settings.model.name)
    packed = pack_references(answer.references, limit, metadata_keys=keys)
    texts = without_markers(direct), without_markers(answer.text)
    return Rivals(question, *texts, packed.references, keys)


def distinct(rivals: Iterable[Rivals]) -> list[Asked]:
    """All that has to be asked, each once."""
    return list(dict.fromkeys(asked for each in rivals for asked in each.asked))


def measure_margins(
    scorer: TextScorer, rivals: Sequence[Rivals]
) -> Flow[tuple[list[Margins | None], Usage]]:
    """The margins of each pair, and what asking for the likelihoods cost.

    Raises:
        ModelError: The scorer failed.
        NoLikelihoodsError: It tells no likelihood of a given text.

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
