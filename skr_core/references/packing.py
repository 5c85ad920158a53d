"""Fitting references into a context window: whole by rank, then one cut, the rest left out.

Example:
    >>> references = [Reference.of("One is here. " * 20), Reference.of("Two is there. " * 20)]
    >>> packed = pack_references(references, 60)
    >>> [reference.id == references[0].id for reference in packed.references]
    [True]
    >>> packed.references[0].text.endswith("One is here."), packed.cut == references[0]
    (True, True)
    >>> packed.dropped == (references[1],)
    True
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count as count_from

from skr_core.references.fencing import LONGEST_LABEL, fence_for, fenced, shown_text
from skr_core.texts import sentence_spans
from skr_core.types import Reference
from skr_core.usage import count_tokens

Count = Callable[[str], int]
"""Says how many tokens a text has."""

Cost = Callable[[int, Reference], int]
"""Says how many tokens a reference takes in the prompt, under its number there."""

LONGEST_EXACT = 4_000
"""Characters that are counted exactly; of a longer text three samples are."""

SAMPLE = 1_000
"""Characters of a sample."""

MOST_CHARACTERS_A_TOKEN = 16
"""A text of more characters than this for each token that is left is not counted: it is cut."""

MOST_BYTES_A_CHARACTER = 5
"""Four in UTF-8, and one for a space that is put into a token of chats to break it."""

AROUND = 100
"""More characters than a reference's number and its two fences have together."""

WINDOW = 4_000
"""How many characters before the cut the end of a sentence is looked for."""

MOST_TRIED = 3
"""How many ends of sentences are tried, the last first: a shorter text may count as more tokens."""


@dataclass(frozen=True, slots=True)
class Packed:
    """What fits, and what became of the rest.

    Attributes:
        references: In their order. The last may be cut; it keeps its id, so that it can be cited.
        dropped: Those that are left out, in their order.
        cut: The one that was cut, as it was; None where none was.
    """

    references: tuple[Reference, ...]
    dropped: tuple[Reference, ...] = ()
    cut: Reference | None = None


def fast_tokens(text: str) -> int:
    """Tokens of a text, of a long one by three samples, so that a megabyte costs nothing.

    Samples say what kind of text it is: prose has four characters a token, Chinese one.

    Example:
        >>> fast_tokens("word " * 200_000) // 100_000
        2
    """
    if len(text) <= LONGEST_EXACT:
        return _tokens(text)
    middle = (len(text) - SAMPLE) // 2
    samples = (text[:SAMPLE], text[middle : middle + SAMPLE], text[-SAMPLE:])
    return -(-len(text) * max(map(_tokens, samples)) // SAMPLE)


def pack_references(
    references: Sequence[Reference],
    max_tokens: int,
    count: Count = fast_tokens,
    *,
    metadata_keys: Sequence[str] = (),
) -> Packed:
    """Keep what fits by rank, with heads and fences.

    The first that does not fit is cut behind a sentence, and what ranks below it is dropped. Where
    the very first has no sentence that fits it is cut behind a word or within one, so that
    something is kept whenever anything fits.

    Args:
        references: Best first.
        max_tokens: Of all of them together, as the prompt shows them.
        count: Says how many tokens a text has; it is asked a few dozen times.
        metadata_keys: What of the metadata the prompt shows.

    Example:
        >>> pack_references([Reference.of("One.")], 10_000).dropped
        ()
    """

    def cost_between(fence: str) -> Cost:
        def cost(number: int, reference: Reference) -> int:
            # Behind each block comes a line break.
            return count(fenced(number, reference, fence, metadata_keys=metadata_keys) + "\n")

        return cost

    if _surely_fit(references, max_tokens, metadata_keys):
        return Packed(tuple(references))
    fence, limit = fence_for(references, metadata_keys=metadata_keys), max_tokens
    while True:
        packed = _packed(references, limit, cost_between(fence))
        # The fence depends on what it surrounds: that of fewer references may be another.
        shown = fence_for(packed.references, metadata_keys=metadata_keys)
        if shown == fence:
            return packed
        spent = sum(map(cost_between(shown), count_from(1), packed.references))
        if spent <= max_tokens:
            return packed
        limit -= spent - max_tokens


def _surely_fit(references: Sequence[Reference], limit: int, keys: Sequence[str]) -> bool:
    """Whether they fit without counting: no text has more tokens than bytes."""
    texts = sum(len(each.text if each.shown is None else each.shown) for each in references)
    head = LONGEST_LABEL + sum(LONGEST_LABEL + len(key) for key in keys)
    return MOST_BYTES_A_CHARACTER * (texts + (head + AROUND) * len(references)) <= limit


def _packed(references: Sequence[Reference], left: int, cost: Cost) -> Packed:
    kept: list[Reference] = []
    for place, reference in enumerate(references):
        number = place + 1
        spent = cost(number, reference) if _may_fit(reference, left) else left + 1
        if spent <= left:
            kept.append(reference)
            left -= spent
            continue
        shorter = _shortened(reference, left, partial(cost, number), anywhere=not kept)
        if shorter is None:
            return Packed(tuple(kept), tuple(references[place:]))
        return Packed((*kept, shorter), tuple(references[place + 1 :]), reference)
    return Packed(tuple(kept))


def _tokens(text: str) -> int:
    counted = count_tokens(text)
    if not counted.estimated:
        return counted.tokens
    # An estimate by characters is that of prose; bytes say what other scripts cost.
    return max(counted.tokens, -(-len(text.encode(errors="replace")) // 3))


def _may_fit(reference: Reference, tokens: int) -> bool:
    return len(shown_text(reference)) <= tokens * MOST_CHARACTERS_A_TOKEN


def _shortened(
    reference: Reference, left: int, cost: Callable[[Reference], int], *, anywhere: bool
) -> Reference | None:
    """The longest beginning that fits and ends with a sentence; None where there is none.

    Args:
        reference: Does not fit as a whole.
        left: Tokens.
        cost: Of a reference.
        anywhere: Whether it may end behind a word or within one where no sentence ends.
    """
    text = reference.text if reference.shown is None else reference.shown

    def cut(end: int) -> Reference:
        if reference.shown is None:
            return replace(reference, text=text[:end])
        return replace(reference, shown=text[:end])

    def fits(end: int) -> bool:
        return cost(cut(end)) <= left

    most = _last_that_fits(min(len(text), max(0, left) * MOST_CHARACTERS_A_TOKEN), fits)
    ends = _sentence_ends(text, most)
    if anywhere:
        ends += _word_end(text, most), most
    return next((cut(end) for end in ends if text[:end].strip() and fits(end)), None)


def _last_that_fits(most: int, fits: Callable[[int], bool]) -> int:
    """The greatest length that fits, found by halving; 0 where none does.

    Where a longer text may count as fewer tokens it is one that fits, perhaps not the greatest.
    """
    low = 0
    while low < most:
        middle = (low + most + 1) // 2
        if fits(middle):
            low = middle
        else:
            most = middle - 1
    return low


def _sentence_ends(text: str, most: int) -> list[int]:
    """The last ends of sentences before a place, if they are not far, the very last first."""
    begin = max(0, most - WINDOW)
    spans = sentence_spans(text[begin : most + WINDOW])
    ends = [begin + start + len(sentence) for start, sentence in spans]
    return [end for end in reversed(ends) if end <= most][:MOST_TRIED]


def _word_end(text: str, most: int) -> int:
    """The end of the last whole word before a place; the place itself where there is none near."""
    end = most
    while most - WINDOW < end and 0 < end < len(text) and not text[end].isspace():
        end -= 1
    return end if 0 < end < len(text) and text[end].isspace() else most
