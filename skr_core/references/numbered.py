"""An answer's text that ends with its sources, under numbers that are its conversation's own.

In an answer each [n] counts its own references. Where several answers stand in one conversation, as
those of a tool that an agent calls again, the same number would name different sources. Here each
source keeps one number through all of them.

Example:
    >>> from skr_core.types import Answer, Citation, Decision
    >>> paris = Reference.of("Paris is the capital of France.", "Paris")
    >>> cited = (Citation(1, paris.id, "Paris [1].", (6, 9)),)
    >>> answer = Answer(
    ...     "Capital?", "Paris [1].", cited, (paris,), Decision(True), (), "sufficient", {},
    ...     grounded=True,
    ... )
    >>> print(text_with_sources(answer, number_sources(answer, {}, free_numbers(after=4))))
    Paris [5].
    <BLANKLINE>
    Sources:
    [5] Paris
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import count

from skr_core.references.fencing import LONGEST_LABEL, one_line
from skr_core.types import Answer, Reference

HEADING = "Sources:"
UNSUPPORTED = "(Not supported by the references.)"
"""Said of an answer that was retrieved for and rests on no reference."""

UNCITED = "(Answered from the sources below; it was not said which of them supports what.)"
"""Said of an answer that was found sufficient, and cites nothing because nothing asked it to."""

EXCERPT = 120
"""Characters of a source without a title."""

_LINE = re.compile(r"^\[(\d{1,4})\] ", re.MULTILINE)


def shown_sources(answer: Answer) -> Sequence[Reference]:
    """What the text names as its sources: what it cites, or all where it was not asked to cite."""
    if answer.citations or answer.stop_reason != "sufficient":
        return answer.cited_references
    return answer.references


def free_numbers(*, after: int, place: int = 0, of: int = 1) -> Iterator[int]:
    """Numbers that are not taken; calls that run side by side each have numbers of their own.

    Args:
        after: The highest that was taken before.
        place: Which of the calls side by side this is, from 0.
        of: How many they are.

    Example:
        >>> numbers = free_numbers(after=3, place=1, of=2)
        >>> next(numbers), next(numbers)
        (4, 6)
    """
    return (number for number in count(after + 1) if (number - 1 - place) % of == 0)


def number_sources(answer: Answer, known: Mapping[str, int], free: Iterator[int]) -> dict[str, int]:
    """A number for each source that the text names, by id: the one it has, or the next free one."""
    return {
        source.id: known[source.id] if source.id in known else next(free)
        for source in shown_sources(answer)
    }


def text_with_sources(
    answer: Answer, numbers: Mapping[str, int], *, metadata_keys: Sequence[str] = ()
) -> str:
    """The answer under these numbers, what is to be known of it, and its sources.

    Args:
        answer: As it is.
        numbers: By reference id, of `number_sources`.
        metadata_keys: What of a source's metadata stands behind its title, where there is any.
    """
    text = answer.text
    for each in reversed(answer.citations):
        start, end = each.span
        text = f"{text[:start]}[{numbers[each.reference_id]}]{text[end:]}"
    parts = [text]
    if answer.decision.retrieve and not answer.grounded:
        uncited = answer.stop_reason == "sufficient" and answer.references and not answer.citations
        parts.append(UNCITED if uncited else UNSUPPORTED)
    shown = sorted(shown_sources(answer), key=lambda source: numbers[source.id])
    if shown:
        lines = (_line(numbers[source.id], source, metadata_keys) for source in shown)
        parts.append("\n".join((HEADING, *lines)))
    return "\n\n".join(parts)


def last_number(text: str) -> int:
    """The highest number among the sources that a text ends with; 0 where it names none.

    Example:
        >>> last_number("Rome [2].\\n\\nSources:\\n[1] Italy\\n[2] Rome"), last_number("Rome [2].")
        (2, 0)
    """
    _, heading, sources = f"\n{text}".rpartition(f"\n{HEADING}\n")
    return max(map(int, _LINE.findall(sources)), default=0) if heading else 0


def _line(number: int, source: Reference, metadata_keys: Sequence[str]) -> str:
    """A source on one line that no document can break or forge."""
    title = one_line(source.title[:LONGEST_LABEL]) or _excerpt(source.text)
    chosen = {key: source.metadata[key] for key in metadata_keys if key in source.metadata}
    told = [
        f"{one_line(key)}: {one_line(str(value)[:LONGEST_LABEL])}"
        for key, value in chosen.items()
        if value not in ("", source.title)
    ]
    return f"[{number}] {title} ({'; '.join(told)})" if told else f"[{number}] {title}"


def _excerpt(text: str) -> str:
    ended = "" if len(text) <= EXCERPT else " …"
    return f'"{one_line(text[:EXCERPT])}{ended}"'
