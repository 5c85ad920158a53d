"""FusedRetriever: several retrievers with names, asked side by side.

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

from collections.abc import Mapping, Sequence
from dataclasses import replace

from skr_core.errors import InputError, NoReferencesError, RetrieverError, failure, translated
from skr_core.flow import Flow, arun, call, gather, run
from skr_core.ports import Retriever
from skr_core.references.copies import best_copies
from skr_core.references.found import FoundReferences, checked_references, errors_of
from skr_core.references.fusion import reciprocal_rank_fusion
from skr_core.types import Reference


class FusedRetriever:
    """Asks several retrievers the same, and fuses their rankings by reciprocal rank.

    Each reference says which of them found it. One that fails while others find something is told
    in the `FoundReferences`; where nothing was found, nothing is known of what it would have found.

    Args:
        retrievers: By name.
        passing: Exceptions that are no failure, and are raised as they are: a framework's control
            flow.

    Raises:
        InputError: There is no retriever.
        RetrieverError: While retrieving: one failed, and no other found anything.
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
        self._passing = tuple(passing)

    def retrieve(self, query: str) -> Sequence[Reference]:
        """Find references, best first."""
        return run(self._search(query))

    async def aretrieve(self, query: str) -> Sequence[Reference]:
        """Like `retrieve`, awaited."""
        return await arun(self._search(query))

    def _search(self, query: str) -> Flow[Sequence[Reference]]:
        errors: list[str] = []
        failures: list[RetrieverError] = []

        def attempt(name: str, retriever: Retriever) -> Flow[Sequence[Reference]]:
            try:
                with translated(RetrieverError, name, *self._passing):
                    found = yield from call(retriever.retrieve, retriever.aretrieve, query)
                    references = checked_references(found, retriever)
            except NoReferencesError:  # a mistake in its code, which no other search makes good
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
