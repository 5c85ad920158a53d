"""Threads of linear algebra: on small matrices they wait for each other longer than they work."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from skr_core.errors import extra


def one_thread() -> AbstractContextManager[Any]:
    """Within this block BLAS uses one thread.

    The setting is the process's. Of several Python threads the first decides, and for the others
    nothing changes.

    Example:
        >>> with one_thread():
        ...     {library["num_threads"] for library in _libraries().info()}
        {1}
    """
    limit: AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="blas")
    return limit


@cache
def _libraries() -> Any:
    with extra("learning"):
        import scipy.linalg  # noqa: F401  # brings a BLAS of its own, which is to be found
        from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")
