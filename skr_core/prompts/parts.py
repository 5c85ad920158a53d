"""What all prompts share: numbered references, worked examples, a version of words.

Quoted material is hostile. References are fenced, see `skr_core.references.fencing`; any other
piece is put on one line and loses its own bracketed numbers, so that none can pose as a reference
or as a part of the prompt.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from skr_core.references.fencing import fence_references
from skr_core.references.fencing import one_line as one_line
from skr_core.types import Demonstration, Reference

PASSAGES = "Here are some passages:"
"""What stands before passages (SKR §3.3)."""


def number_references(references: Sequence[Reference], metadata_keys: Sequence[str] = ()) -> str:
    """Render references, numbered from 1 and fenced, or say that there are none.

    Args:
        references: In the order of their numbers.
        metadata_keys: What of the metadata stands beside the title.

    Example:
        >>> print(number_references([Reference.of("Paris is in France.", "Paris")]))
        [1] Paris
        \"\"\"
        Paris is in France.
        \"\"\"
    """
    return fence_references(references, metadata_keys=metadata_keys) or "(none)"


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
