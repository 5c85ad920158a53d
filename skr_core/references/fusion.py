"""Rank fusion: joining lists whose scores are not comparable.

Only ranks are read: the score that one query gives a passage says nothing beside another query's.
Both functions are pure and know neither the retriever nor the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from skr_core.types import Reference

RANK_CONSTANT = 60
"""The usual k of reciprocal rank fusion (Cormack et al., SIGIR 2009)."""


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[Reference]],
    *,
    weights: Sequence[float] | None = None,
    k: int = RANK_CONSTANT,
) -> list[Reference]:
    """Fuse rankings of the *same* query: the sum of weight / (k + rank), best first.

    It favours what several rankings agree on, so it suits two retrievers that were asked the same
    thing, and not queries that ask for different things: those go to `merge_references`.

    Args:
        rankings: Each best first. Within one ranking the first place of a reference counts.
        weights: One for each ranking; all 1 where not given.
        k: How flat the top is; greater is flatter.

    Raises:
        ValueError: There are not as many weights as rankings.

    Example:
        >>> a, b, c = (Reference.of(text) for text in "abc")
        >>> [each.text for each in reciprocal_rank_fusion([[a, b], [b, c]])]
        ['b', 'a', 'c']
    """
    scores: dict[str, float] = {}
    pool: dict[str, Reference] = {}
    given = [1.0] * len(rankings) if weights is None else weights
    for ranking, weight in zip(rankings, given, strict=True):
        for rank, reference in enumerate(_distinct(ranking), start=1):
            pool.setdefault(reference.id, reference)
            scores[reference.id] = scores.get(reference.id, 0.0) + weight / (k + rank)
    return sorted(pool.values(), key=lambda each: -scores[each.id])


def merge_references(
    rounds: Sequence[Sequence[Sequence[Reference]]], *, limit: int
) -> list[Reference]:
    """Merge what every round's queries found under a cap, so that no round pushes out another.

    The first round keeps half of the places, because the question itself stays the best query for
    its own words. Each later round then has one place for the best that only it brings, and the
    rest is dealt out by rank, round by round and query by query, since each query asks for
    something else. What is left over goes back to the first round.

    Args:
        rounds: For each round, for each of its queries, what it found, best first.
        limit: How many references are kept at most.

    Returns:
        At most `limit` references, none twice. Every round that found something which no other
        round's place already holds keeps one at least, as long as there are places.

    Example:
        >>> a, b, c, d, e = (Reference.of(text) for text in "abcde")
        >>> merged = merge_references([[[a, b, c]], [[d], [b, e]]], limit=4)
        >>> [each.text for each in merged]
        ['a', 'b', 'd', 'e']
    """
    first, *later = ([_by_rank(round_) for round_ in rounds if any(round_)]) or [[]]
    kept: dict[str, Reference] = {}
    if not later:
        return _distinct(first)[: max(0, limit)]
    # At least one place each, even under a cap of 1 or with more rounds than places.
    _take(kept, first, min(limit, max(1, min(limit // 2, limit - len(later)))))
    for round_ in later:
        _take(kept, round_, min(limit, len(kept) + 1))
    _take(kept, _in_turn(later), limit)
    _take(kept, first, limit)
    return list(kept.values())


def _by_rank(rankings: Sequence[Sequence[Reference]]) -> list[Reference]:
    """The first of every ranking, then the second of every ranking, and so on."""
    return list(_in_turn(rankings))


def _in_turn(lists: Sequence[Sequence[Reference]]) -> Iterator[Reference]:
    for place in range(max(map(len, lists), default=0)):
        yield from (each[place] for each in lists if place < len(each))


def _distinct(references: Iterable[Reference]) -> list[Reference]:
    return list({each.id: each for each in reversed(list(references))}.values())[::-1]


def _take(kept: dict[str, Reference], source: Iterable[Reference], until: int) -> None:
    """Take what is new from a source until so many are kept."""
    for reference in source:
        if len(kept) >= until:
            return
        kept.setdefault(reference.id, reference)
