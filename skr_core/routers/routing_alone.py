"""Routers in a place that decides whether to retrieve, and leaves the answering to others."""

from __future__ import annotations

import logging

from skr_core.errors import InputError
from skr_core.ports import AnswerArbiter, ClimbingRouter, DraftRouter, Router

_LOG = logging.getLogger(__name__)


def routing_alone(
    router: Router, place: str, *, has_model: bool = False, keeps_draft: bool = False
) -> Router:
    """Return a router for a place that only routes; one warning says what is left out there.

    A policy may ask for the direct answer, decide again after the first round and weigh the answers
    at the end. A retriever, a selector and a node of one's own graph decide once, before that.

    Args:
        router: The router.
        place: The name of what takes it, for the message.
        has_model: Whether the place has a model that gives the direct answer.
        keeps_draft: Whether the place hands on the direct answer that was looked at.

    Raises:
        InputError: The router decides nothing before the search, as it weighs answers alone; or it
            looks at the direct answer, and there is no model to give it.

    Example:
        >>> from skr_core.routers import NeverRetrieve
        >>> routing_alone(NeverRetrieve(), "SKRRetriever").decide("Who?").retrieve
        False
    """
    looks = isinstance(router, DraftRouter) and router.drafts
    weighs = isinstance(router, AnswerArbiter)
    if weighs and isinstance(router, DraftRouter) and not looks:
        raise InputError(
            f"{place} makes no answers, and this router asks for all of them and weighs them: give "
            f"it to a chain, an engine or a graph; without a router {place} always retrieves"
        )
    if looks and not has_model and getattr(router, "model", router) is None:
        raise InputError(
            f"this router looks at the model's direct answer, and {place} has no model to ask: "
            "give it model=..., or load the router with load_router(path, model=...)"
        )
    goes_on = looks and isinstance(router, ClimbingRouter) and len(router.actions) > 2
    parts = {
        "handing on the direct answer that it asks for": looks and not keeps_draft,
        "deciding again after the first round": goes_on,
        "weighing the answers": weighs,
    }
    if left_out := [part for part, is_left_out in parts.items() if is_left_out]:
        _LOG.warning(
            "%s takes of this router the decision before the search, and leaves out: %s; what it "
            "promises as a whole holds in a chain, an engine or a graph",
            place,
            ", ".join(left_out),
        )
    return router
