"""What a page is given of others' texts: cleaned, and cut where something is to be marked.

A browser counts characters in another way than Python, and cleaning changes places, so texts are
cut here, by the spans of the citations, and the page puts the pieces one behind the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from skr_core.cleaning import cleaned

Plain = Mapping[str, Any]


def shown(value: Any) -> Any:
    r"""A plain value whose texts are all cleaned.

    Example:
        >>> shown({"text": "red \x1b[31m", "found": ["a\u202eb", 3]})
        {'text': 'red [31m', 'found': ['ab', 3]}
    """
    if isinstance(value, str):
        return cleaned(value)
    if isinstance(value, Mapping):
        return {str(key): shown(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [shown(each) for each in value]
    return value


def pieces_of(output: Plain) -> list[dict[str, Any]]:
    """The answer in pieces: a text, and for a marker the place of its citation.

    Example:
        >>> pieces_of({"answer": "Paris [1].", "citations": [{"span": [6, 9]}]})
        [{'text': 'Paris '}, {'text': '[1]', 'citation': 0}, {'text': '.'}]
    """
    text, spans = output["answer"], [tuple(each["span"]) for each in output["citations"]]
    pieces: list[dict[str, Any]] = []
    ends = [0, *(end for _, end in spans)]
    for place, (start, end) in enumerate(spans):
        pieces.append({"text": text[ends[place] : start]})
        pieces.append({"text": text[start:end], "citation": place})
    pieces.append({"text": text[ends[-1] :]})
    return [each for each in pieces if each["text"]]


def citations_of(output: Plain) -> list[dict[str, Any]]:
    """Each citation with its reference's text, cut around the sentence that supports it.

    Example:
        >>> output = {
        ...     "references": [{"id": "a", "title": "Paris", "text": "Large. It is old."}],
        ...     "citations": [{"marker": 1, "reference_id": "a", "quote_span": [7, 17]}],
        ... }
        >>> citations_of(output)[0]["parts"]
        ['Large. ', 'It is old.', '']
    """
    by_id = {each["id"]: each for each in output["references"]}
    cited = []
    for each in output["citations"]:
        text = by_id[each["reference_id"]]["text"]
        places = (0, *each.get("quote_span", (0, 0)), len(text))
        cited.append(
            {
                "marker": each["marker"],
                "reference_id": each["reference_id"],
                "parts": [text[start:end] for start, end in pairwise(places)],
            }
        )
    return cited
