"""What belongs to one process: a forked child begins it anew, and leaves its parent's alone.

A fork copies objects, locks and open files, but of all threads only one. A lock that another thread
held would be held in the child for ever, and a file that both have open has one place in it.
Connections of other libraries: `skr_core._compat.renew_connections_in_children`.

Example:
    >>> class Count(OfProcess):
    ...     def forget(self):
    ...         self.process = os.getpid()
    >>> count = Count()
    >>> renew_in_children(count)
    >>> child = os.fork() or os._exit(count.process != os.getpid())
    >>> os.waitpid(child, 0)[1]
    0
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from weakref import WeakSet


class OfProcess(ABC):
    """The base of what holds connections, locks or threads of its process."""

    def hold(self) -> None:  # noqa: B027 - most have nothing to wait for
        """Before a fork: wait for what other threads do here."""

    def resume(self) -> None:  # noqa: B027
        """After a fork, in the parent."""

    @abstractmethod
    def forget(self) -> None:
        """After a fork, in the child: begin anew, with locks of its own."""


_renewed: WeakSet[OfProcess] = WeakSet()
_held: list[OfProcess] = []
_forking = threading.Lock()


def renew_in_children(holder: OfProcess) -> None:
    """Have every forked child begin anew what is held here.

    Args:
        holder: The object; it is not kept alive by this.
    """
    with _forking:
        _renewed.add(holder)


def renew_no_more(holder: OfProcess) -> None:
    """Leave out what is closed.

    Args:
        holder: What `renew_in_children` was given.
    """
    with _forking:
        _renewed.discard(holder)


def leave_to_parent(thing: object) -> None:
    """Keep in a forked child what must not be ended there, also when the child itself ends.

    Args:
        thing: Such as what would wait for threads that did not come along.
    """
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def _before() -> None:
    _forking.acquire()
    _held[:] = _renewed
    for holder in _held:
        holder.hold()


def _in_parent() -> None:
    for holder in _held:
        holder.resume()
    _held.clear()
    _forking.release()


def _in_child() -> None:
    global _forking
    _forking = threading.Lock()
    for holder in _held:
        holder.forget()
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
