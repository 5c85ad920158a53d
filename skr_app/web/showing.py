"""What the page shows of an answer: its text in pieces, its citations, the documents they are from.

A browser counts characters in another way than Python, and cleaning changes places. So texts are
cut here, by the spans of the citations, and the page puts the pieces one behind the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from itertools import pairwise
from typing import Any

from skr_app.web.streaming import file_name
from skr_core.references import document_of as document_of_source
from skr_core.references import place_of
from skr_core.types import Reference


def pieces_of(output: Mapping[str, Any]) -> list[dict[str, Any]]:
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


def citations_of(output: Mapping[str, Any]) -> list[dict[str, Any]]:
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


def document_of(reference: Mapping[str, Any]) -> dict[str, str]:
    """The document that a reference is a passage of: its name, and the place of the passage in it.

    The ``key`` is the same for the passages of one document, and tells no folder of it.

    Example:
        >>> passage = {"title": "Ferry", "metadata": {"source": "/home/ada/ferry.pdf", "page": 3}}
        >>> found = document_of(passage)
        >>> found["name"], found["place"]
        ('ferry.pdf', 'Ferry, page 3')
        >>> document_of({"title": "Jaws"})["name"]
        'Jaws'
    """
    title, metadata = reference.get("title", ""), reference.get("metadata") or {}
    passage = Reference("", "", title, metadata=metadata)
    source, place = document_of_source(passage), place_of(passage)
    name = title if source == title else file_name(source)
    return {
        "key": blake2b(source.encode(errors="replace"), digest_size=12).hexdigest(),
        "name": name or "A document without a name",
        "place": "" if place == name else place,
    }
