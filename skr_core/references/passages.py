'''Passages as a prompt shows them: as many as fit, between fences that no text in them can imitate.

Each reference has a head of one line, which numbers it, and its text between two lines that are
the same for the whole prompt::

    [1] Paris (page: 3)
    """
    Paris is the capital of France.
    """

Code, tables and brackets stay as they are, and so does all else that can be seen (`cleaned`). The
fence is made longer until it occurs in no passage of the prompt, so that every passage stays
inside. Title and metadata stand on the head's line, and cannot pose as another head. A reference
whose source chooses the text that a prompt shows (`Reference.shown`) has that text in its fence,
and the number alone in its head.

Where not all fit into a context window, those of the highest ranks are kept whole, one is cut, and
the rest is left out.
'''

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count as count_from

from skr_core.budget import count_tokens
from skr_core.cleaning import cleaned
from skr_core.texts import sentence_spans
from skr_core.types import Reference

FENCE = '"""'
"""The shortest fence: one token in most vocabularies, and rare in prose."""

LONGEST_PLAIN_FENCE = 8
"""Quotation marks of a fence; where a passage has as many in a row, the fence ends in a hash."""

LONGEST_LABEL = 300
"""Characters of a title, and of a value of the metadata, that a head shows."""

LONGEST_EXACT = 4_000
"""Characters of the longest text whose tokens are counted; of a longer one three samples are."""

SAMPLE = 1_000
"""Characters of a sample."""

MOST_CHARACTERS_A_TOKEN = 16
"""A text of more characters for each token that is left is cut without counting."""

MOST_BYTES_A_CHARACTER = 5
"""Four in UTF-8, and one for the space that breaks a token of chats."""

AROUND = 100
"""More characters than a reference's number and its two fences have together."""

WINDOW = 4_000
"""Characters before the cut in which the end of a sentence is looked for."""

MOST_TRIED = 3
"""Ends of sentences that are tried, the last first: a shorter text may count as more tokens."""

Count = Callable[[str], int]
"""Returns the number of tokens of a text."""

Cost = Callable[[int, Reference], int]
"""Returns the number of tokens that a reference takes in the prompt, under its number there."""

_Shown = tuple[str, str]  # what stands in the fence, and what its head says behind the number

# Lists, ranges, leads and wide brackets too: all that could be taken for a marker.
_BRACKETED_NUMBER = re.compile(r"[\[【［]\s*([^\[\]【】［］\d]{0,16}\d[^\[\]【】［］]*)[\]】］]")


def fence_references(
    references: Sequence[Reference],
    *,
    metadata_keys: Sequence[str] = (),
    numbers: Sequence[int] | None = None,
) -> str:
    """Render references, numbered, each text as it is and inside its fence.

    Args:
        references: The references, in the order in which they are shown.
        metadata_keys: The keys of the metadata that stand in the head, in this order.
        numbers: The number of each reference; by default from 1.

    Returns:
        The rendered references; empty where there are none.

    Example:
        >>> code = Reference.of("x = arr[0]", "Code", metadata={"page": 3, "source": "a.py"})
        >>> print(fence_references([code], metadata_keys=["page"]))
        [1] Code (page: 3)
        \"\"\"
        x = arr[0]
        \"\"\"
    """
    shown = [_shown(reference, metadata_keys) for reference in references]
    fence = _fence_around(shown)
    return "\n".join(
        _block(number, *each, fence)
        for number, each in zip(numbers or count_from(1), shown, strict=False)
    )


def shown_text(reference: Reference) -> str:
    """The text inside a reference's fence.

    Example:
        >>> shown_text(Reference.of("It is in France.", "Paris", shown="Paris. It is in France."))
        'Paris. It is in France.'
    """
    return cleaned(reference.text if reference.shown is None else reference.shown)


def fenced(
    number: int, reference: Reference, fence: str, *, metadata_keys: Sequence[str] = ()
) -> str:
    """One reference with its head and its fence; an empty text has no fence."""
    return _block(number, *_shown(reference, metadata_keys), fence)


def fence_for(references: Sequence[Reference], *, metadata_keys: Sequence[str] = ()) -> str:
    """The shortest fence that occurs in none of the references; it depends on them alone.

    Example:
        >>> quoting = Reference.of('\"\"\"A docstring.\"\"\"')
        >>> len(fence_for([Reference.of("One.")])), len(fence_for([quoting]))
        (3, 4)
    """
    return _fence_around([_shown(reference, metadata_keys) for reference in references])


def one_line(text: str) -> str:
    """A text on one line, cleaned, with round brackets around numbers that could pose as markers.

    Example:
        >>> one_line("It sank. [7] " + chr(10) + "  It was new.")
        'It sank. (7) It was new.'
    """
    return _BRACKETED_NUMBER.sub(r"(\1)", " ".join(cleaned(text).split()))


def _shown(reference: Reference, keys: Sequence[str]) -> _Shown:
    """The text in the fence and the label in the head; no label where the source chose the text."""
    text = shown_text(reference)
    if reference.shown is not None:
        return text, ""
    title = one_line(reference.title[:LONGEST_LABEL])
    chosen = [
        f"{one_line(key)}: {value}"
        for key in keys
        if key in reference.metadata
        and (value := one_line(str(reference.metadata[key])[:LONGEST_LABEL]))
    ]
    return text, f"{title} ({'; '.join(chosen)})".lstrip() if chosen else title


def _block(number: int, text: str, label: str, fence: str) -> str:
    head = f"[{number}] {label}" if label else f"[{number}]"
    return f"{head}\n{fence}\n{text}\n{fence}" if text.strip() else head


def _fence_around(shown: Sequence[_Shown]) -> str:
    texts = [*(text for text, _ in shown), *(label for _, label in shown if label)]
    together = "\n".join(texts)
    return next(fence for fence in _fences(texts) if fence not in together)


def _fences(texts: Iterable[str]) -> Iterator[str]:
    """Fences, each longer than the one before; no passage can know the hash of all of them."""
    for length in range(len(FENCE), LONGEST_PLAIN_FENCE + 1):
        yield FENCE[0] * length
    digest = hashlib.shake_256()
    for text in texts:
        digest.update(text.encode(errors="surrogatepass") + b"\x00")
    length = 4
    while True:
        yield FENCE + digest.hexdigest(length)
        length *= 2


@dataclass(frozen=True, slots=True)
class PackedReferences:
    """The references that fit, and those that do not.

    Attributes:
        references: The references that fit, in their order. One may be cut, the last in rank; it
            keeps its id, so that it can be cited.
        dropped: The references that are left out, in their order.
        cut: The reference that was cut, as it was; None where none was.
    """

    references: tuple[Reference, ...]
    dropped: tuple[Reference, ...] = ()
    cut: Reference | None = None


def fast_tokens(text: str) -> int:
    """The tokens of a text, of a long one by three samples, so that a megabyte costs nothing.

    The samples tell what kind of text it is: prose has four characters a token, Chinese one.

    Example:
        >>> fast_tokens("word " * 200_000) // 100_000
        2
    """
    if len(text) <= LONGEST_EXACT:
        return _tokens(text)
    middle = (len(text) - SAMPLE) // 2
    samples = (text[:SAMPLE], text[middle : middle + SAMPLE], text[-SAMPLE:])
    return -(-len(text) * max(map(_tokens, samples)) // SAMPLE)


def _tokens(text: str) -> int:
    counted = count_tokens(text)
    if not counted.estimated:
        return counted.tokens
    # An estimate by characters is that of prose; other scripts are estimated by their bytes.
    return max(counted.tokens, -(-len(text.encode(errors="replace")) // 3))


def pack_references(
    references: Sequence[Reference],
    max_tokens: int,
    count: Count = fast_tokens,
    *,
    metadata_keys: Sequence[str] = (),
) -> PackedReferences:
    """Keep the references of the highest ranks that fit, with heads and fences.

    The first that does not fit is cut behind a sentence, and those that rank below it are dropped.
    Where the very first has no sentence that fits, it is cut behind a word or within one, so that
    something is kept whenever anything fits.

    Args:
        references: The references, best first.
        max_tokens: The most tokens of all of them together, as the prompt shows them.
        count: Returns the number of tokens of a text; it is called a few dozen times.
        metadata_keys: The keys of the metadata that the prompt shows.

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

    def cost_between(fence: str) -> Cost:
        def cost(number: int, reference: Reference) -> int:
            # Behind each block comes a line break.
            return count(fenced(number, reference, fence, metadata_keys=metadata_keys) + "\n")

        return cost

    if _surely_fit(references, max_tokens, metadata_keys):
        return PackedReferences(tuple(references))
    fence, limit = fence_for(references, metadata_keys=metadata_keys), max_tokens
    while True:
        packed = _packed(references, limit, cost_between(fence))
        # Fewer references may need another fence.
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


def _packed(references: Sequence[Reference], left: int, cost: Cost) -> PackedReferences:
    kept: list[Reference] = []
    for place, reference in enumerate(references):
        number = place + 1
        may_fit = len(shown_text(reference)) <= left * MOST_CHARACTERS_A_TOKEN
        spent = cost(number, reference) if may_fit else left + 1
        if spent <= left:
            kept.append(reference)
            left -= spent
            continue
        shorter = _shortened(reference, left, partial(cost, number), anywhere=not kept)
        if shorter is None:
            return PackedReferences(tuple(kept), tuple(references[place:]))
        return PackedReferences((*kept, shorter), tuple(references[place + 1 :]), reference)
    return PackedReferences(tuple(kept))


def _shortened(
    reference: Reference, left: int, cost: Callable[[Reference], int], *, anywhere: bool
) -> Reference | None:
    """The longest beginning that fits and ends with a sentence; None where there is none.

    Args:
        reference: The reference, which does not fit as a whole.
        left: The tokens that are left.
        cost: Returns the number of tokens of a reference.
        anywhere: Whether it may end behind a word, or within one, where no sentence ends.
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

    A longer text may count as fewer tokens, so the length fits but may not be the very greatest.
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
