"""Threads of linear algebra: on small matrices they wait for each other longer than they work.

Where torch has just embedded a question, they wait for its threads too.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

from skr_core.errors import MissingDependency, extra


def one_thread() -> AbstractContextManager[Any]:
    """Within this block BLAS uses one thread, where the extra ``learning`` is installed.

    The setting is the process's. Of several Python threads the first decides, and for the others
    nothing changes.

    Example:
        >>> with one_thread():
        ...     {library["num_threads"] for library in _libraries().info()}
        {1}
    """
    libraries = _libraries()
    if libraries is None:
        return nullcontext()
    limit: AbstractContextManager[Any] = libraries.limit(limits=1, user_api="blas")
    return limit


@cache
def _libraries() -> Any:
    try:
        with extra("learning"):
            import scipy.linalg  # noqa: F401  # brings a BLAS of its own, which is to be found
            from threadpoolctl import ThreadpoolController
    except MissingDependency:  # whoever decides by vectors of numpy alone needs neither
        return None
    return ThreadpoolController().select(user_api="blas")
