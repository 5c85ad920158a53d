"""A router by its file or by its name.

A file says of which kind its router is. The class of a kind is looked up in the registry: whatever
a file says, only what an installed package announces is ever imported for it.

Routers that need no records have names wherever a saved one is taken: ``always``, ``never``,
``uncertainty``, ``certainty_level``, ``prompt:can_answer``, ``confidence:punish_explain``. What
stands behind the colon is the parameter that the class names as its ``parameter``.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skr_core.errors import DataError, InputError
from skr_core.models.adapting import (
    AnyEmbedder,
    AnyModel,
    AnyRetriever,
    as_embedder,
    as_language_model,
    as_retriever,
)
from skr_core.ports import Router
from skr_core.registry import names_of, registered, required
from skr_core.routers.saving import SavedRouter
from skr_core.sync_only import SyncRouter

if TYPE_CHECKING:
    from skr_core.ports import LanguageModel


def load_router(
    path: str | Path,
    *,
    model: AnyModel | None = None,
    retriever: AnyRetriever | None = None,
    embedder: AnyEmbedder | None = None,
    force: bool = False,
    reload: bool = False,
) -> Router:
    """Load a router that was saved, or make one of a name.

    Model, retriever and embedder may be a framework's own objects.

    Args:
        path: The file; or where there is none, the name of a router that needs no records, such as
            ``never`` or ``confidence:punish_explain``.
        model: The model to ask, for routers that ask one.
        retriever: The retriever that will search; compared with what a fitted router was made with.
        embedder: The user's own, for routers that were fitted with one; others make theirs again.
        force: Whether it is loaded although it was made with another model, retriever, embedder or
            wording.
        reload: Whether a file that is put in its place is taken up by the next question, whole; see
            `skr_core.routers.reloading`.

    Raises:
        InputError: There is no router, or it lacks the model or embedder it needs.
        DataError: Its file is broken, or no installed package announces its kind.
        StampMismatch: It was made with something else.

    Example:
        >>> import tempfile
        >>> from skr_core.testing import ScriptedModel
        >>> model, path = ScriptedModel(["No."]), Path(tempfile.mkdtemp(), "router")
        >>> load_router("prompt:can_solve", model=model).save(path)
        >>> load_router(path, model=model).decide("Who wrote Emma?").retrieve
        True
    """
    asked = None if model is None else as_language_model(model)
    if reload:
        from skr_core.routers.reloading import reloading

        parts: Any = {"retriever": retriever, "embedder": embedder, "force": force}
        return reloading(Path(path), partial(load_router, path, model=asked, **parts))
    if not Path(path).is_file() and (named := named_router(str(path), asked)) is not None:
        return named
    saved = SavedRouter.read(path)
    found = class_of(saved)
    with saved.unpacking():
        router: Router = found.load(
            saved,
            model=asked,
            retriever=None if retriever is None else as_retriever(retriever),
            embedder=None if embedder is None else as_embedder(embedder),
            force=force,
        )
    return router


def named_router(name: str, model: LanguageModel | None = None) -> Router | None:
    """Make the router of a name, without a look at files.

    Returns:
        None where no router is registered by that name.

    Raises:
        InputError: It learns from records, needs a model that is not given, or has no parameter.

    Example:
        >>> named_router("never").decide("Who wrote Emma?").retrieve
        False
    """
    made = registered_by_name("routers", name, model)
    return made if made is None or isinstance(made, Router) else SyncRouter(made)


def registered_by_name(group: str, name: str, model: LanguageModel | None = None) -> Any:
    """Make what an installed package registers by a name: of nothing, or of the model alone.

    Args:
        group: The group, ``routers`` or ``reflectors``.
        name: The name, perhaps with the value of its class's ``parameter`` behind a colon.
        model: The model to ask, for those that ask one.

    Returns:
        None where nothing is registered by that name.

    Raises:
        InputError: It needs a model that is not given, is made of something else, or has no
            parameter.
    """
    kind, colon, value = name.partition(":")
    if kind not in names_of(group):
        return None
    what, made = group[:-1], registered(group, kind)
    needed, parameter = required(made), getattr(made, "parameter", "")
    if needed not in ([], ["model"]):
        if hasattr(made, "fit") or hasattr(made, "from_records"):
            raise InputError(
                f"the {what} {kind!r} learns from records: give the file that "
                "skr calibrate RECORDS --out FILE wrote"
            )
        raise InputError(
            f"the {what} {kind!r} is made of {', '.join(needed)}: make it first, and give it"
        )
    if needed and model is None:
        ready = f"load_{what}({name!r}, model=...)" if group == "routers" else "a ready one"
        raise InputError(f"the {what} {kind!r} asks a model: give model= or llm=, or {ready}")
    if colon and not parameter:
        raise InputError(f"the {what} {kind!r} takes nothing behind a colon, and not {value!r}")
    options = {parameter: value} if colon else {}
    return made(model, **options) if needed else made(**options)


def class_of(saved: SavedRouter, group: str = "routers") -> Any:
    """Import the class of what a file holds, as an installed package announces it.

    Raises:
        DataError: No package announces that kind.
    """
    if saved.kind not in names_of(group):
        problem = f"no {group[:-1]} of kind {saved.kind!r} is known here"
        raise DataError(saved.path or "", None, problem)
    return registered(group, saved.kind)
