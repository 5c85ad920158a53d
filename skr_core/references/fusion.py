"""Joining rankings: of several queries, of several rounds, and of several retrievers with names.

Only ranks are read: the score that one query gives a passage says nothing beside another query's.
Where several retrievers find the same words, one reference stays and names the other places.

Example:
    >>> from skr_core.testing import MappingRetriever
    >>> wiki = MappingRetriever({"Capital?": ["Paris is the capital.", "Paris is old."]})
    >>> web = MappingRetriever({"Capital?": ["Lyon is large.", "Paris is the capital."]})
    >>> for found in FusedRetriever({"wiki": wiki, "web": web}).retrieve("Capital?"):
    ...     print(found.text, found.found_by)
    Paris is the capital. ('wiki', 'web')
    Lyon is large. ('web',)
    Paris is old. ('wiki',)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any, TypeVar

from skr_core.errors import InputError, NoReferencesError, RetrieverError, failure, translated
from skr_core.flow import Flow, arun, call, gather, run
from skr_core.ports import ArrangingRetriever, Retriever, version_of
from skr_core.references.found import FoundReferences, checked_references, errors_of
from skr_core.types import Reference

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
        rankings: The rankings, each of ids, best first. Within one the first occurrence of an id
            counts.
        weights: The weight of each ranking; 1 where not given.
        k: The constant that flattens the top; a greater one flattens more.

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
        rounds: The ids that each query of each round found, best first.
        limit: The most ids that are kept.

    Returns:
        At most `limit` ids, each once. Every round that found an id which no other round's slot has
        keeps at least one, as long as there are slots.

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


T = TypeVar("T")


def best_copies(rankings: Sequence[Iterable[Reference]]) -> dict[str, Reference]:
    """Each reference by its id; of equal ones the best-ranked, which names the others.

    Args:
        rankings: The rankings, each best first. Of equal ranks the first ranking's counts.
    """
    return joined(rankings, lambda each: each.id, with_copy)


def joined(
    rankings: Sequence[Iterable[T]], identity: Callable[[T], str], join: Callable[[T, T], T]
) -> dict[str, T]:
    """Each item by its identity, best-ranked first; equal ones are joined.

    Args:
        rankings: The rankings of items in any form, each best first.
        identity: Returns the identity of an item.
        join: Joins the better-ranked of two equal items with the other.
    """
    best: dict[str, T] = {}
    for rank in zip_longest(*rankings):
        for each in rank:
            if each is not None:
                key = identity(each)
                best[key] = join(best[key], each) if key in best else each
    return best


def with_copy(best: Reference, other: Reference) -> Reference:
    """The better-ranked of two references that say the same, which names the other.

    One with an original is better than one without.

    Example:
        >>> first = Reference.of("Wash by hand.", original={"id": "1", "metadata": {"page": 3}})
        >>> other = Reference.of("Wash by hand.", original={"id": "2", "metadata": {"page": 9}})
        >>> found = with_copy(first, other)
        >>> found.original["id"], found.also_in
        ('1', ({'id': '2', 'metadata': {'page': 9}},))
        >>> with_copy(found, other) == found
        True
    """
    found_by = tuple(dict.fromkeys((*best.found_by, *other.found_by)))
    if best.original is None:
        return replace(best if other.original is None else other, found_by=found_by)
    named = list(best.also_in)
    for each in (other.original, *other.also_in):
        if each and not any(_is_same(each, known) for known in (best.original, *named)):
            named.append(each)
    return replace(best, also_in=tuple(named), found_by=found_by)


def is_reordered(before: Iterable[object], after: Iterable[object]) -> bool:
    """Whether the very same came back in another order.

    What only reorders, such as LongContextReorder, says how a model should read, and nothing of
    what is best: positions that it chose must not be fused as ranks.

    Example:
        >>> is_reordered("abc", "cab"), is_reordered("abc", "abc"), is_reordered("abc", "ba")
        (True, False, False)
    """
    left, given = list(before), list(after)
    if left == given:
        return False
    for each in given:
        if each not in left:
            return False
        left.remove(each)
    return not left


def arranged(
    retriever: object, references: Sequence[Reference], before: Sequence[str] = ()
) -> Flow[tuple[Reference, ...]]:
    """The references in the order in which a model reads them.

    An `ArrangingRetriever` may tell the order. Otherwise those that an earlier prompt has shown
    keep their order there, so that both prompts begin alike, and the others follow by rank.

    Args:
        retriever: The retriever that found them.
        references: The references, best first.
        before: The ids of the earlier prompt's references, in their order there.

    Example:
        >>> found = [Reference.of(text) for text in ("New.", "Second.", "First.")]
        >>> read = run(arranged(None, found, [found[2].id, found[1].id]))
        >>> [each.text for each in read]
        ['First.', 'Second.', 'New.']
    """
    best = tuple(references)
    if isinstance(retriever, ArrangingRetriever):
        told = yield from call(retriever.arrange, retriever.aarrange, references)
        if tuple(told) != best:
            return tuple(told)
    places = {key: place for place, key in enumerate(before)}
    return tuple(sorted(best, key=lambda each: places.get(each.id, len(places))))


def places(reference: Reference) -> list[dict[str, Any]]:
    """The other places of a reference's text: the metadata of each other original, with its id."""
    return [{"id": _id(each), **each.get("metadata", {})} for each in reference.also_in]


def _id(original: Mapping[str, Any]) -> Any:
    return original.get("id", original.get("id_"))


def _is_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two originals are the same, by their ids or else by their metadata.

    Floats do not count: one may be the score, which differs between queries.
    """
    if _id(one) is not None or _id(other) is not None:
        return bool(_id(one) == _id(other))
    return _unscored(one) == _unscored(other)


def _unscored(original: Mapping[str, Any]) -> dict[str, Any]:
    from pydantic_core import to_jsonable_python  # as a store gives it back

    metadata = to_jsonable_python(original.get("metadata", {}), fallback=str, bytes_mode="base64")
    return {key: value for key, value in metadata.items() if not isinstance(value, float)}


class FusedRetriever:
    """Asks several retrievers the same side by side, and fuses their rankings by reciprocal rank.

    Each reference names the retrievers that found it. A retriever's failure is reported in the
    `FoundReferences` where others find something, and raised where none does.

    Args:
        retrievers: The retrievers by name.
        passing: The exceptions that are no failure and are raised as they are: a framework's
            control flow.

    Raises:
        InputError: There is no retriever.
        RetrieverError: While retrieving, one failed and no other found anything.
    """

    def __init__(
        self,
        retrievers: Mapping[str, Retriever],
        *,
        passing: Sequence[type[BaseException]] = (),
    ) -> None:
        if not retrievers:
            raise InputError("there is no retriever: give at least one, by name")
        self.retrievers = dict(retrievers)
        self.name = "+".join(self.retrievers)
        self.version = " + ".join(version_of(each) for each in self.retrievers.values())
        self._passing = tuple(passing)

    def retrieve(self, query: str) -> Sequence[Reference]:
        """Find references, best first."""
        return run(self._search(query))

    async def aretrieve(self, query: str) -> Sequence[Reference]:
        """Async version of `retrieve`."""
        return await arun(self._search(query))

    def _search(self, query: str) -> Flow[Sequence[Reference]]:
        errors: list[str] = []
        failures: list[RetrieverError] = []

        def attempt(name: str, retriever: Retriever) -> Flow[Sequence[Reference]]:
            try:
                with translated(RetrieverError, name, *self._passing):
                    found = yield from call(retriever.retrieve, retriever.aretrieve, query)
                    references = checked_references(found, retriever)
            except NoReferencesError:  # a mistake in its code, which another search must not hide
                raise
            except RetrieverError as error:
                errors.append(str(error))
                failures.append(error)
                return ()
            errors.extend(errors_of(found))
            return [replace(each, found_by=(name,)) for each in references]

        rankings = yield from gather([attempt(*each) for each in self.retrievers.items()])
        if failures and not any(rankings):
            first = failures[0]
            raise failure(RetrieverError, "; ".join(errors), first) from first
        best = best_copies(rankings)
        order = reciprocal_rank_fusion([[each.id for each in ranking] for ranking in rankings])
        return FoundReferences([best[key] for key in order], errors)
