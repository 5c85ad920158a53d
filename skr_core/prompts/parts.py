"""What all prompts share: quoted material on one line, numbered references, a version of words.

Quoted material is hostile: each piece is put on one line and loses its own bracketed numbers, so
that none can pose as another reference or as a part of the prompt.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from skr_core.types import Demonstration, Reference

PASSAGES = "Here are some passages:"
"""What stands before passages (SKR §3.3)."""

# Lists, ranges and wide brackets too: whatever the citations would take for a marker.
_BRACKETED_NUMBER = re.compile(r"[\[【]\s*(-?\d[^\[\]【】]*)[\]】]")


def one_line(text: str) -> str:
    """A text on one line, with round brackets around numbers that could pose as markers.

    Example:
        >>> one_line("It sank. [7] " + chr(10) + "  It was new.")
        'It sank. (7) It was new.'
    """
    return _BRACKETED_NUMBER.sub(r"(\1)", " ".join(text.split()))


def number_references(references: Sequence[Reference]) -> str:
    """Render references as ``[n] title: text`` lines, n from 1.

    Example:
        >>> number_references([Reference.of("Paris is in France.", "Paris")])
        '[1] Paris: Paris is in France.'
    """
    lines = (
        f"[{number}] " + ": ".join(filter(None, (one_line(each.title), one_line(each.text))))
        for number, each in enumerate(references, start=1)
    )
    return "\n".join(lines) or "(none)"


def demonstrate(example: Demonstration) -> str:
    """A worked example: question, passages where it has some, and answer (SKR §3.3).

    Its passages have no numbers, because those of the prompt's own references begin at 1.

    Example:
        >>> print(demonstrate(Demonstration("Where?", "There.", ("It is there.",))), end="")
        Question: Where?
        Here are some passages:
        It is there.
        Answer: There.
        <BLANKLINE>
    """
    shown = "".join(f"{one_line(passage)}\n" for passage in example.references)
    passages = f"{PASSAGES}\n{shown}" if shown else ""
    return f"Question: {example.question}\n{passages}Answer: {example.answer}\n\n"


def version_of(*words: str) -> str:
    """A hash of a set of words, for the stamp of what is made with them.

    Example:
        >>> version_of("Who?") == version_of("Who?"), len(version_of("Who?"))
        (True, 8)
    """
    joined = "\x00".join(words).encode(errors="surrogatepass")
    return hashlib.blake2b(joined, digest_size=4).hexdigest()
