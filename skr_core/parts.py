"""Router, arbiter and reflector as callers give them: themselves, or the folder of a saved one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skr_core.errors import InputError
from skr_core.flow import Flow, call
from skr_core.ports import AnswerArbiter, LanguageModel, Reflector, Retriever, Router
from skr_core.reflectors.refusal import RefusalReflector
from skr_core.routers.constant import AlwaysRetrieve
from skr_core.types import Decision

RouterLike = Router | Path
"""A router, or the folder of a saved one.

A folder's name as a text is loaded too; a type checker refuses it, because it cannot tell it from a
misspelling such as ``router="never"``.
"""

ArbiterLike = AnswerArbiter | Path
"""An arbiter, or the folder that one was saved in."""

ReflectorLike = Reflector | Path
"""A reflector, or the folder that a learned one was saved in."""


def as_router(
    router: object, model: LanguageModel | None = None, retriever: Retriever | None = None
) -> Router:
    """Make a router of what a caller gave.

    Args:
        router: A router, or the folder of a saved one, which is loaded; None retrieves always.
        model: The one that will answer; compared with the folder's.
        retriever: The one that will search; compared with the folder's.

    Raises:
        InputError: It is neither, or there is no router in the folder.
        StampMismatch: The folder's router was made for another model or retriever.

    Example:
        >>> as_router(None).decide("Who?").retrieve
        True
    """
    if router is None:
        return AlwaysRetrieve()
    if isinstance(router, str | Path):
        from skr_core.routers.loading import load_router

        return load_router(router, model=model, retriever=retriever)
    if isinstance(router, type) or not isinstance(router, Router):
        raise _refused("a router has decide and adecide", router, "a saved one")
    return router


def decided(router: Router, question: str) -> Flow[Decision]:
    """Ask a router, which may be anybody's.

    Raises:
        InputError: It returned something else than a `Decision`.

    Example:
        >>> from skr_core.flow import run
        >>> run(decided(AlwaysRetrieve(), "Who?")).retrieve
        True
    """
    decision: object = yield from call(router.decide, router.adecide, question)
    if not isinstance(decision, Decision):
        raise InputError(
            f"{type(router).__name__} returned {type(decision).__name__}, not a Decision: return "
            "skr_core.types.Decision(retrieve=...)"
        )
    return decision


def as_arbiter(
    arbiter: object, model: LanguageModel | None = None, retriever: Retriever | None = None
) -> AnswerArbiter | None:
    """Make an arbiter of what a caller gave.

    Args:
        arbiter: An arbiter, or the folder of a saved one, which is loaded; None is none.
        model: The one that will answer; compared with the folder's.
        retriever: The one that will search; compared with the folder's.

    Raises:
        InputError: It is neither, or there is no arbiter in the folder.
        StampMismatch: The folder's arbiter was made for another model or retriever.
    """
    if isinstance(arbiter, str | Path):
        from skr_learn.arbiters import Arbiter

        return Arbiter.load(arbiter, model=model, retriever=retriever)
    if arbiter is None:
        return None
    if isinstance(arbiter, type) or not isinstance(arbiter, AnswerArbiter):
        raise _refused("an arbiter has actions, judge and ajudge", arbiter, "a saved one")
    return arbiter


def uses_likelihoods(arbiter: AnswerArbiter | None) -> bool:
    """Whether an arbiter looks at how likely the model finds the answers.

    Example:
        >>> from skr_learn.arbiters import MarginArbiter
        >>> uses_likelihoods(MarginArbiter()), uses_likelihoods(None)
        (True, False)
    """
    return bool(getattr(arbiter, "needs_likelihoods", False))


def as_reflector(
    reflector: object, model: LanguageModel | None = None, retriever: Retriever | None = None
) -> Reflector:
    """Make a reflector of what a caller gave.

    Args:
        reflector: A reflector, or the folder of a saved one, which is loaded; None reads the
            verdict from the model's reply.
        model: The one that will answer; compared with the folder's.
        retriever: The one that will search; compared with the folder's.

    Raises:
        InputError: It is neither, or there is no reflector in the folder.
        StampMismatch: The folder's reflector was made for another model or retriever.

    Example:
        >>> as_reflector(None).reflect("Who?", [], "I don't know.").sufficient
        False
    """
    if reflector is None:
        return RefusalReflector()
    if isinstance(reflector, str | Path):
        from skr_learn import LearnedReflector

        return LearnedReflector.load(reflector, model=model, retriever=retriever)
    if isinstance(reflector, type) or not isinstance(reflector, Reflector):
        raise _refused("a reflector has reflect and areflect", reflector, "a learned one")
    return reflector


def with_arbiter(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options with the arbiter that the router's folder holds, where they name none."""
    router = options.get("router")
    if options.get("arbiter") is None and isinstance(router, str | Path):
        from skr_core.routers.saving import holds_arbiter

        if holds_arbiter(router):
            return {**options, "arbiter": router}
    return dict(options)


def _refused(what: str, given: object, saved: str) -> InputError:
    if isinstance(given, type):
        return InputError(f"{what}: give {given.__name__}(...), not the class itself")
    lacking = f"{what}, which {type(given).__name__} lacks"
    return InputError(f"{lacking}: give one, or the folder of {saved}")
