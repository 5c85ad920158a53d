"""CachedRouter: a router that decides nothing twice."""

from __future__ import annotations

from dataclasses import replace

from skr_core.caching.adapting import AnyCache, as_cache
from skr_core.caching.keeping import keep, key_of, look_up
from skr_core.flow import Flow, arun, call, run
from skr_core.ports import DraftRouter, Router
from skr_core.types import Decision, Generation


class CachedRouter:
    """Keeps a router's decisions, each under a name and the question.

    A router that asks a model costs no call where that is a `CachedModel`; this is for routers that
    take time of their own, such as those behind a server. A decision from the cache costs nothing.
    What failed is decided anew.

    Args:
        router: Decides what is not kept.
        cache: As for `CachedModel`.
        name: Of the router with all its settings, for nothing else tells it from another: a router
            that was fitted again, or has another threshold, needs another name.

    Attributes:
        drafts: Whether the router looks at the direct answer; its decisions are then kept under
            that too.

    Example:
        >>> from langchain_core.caches import InMemoryCache
        >>> from skr_core.routers import PromptRouter
        >>> from skr_core.testing import ScriptedModel
        >>> asks = PromptRouter(ScriptedModel(["No, I do not.", "Yes, I do."]))
        >>> router = CachedRouter(asks, InMemoryCache(), name="asks v1")
        >>> router.decide("Who?").retrieve, router.decide("Who?").retrieve
        (False, False)
        >>> router.decide("Who?").usage.calls
        0
    """

    def __init__(self, router: Router, cache: AnyCache, *, name: str) -> None:
        self.router, self.cache, self.name = router, as_cache(cache), name

    @property
    def drafts(self) -> bool:
        """Whether the router looks at the direct answer."""
        return isinstance(self.router, DraftRouter) and self.router.drafts

    def decide(self, question: str) -> Decision:
        """Look it up, or decide with blocking calls."""
        return run(self._decision(question))

    async def adecide(self, question: str) -> Decision:
        """The same, awaited."""
        return await arun(self._decision(question))

    def decide_on(self, question: str, direct: Generation) -> Decision:
        """The same for a router that looks at the direct answer."""
        return run(self._decision(question, direct))

    async def adecide_on(self, question: str, direct: Generation) -> Decision:
        """The same, awaited."""
        return await arun(self._decision(question, direct))

    def _decision(self, question: str, direct: Generation | None = None) -> Flow[Decision]:
        seen = None if direct is None else [direct.text, direct.mean_logprob]
        key = key_of("decision", self.name, question, seen)
        kept = yield from look_up(self.cache, key, Decision)
        if kept is not None:
            return replace(kept, usage=kept.usage.from_cache())
        router = self.router
        if direct is not None and isinstance(router, DraftRouter):
            made = yield from call(router.decide_on, router.adecide_on, question, direct)
        else:
            made = yield from call(router.decide, router.adecide, question)
        yield from keep(self.cache, key, made)
        return made
