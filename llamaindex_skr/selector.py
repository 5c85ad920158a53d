"""SKRSelector: the choice between answering directly and retrieving, for LlamaIndex's routers."""

from __future__ import annotations

from collections.abc import Sequence

from llama_index.core.base.base_selector import BaseSelector, SelectorResult, SingleSelection
from llama_index.core.prompts.mixin import PromptDictType
from llama_index.core.schema import QueryBundle
from llama_index.core.tools import ToolMetadata

from llamaindex_skr.events import tell
from skr_core.errors import InputError
from skr_core.flow import Flow, arun, call, run
from skr_core.plain import to_plain
from skr_core.prompts.templates import checked_question
from skr_core.settings import RouterLike, as_router


class SKRSelector(BaseSelector):
    """Chooses one of two: what retrieves when the router says so, else the other.

    Stands where ``LLMSingleSelector`` stood in a ``RouterQueryEngine`` or ``RouterRetriever``. It
    goes by the question alone: names and descriptions of the choices are not read. The selection
    is never empty, and its reason is the decision's.

    Args:
        router: Decides whether to retrieve; or the folder of a saved router that asks no model.
        retrieving: Which of the two choices retrieves, 0 or 1; the other one answers directly.

    Raises:
        InputError: `retrieving` is neither 0 nor 1; or, while selecting, there are not two choices.

    Example:
        >>> from skr_core.routers import AlwaysRetrieve, NeverRetrieve
        >>> SKRSelector(AlwaysRetrieve()).select(["from memory", "from the index"], "Who?").ind
        1
        >>> SKRSelector(NeverRetrieve()).select(["from memory", "from the index"], "Who?").reason
        'no question is retrieved for'
    """

    def __init__(self, router: RouterLike, *, retrieving: int = 1) -> None:
        if retrieving not in (0, 1):
            raise InputError(f"retrieving must be 0 or 1, the place of a choice, not {retrieving}")
        self._router = as_router(router)
        self._retrieving = int(retrieving)

    def _select(self, choices: Sequence[ToolMetadata], query: QueryBundle) -> SelectorResult:
        return run(self._selection(choices, query))

    async def _aselect(self, choices: Sequence[ToolMetadata], query: QueryBundle) -> SelectorResult:
        return await arun(self._selection(choices, query))

    def _selection(
        self, choices: Sequence[ToolMetadata], query: QueryBundle
    ) -> Flow[SelectorResult]:
        if len(choices) != 2:
            raise InputError(
                f"SKRSelector chooses between two, what answers directly and what retrieves, "
                f"not among {len(choices)}: put several sources behind a router of their own"
            )
        question = checked_question(query.query_str)
        decision = yield from call(self._router.decide, self._router.adecide, question)
        tell({"type": "route", "decision": to_plain(decision)})
        chosen = self._retrieving if decision.retrieve else 1 - self._retrieving
        return SelectorResult(selections=[SingleSelection(index=chosen, reason=decision.reason)])

    def _get_prompts(self) -> PromptDictType:
        return {}  # a router keeps its own

    def _update_prompts(self, prompts: PromptDictType) -> None:
        pass
