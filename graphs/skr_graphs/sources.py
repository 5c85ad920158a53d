"""What the tokens of a stream may cite, for those who show sources beside an answer as it comes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from skr_core.plain import from_plain
from skr_core.types import Reference


class StreamedSources:
    """Reads the references of the answer that is streamed from a run's events.

    Example:
        >>> found = {"id": "7", "text": "Paris is the capital.", "title": "Paris"}
        >>> sources = StreamedSources()
        >>> sources.take({"type": "references", "round": 1, "added": [found], "total": 1})
        >>> [each.title for each in sources.take({"type": "sources", "references": ["7"]})]
        ['Paris']
    """

    def __init__(self) -> None:
        self._found: dict[str, Any] = {}

    def take(self, event: Mapping[str, Any]) -> Sequence[Reference] | None:
        """Take the next event.

        Returns:
            What the tokens that follow may cite, in the order of their [n] markers, where the event
            says so; else None.
        """
        if event["type"] == "references":
            self._found |= {plain["id"]: plain for plain in event["added"]}
        if event["type"] != "sources":
            return None
        return [from_plain(Reference, self._found[key]) for key in event["references"]]
