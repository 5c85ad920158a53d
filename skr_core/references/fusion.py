"""Rank fusion: joining lists whose scores are not comparable.

Only ranks are read: the score that one query gives a passage says nothing beside another query's.
Rankings hold ids, best first; both functions are pure and know neither retriever nor model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

RANK_CONSTANT = 60
"""The usual k of reciprocal rank fusion (Cormack et al., SIGIR 2009)."""


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[str]],
    *,
    weights: Sequence[float] | None = None,
    k: int = RANK_CONSTANT,
) -> list[str]:
    """Fuse rankings of the *same* query: the sum of weight / (k + rank), best first.

    It favours what several rankings agree on, so it suits two retrievers that were asked the same
    thing, and not queries that ask for different things: those go to `merge_rankings`.

    Args:
        rankings: Each best first. Within one ranking the first occurrence of an id counts.
        weights: One for each ranking; all 1 where not given.
        k: How flat the top is; greater is flatter.

    Raises:
        ValueError: There are not as many weights as rankings.

    Example:
        >>> reciprocal_rank_fusion(["ab", "bc"])
        ['b', 'a', 'c']
    """
    scores: dict[str, float] = {}
    given = [1.0] * len(rankings) if weights is None else weights
    for ranking, weight in zip(rankings, given, strict=True):
        for rank, key in enumerate(dict.fromkeys(ranking), start=1):
            scores[key] = scores.get(key, 0.0) + weight / (k + rank)
    return sorted(scores, key=lambda key: -scores[key])


def merge_rankings(rounds: Sequence[Sequence[Sequence[str]]], *, limit: int) -> list[str]:
    """Merge what every round's queries found under a cap, so that no round pushes out another.

    The first round keeps half of the slots, because the question itself stays the best query for
    its own words. Each later round then has one slot for the best that only it brings, and the
    rest is dealt out by rank, round by round and query by query, since each query asks for
    something else. What is left over goes back to the first round.

    Args:
        rounds: For each round, for each of its queries, the ids it found, best first.
        limit: How many ids are kept at most.

    Returns:
        At most `limit` ids, none twice. Every round that found something which no other round's
        slot already holds keeps one at least, as long as there are slots.

    Example:
        >>> merge_rankings([["abc"], ["d", "be"]], limit=4)
        ['a', 'b', 'd', 'e']
    """
    first, *later = ([list(_in_turn(round_)) for round_ in rounds if any(round_)]) or [[]]
    kept: dict[str, None] = {}
    if not later:
        return list(dict.fromkeys(first))[: max(0, limit)]
    # At least one slot each, even under a cap of 1 or with more rounds than slots.
    _take(kept, first, min(limit, max(1, min(limit // 2, limit - len(later)))))
    for round_ in later:
        _take(kept, round_, min(limit, len(kept) + 1))
    _take(kept, _in_turn(later), limit)
    _take(kept, first, limit)
    return list(kept)


def _in_turn(rankings: Sequence[Sequence[str]]) -> Iterator[str]:
    """The first of every ranking, then the second of every ranking, and so on."""
    return (key for rank in zip_longest(*rankings) for key in rank if key is not None)


def _take(kept: dict[str, None], source: Iterable[str], until: int) -> None:
    """Take what is new from a source until so many are kept."""
    for key in source:
        if len(kept) >= until:
            return
        kept.setdefault(key)
