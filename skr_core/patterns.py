"""Regular expressions that are compiled when they are first used.

The long patterns by which replies are read take longer to compile than the rest of a plug-in to
import, and an import that asks no model needs none of them.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, cast


class _Lazy:
    def __init__(self, source: str, flags: int) -> None:
        self.pattern, self._flags = source, flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern, self._flags)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._compiled, name)
        setattr(self, name, method)  # so that it is looked up once
        return method


def lazy_pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """The same as ``re.compile``, at the first search; a mistake in the pattern is raised then.

    What it finds knows the compiled pattern: ``match.re`` is not this object.

    Args:
        source: A regular expression.
        flags: As for ``re.compile``.

    Example:
        >>> lazy_pattern("(paris)", re.IGNORECASE).search("In Paris.")[1]
        'Paris'
    """
    return cast("re.Pattern[str]", _Lazy(source, flags))
