"""SKRSelector: the choice between answering directly and retrieving, for LlamaIndex's routers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.base.base_selector import BaseSelector, SelectorResult, SingleSelection
from llama_index.core.prompts.mixin import PromptDictType, PromptMixinType
from llama_index.core.schema import QueryBundle
from llama_index.core.tools import ToolMetadata

from llamaindex_skr.events import tell
from skr_core.errors import InputError, ModelError
from skr_core.flow import Flow, arun, call, run
from skr_core.plain import to_plain
from skr_core.prompts.asking import checked_question
from skr_core.settings import RouterLike, as_router, decided


class SKRSelector(BaseSelector):
    """Chooses what retrieves when the router says so, else what answers directly.

    Stands where ``LLMSingleSelector`` stood in a ``RouterQueryEngine`` or ``RouterRetriever``. It
    goes by the question alone: names and descriptions of the choices are not read, but by the
    `selector` that chooses among several sources. The selection is never empty, and its reason is
    the decision's.

    Args:
        router: Decides whether to retrieve; or the folder of a saved router that asks no model.
        retrieving: Places of the choices that retrieve, from 0; by default all but the first. The
            others answer directly.
        selector: Of LlamaIndex, such as an ``LLMSingleSelector``: chooses where several choices
            retrieve, or several answer directly. Without one all of them are selected.

    Raises:
        InputError: `retrieving` names no place; or, while selecting, a place that there is not, or
            leaves nothing that answers directly.
        ModelError: While selecting: the selector chose what there is not.

    Example:
        >>> from skr_core.routers import AlwaysRetrieve, NeverRetrieve
        >>> choices = ["from memory", "from the wiki", "from the web"]
        >>> SKRSelector(AlwaysRetrieve()).select(choices, "Who?").inds
        [1, 2]
        >>> known = SKRSelector(NeverRetrieve()).select(choices, "Who?")
        >>> known.ind, known.reason
        (0, 'no question is retrieved for')
    """

    def __init__(
        self,
        router: RouterLike,
        *,
        retrieving: int | Sequence[int] | None = None,
        selector: BaseSelector | None = None,
    ) -> None:
        places = (retrieving,) if isinstance(retrieving, int) else retrieving
        if places is not None and (not places or min(places) < 0):
            raise InputError(f"retrieving must be places of choices, from 0, not {retrieving}")
        self._router = as_router(router)
        self._retrieving = None if places is None else frozenset(map(int, places))
        self._selector = selector

    def _select(self, choices: Sequence[ToolMetadata], query: QueryBundle) -> SelectorResult:
        return run(self._selection(choices, query))

    async def _aselect(self, choices: Sequence[ToolMetadata], query: QueryBundle) -> SelectorResult:
        return await arun(self._selection(choices, query))

    def _selection(
        self, choices: Sequence[ToolMetadata], query: QueryBundle
    ) -> Flow[SelectorResult]:
        places = range(len(choices))
        retrieving = set(places[1:]) if self._retrieving is None else self._retrieving
        direct = [place for place in places if place not in retrieving]
        if not direct or not retrieving.issubset(places) or not retrieving:
            raise InputError(
                f"SKRSelector chooses between what answers directly and what retrieves: of "
                f"{len(choices)} choices {sorted(retrieving)} cannot be those that retrieve"
            )
        question = checked_question(query.query_str)
        decision = yield from decided(self._router, question)
        tell({"type": "route", "decision": to_plain(decision)})
        wanted = sorted(retrieving) if decision.retrieve else direct
        if self._selector is None or len(wanted) == 1:
            chosen = [SingleSelection(index=place, reason=decision.reason) for place in wanted]
            return SelectorResult(selections=chosen)
        return (yield from self._among(wanted, choices, query, decision.reason))

    def _among(
        self, wanted: Sequence[int], choices: Sequence[ToolMetadata], query: QueryBundle, why: str
    ) -> Flow[SelectorResult]:
        """Let the selector choose among the choices of one kind."""
        selector: Any = self._selector
        some = [choices[place] for place in wanted]
        result = yield from call(selector.select, selector.aselect, some, query)
        if not result.selections or not all(0 <= each < len(some) for each in result.inds):
            raise ModelError(f"the selector chose {result.inds} of {len(some)} choices, from 0")
        return SelectorResult(
            selections=[
                SingleSelection(index=wanted[each.index], reason=f"{why}; {each.reason}")
                for each in result.selections
            ]
        )

    def _get_prompts(self) -> PromptDictType:
        return {}  # a router keeps its own

    def _update_prompts(self, prompts: PromptDictType) -> None:
        pass

    def _get_prompt_modules(self) -> PromptMixinType:
        return {} if self._selector is None else {"selector": self._selector}
