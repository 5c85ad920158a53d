"""A saved router that is read anew where its file has been replaced, between two questions."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Hashable
from pathlib import Path
from threading import Lock
from typing import Any

from skr_core.errors import InputError, SKRError
from skr_core.forks import OfProcess, renew_in_children
from skr_core.ports import AnswerArbiter, ClimbingRouter, DraftRouter, Router
from skr_core.types import Decision

MOST = 10_000
"""Questions whose router is remembered, those that were heard of last."""

_OF_PORTS = (
    *("drafts", "actions", "decide_on", "adecide_on", "decide_after", "adecide_after"),
    *("searches", "judge", "ajudge"),
)
_LOG = logging.getLogger(__name__)


class _FromFile(OfProcess):
    """A router in whose place another comes when its file is replaced; `reloading` makes one.

    Whoever decides once a question calls `decide`. Whoever decides several times calls `refresh`
    at the beginning, and asks the router that `of_question` returns. A file that cannot be used is
    told once, in the log, and the router before it goes on.
    """

    def __init__(self, path: Path, load: Callable[[], Router], first: Router, seen: object) -> None:
        self._path, self._load, self._now, self._seen = path, load, first, seen
        self._begun: OrderedDict[Hashable, Router] = OrderedDict()
        self.forget()
        renew_in_children(self)

    def forget(self) -> None:
        """Take locks that nobody holds; also in a forked child."""
        self._loading, self._remembering = Lock(), Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process reads the file for itself."""
        return reloading, (self._path, self._load)

    def __getattr__(self, name: str) -> Any:
        """Whatever else the router of today has, such as its stamp."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._now, name)

    def refresh(self) -> None:
        """Take up the file where it has been replaced; questions meanwhile keep the router."""
        seen = _identity(self._path)
        if seen == self._seen or not self._loading.acquire(blocking=False):
            return
        try:
            self._seen = seen  # the same broken file is not read again
            router = self._load()
            if _kind(router) != _kind(self._now):
                raise InputError("it decides at other places than the router before it")
            self._now = router
        except (SKRError, OSError) as error:
            _LOG.warning(
                "the router of %s is not taken up, and the one before it goes on: %s",
                self._path,
                " ".join(str(error).split()),
            )
        finally:
            self._loading.release()

    async def arefresh(self) -> None:
        """Async version of `refresh`: a file is read in a thread."""
        if _identity(self._path) != self._seen:
            await asyncio.to_thread(self.refresh)

    def of_question(self, key: Hashable) -> Router:
        """Return the router of a question: that of today, and again the same."""
        with self._remembering:
            self._begun[key] = router = self._begun.pop(key, self._now)
            if len(self._begun) > MOST:
                self._begun.popitem(last=False)
        return router

    def decide(self, question: str) -> Decision:
        """Decide with the router of today."""
        self.refresh()
        return self._now.decide(question)

    async def adecide(self, question: str) -> Decision:
        """Async version of `decide`."""
        await self.arefresh()
        return await self._now.adecide(question)


def reloading(path: Path, load: Callable[[], Router]) -> Router:
    """Make a router that has what the router of its file has, and follows the file.

    A file takes the place of another where it decides at the same places: a ladder in the place of
    a ladder, whatever it has learnt.

    Args:
        path: The file.
        load: The function that reads it.

    Raises:
        SKRError: The file cannot be read, as `load` says.

    Example:
        >>> import tempfile
        >>> from skr_core.routers import AlwaysRetrieve, NeverRetrieve, load_router
        >>> path = Path(tempfile.mkdtemp(), "router")
        >>> NeverRetrieve().save(path)
        >>> router = load_router(path, reload=True)
        >>> before = router.decide("Who?").retrieve
        >>> AlwaysRetrieve().save(path)
        >>> before, router.decide("Who?").retrieve
        (False, True)
    """
    seen = _identity(path)
    first = load()
    # Ports are told by what a class has, and a router that weighs nothing must not look as if.
    parts = {name: _today(name) for name in _OF_PORTS if hasattr(first, name)}
    made: Router = type("RouterFromFile", (_FromFile,), parts)(path, load, first, seen)
    return made


def _today(name: str) -> property:
    return property(lambda self: getattr(self._now, name))


def _kind(router: Router) -> object:
    """What others have been told of a router when it was given to them."""
    looks = isinstance(router, DraftRouter) and router.drafts
    return looks, isinstance(router, ClimbingRouter), isinstance(router, AnswerArbiter)


def _identity(path: Path) -> object:
    """What changes when a file is replaced; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size
