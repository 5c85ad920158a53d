"""Routers and reflectors of one method: async runs call it in a thread, and wait for nothing else.

Whoever waits for something in an async way of its own gives the async method too, see
`skr_core.ports`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from skr_core.types import Decision, Reference, Reflection


@runtime_checkable
class DecidesSync(Protocol):
    """A router that has `decide` alone."""

    def decide(self, question: str) -> Decision:
        """Decide whether a question needs retrieval."""


@runtime_checkable
class ReflectsSync(Protocol):
    """A reflector that has `reflect` alone."""

    def reflect(self, question: str, references: Sequence[Reference], draft: str) -> Reflection:
        """Judge whether references suffice for a draft."""


class SyncRouter:
    """A router of one method as a `skr_core.ports.Router`.

    Args:
        router: The router.

    Attributes:
        given: The router, as it was given.

    Example:
        >>> class Always:
        ...     def decide(self, question):
        ...         return Decision(True)
        >>> asyncio.run(SyncRouter(Always()).adecide("Who?")).retrieve
        True
    """

    def __init__(self, router: DecidesSync) -> None:
        self.given = self._router = router

    def decide(self, question: str) -> Decision:
        """Decide whether a question needs retrieval."""
        return self._router.decide(question)

    async def adecide(self, question: str) -> Decision:
        """Async version of `decide`."""
        return await asyncio.to_thread(self._router.decide, question)


class SyncReflector:
    """A reflector of one method as a `skr_core.ports.Reflector`.

    Args:
        reflector: The reflector.

    Attributes:
        given: The reflector, as it was given.
    """

    def __init__(self, reflector: ReflectsSync) -> None:
        self.given = self._reflector = reflector

    def reflect(self, question: str, references: Sequence[Reference], draft: str) -> Reflection:
        """Judge whether references suffice for a draft."""
        return self._reflector.reflect(question, references, draft)

    async def areflect(
        self, question: str, references: Sequence[Reference], draft: str
    ) -> Reflection:
        """Async version of `reflect`."""
        return await asyncio.to_thread(self._reflector.reflect, question, references, draft)
