"""What an estimate may look at: questions with the answers at hand, as tokens, numbers and vectors.

One type, `Seen`, is made of records and of what is being served alike, so that what is learnt can
be served. Nothing else is ever read: no score, no right answer, no chain of thought.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import astuple, dataclass, replace
from itertools import combinations, pairwise, product
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skr_core._compat import cached_property
from skr_core.candidates import CandidateAnswer, Confirmation
from skr_learn.features.answers import own_features, pair_features, turned
from skr_learn.features.question import question_features
from skr_learn.features.words import WordCounts

Floats = NDArray[np.float64]

UNKNOWN = -1.0
"""A number in the place of one that is not known."""
MOST_TOKENS = 60
"""Words of a question and of an answer that are read."""

STATED = ("confidence", "grounded", "standing")
"""What may be known of an answer beside its text."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Seen:
    """A question and the answers at hand.

    Attributes:
        question: The question, as it can be understood alone.
        answers: The answers of the first few actions, from the cheapest to the dearest.
    """

    question: str
    answers: tuple[CandidateAnswer, ...] = ()

    def only(self, stated: Sequence[Collection[str]]) -> Seen:
        """Return the same with no more known of each answer than `stated_in` found on record.

        Example:
            >>> seen = Seen("Who?", (CandidateAnswer("Ada", confidence=-0.1, grounded=True),))
            >>> seen.only([["grounded"]]).answers
            (CandidateAnswer(text='Ada', confidence=None, grounded=True, standing=None, \
confirmation=None),)
        """
        hidden: list[dict[str, Any]] = [dict.fromkeys({*STATED} - {*known}) for known in stated]
        pairs = zip(self.answers, hidden, strict=False)  # the first few answers may be there
        return Seen(self.question, tuple(replace(answer, **names) for answer, names in pairs))


def stated_in(seen: Sequence[Seen]) -> tuple[tuple[str, ...], ...]:
    """Return what is known of any of the answers of each action, beside their texts.

    A recording may hold less than a served system knows; what was never seen cannot be decided by.

    Example:
        >>> stated_in([Seen("Who?", (CandidateAnswer("Ada"), CandidateAnswer("Bo", -0.2)))])
        ((), ('confidence',))
    """
    columns = zip(*(each.answers for each in seen), strict=True)
    return tuple(
        tuple(name for name in STATED if any(getattr(each, name) is not None for each in answers))
        for answers in columns
    )


@dataclass(frozen=True)
class Shown:
    """n things as an estimator sees them.

    Attributes:
        tokens: The words of each; a prefix tells whose they are.
        features: The numbers of each, shape (n, f), without NaN.
        vectors: The embedder's vectors of each side by side, shape (n, d); None without one.
    """

    tokens: list[list[str]]
    features: Floats
    vectors: NDArray[np.float32] | None = None

    @cached_property
    def counted(self) -> WordCounts:
        """The words of each, counted."""
        return WordCounts.of(self.tokens)

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, rows: NDArray[Any]) -> Shown:
        vectors = None if self.vectors is None else self.vectors[rows]
        return Shown([self.tokens[row] for row in rows.tolist()], self.features[rows], vectors)

    @classmethod
    def stacked(cls, parts: Sequence[Self]) -> Self:
        """Put several below each other."""
        vectors = [part.vectors for part in parts if part.vectors is not None]
        return cls(
            [tokens for part in parts for tokens in part.tokens],
            np.vstack([part.features for part in parts]),
            np.vstack(vectors) if vectors else None,
        )


class Views:
    """n questions with a answers each, measured once for views of few and of many of the answers.

    Args:
        seen: The questions, each with equally many answers.
        vectors: The embedder's vectors of `texts_of`, shape (n * (a + 1), d); None without an
            embedder.
        searched: Whether what the first search found is looked at, beside the direct answers.

    Example:
        >>> seen = Seen("Who wrote Emma?", (CandidateAnswer("Jane Austen"),))
        >>> views = Views([seen])
        >>> views.whole(0).tokens[0][:2], views.whole(1).features.shape
        (['who', 'wrote'], (1, 67))
    """

    def __init__(
        self,
        seen: Sequence[Seen],
        vectors: NDArray[np.float32] | None = None,
        *,
        searched: bool = False,
    ) -> None:
        self.count = len(seen[0].answers) if seen else 0
        self._n = len(seen)
        places = range(self.count)
        texts = [[each.answers[place].text for each in seen] for place in places]
        self._asked = np.array([question_features(each.question) for each in seen])
        self._words = [_pairs(words_of(each.question)) for each in seen]
        self._said = [[words_of(text) for text in texts[place]] for place in places]
        self._own = [
            np.array([own_features(each.question, each.answers[place]) for each in seen])
            for place in places
        ]
        self._grounded = [
            np.array([bool(each.answers[place].grounded) for each in seen], dtype=bool)
            for place in places
        ]
        self._compared: dict[tuple[int, int], Floats] = {}
        for i, j in combinations(places, 2):
            pairs = np.array([pair_features(*two) for two in zip(texts[i], texts[j], strict=True)])
            self._compared[i, j], self._compared[j, i] = pairs, turned(pairs)
        self._vectors = None if vectors is None else np.split(vectors, self.count + 1)
        self._found = [_found_in(seen)] if searched else []

    def __len__(self) -> int:
        return self._n

    def with_searches(self, seen: Sequence[Seen]) -> Views:
        """Return the same, made of the same questions, with what the first search found."""
        made = copy(self)
        made._found = [_found_in(seen)]
        return made

    def stand_ins(self, count: int) -> NDArray[np.int64]:
        """Return which of the first few answers is served for each, shape (n, count).

        Of answers that say the same it is the last that rests on references, and else itself.
        """
        found = np.tile(np.arange(count), (self._n, 1))
        for other, place in product(range(count), repeat=2):
            rests = self._grounded[other]
            if other != place:
                rests = rests & (self._compared[place, other][:, 0] > 0)  # they agree
            found[rests, place] = other
        return found

    def whole(self, count: int) -> Shown:
        """Show each question with its first few answers.

        Args:
            count: How many answers; 0 shows the question alone.
        """
        places = range(count)
        features = [self._asked, *self._own[:count]]
        features += [self._compared[two] for two in combinations(places, 2)] + self._found
        tokens = [
            words + [f"{place}>{word}" for place in places for word in self._said[place][row]]
            for row, words in enumerate(self._words)
        ]
        vectors = None if self._vectors is None else np.hstack(self._vectors[: count + 1])
        return Shown(tokens, _known(features), vectors)

    def each(self, count: int) -> Shown:
        """Show each of the first few answers beside the others, n of the first, then of the next.

        Args:
            count: How many answers; the rows are n * count.
        """
        return Shown.stacked([self._beside(place, count) for place in range(count)])

    def _beside(self, place: int, count: int) -> Shown:
        others = [other for other in range(count) if other != place]
        features = [np.full((self._n, 1), float(place)), self._asked, self._own[place]]
        for other in others:
            features += [self._own[other], self._compared[place, other]]
        features += [self._compared[two] for two in combinations(others, 2)] + self._found
        tokens = [
            [f"{place}:{word}" for word in words]
            + [f"{place}>{word}" for word in self._said[place][row]]
            for row, words in enumerate(self._words)
        ]
        vectors = None
        if self._vectors is not None:
            asked, own = self._vectors[0], self._vectors[place + 1]
            vectors = np.hstack([asked, own, asked * own])
        return Shown(tokens, _known(features), vectors)


def texts_of(seen: Sequence[Seen]) -> list[str]:
    """Return the texts that an embedder is given: the questions, then the first answers, and so on.

    Example:
        >>> texts_of([Seen("Who?", (CandidateAnswer("Ada"),)), Seen("2?", (CandidateAnswer(""),))])
        ['Who?', '2?', 'Ada', '-']
    """
    count = len(seen[0].answers) if seen else 0
    answers = [each.answers[place].text or "-" for place in range(count) for each in seen]
    return [each.question for each in seen] + answers


def _found_in(seen: Sequence[Seen]) -> Floats:
    found = (each.answers[0].confirmation or Confirmation() for each in seen)
    return np.array([astuple(each) for each in found])


def words_of(text: str) -> list[str]:
    """Return the words of a text that are read, in lower case.

    Example:
        >>> words_of("Who wrote Emma?")
        ['who', 'wrote', 'emma']
    """
    return _WORD.findall(text.lower())[:MOST_TOKENS]


def _pairs(words: list[str]) -> list[str]:
    return words + [f"{first} {second}" for first, second in pairwise(words)]


def _known(features: Sequence[Floats]) -> Floats:
    return np.nan_to_num(np.hstack(features), nan=UNKNOWN)
