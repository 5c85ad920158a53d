"""Loading any router from the folder that it was saved in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from skr_core.errors import DataError, InputError, SKRError
from skr_core.files.arrays import BROKEN
from skr_core.models.adapting import AnyModel, as_language_model
from skr_core.registry import registered
from skr_core.routers.saving import ROUTER_FILE, read_router

if TYPE_CHECKING:
    from skr_core.ports import Embedder, Retriever, Router


def load_router(
    path: str | Path,
    *,
    model: AnyModel | None = None,
    retriever: Retriever | None = None,
    embedder: Embedder | None = None,
    force: bool = False,
) -> Router:
    """Load any router that was saved.

    Args:
        path: The folder.
        model: For routers that ask a model.
        embedder: For routers that were fitted with an embedder of the user's own; others make
            theirs again.
        retriever: The one that will search; compared with what a fitted router was made with.
        force: Load it although it was made with another model, retriever, embedder or wording.

    Raises:
        InputError: There is no router, or it lacks the model or embedder it needs.
        DataError: Its files are broken.
        StampMismatch: It was made with something else.

    Example:
        >>> import tempfile
        >>> from skr_core.routers.prompt import PromptRouter
        >>> from skr_core.testing import ScriptedModel
        >>> model, folder = ScriptedModel(["No."]), tempfile.mkdtemp()
        >>> PromptRouter(model).save(folder)
        >>> load_router(folder, model=model).decide("Who wrote Emma?").retrieve
        False
    """
    kind = read_router(path).kind
    try:
        found = registered("routers", kind)
    except InputError as error:
        raise DataError(Path(path) / ROUTER_FILE, None, str(error)) from error
    asked = None if model is None else as_language_model(model)
    try:
        router: Router = found.load(
            path, model=asked, embedder=embedder, retriever=retriever, force=force
        )
    except SKRError:
        raise
    except BROKEN as error:
        file = Path(path) / ROUTER_FILE
        raise DataError(file, None, f"this is not a saved {kind} router ({error})") from error
    return router
