"""Plain text, read without a model: words, sentences, a form to compare in, and what UTF-8 holds.

Nothing here raises, whatever the text.
"""

from __future__ import annotations

import re
import string

# A run of letters and digits is a word. Chinese and Japanese put no spaces between words, so
# there each character is one.
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
WORD = f"(?u)[{_UNSPACED}]|[^\\W{_UNSPACED}]+"
"""The pattern of a word, for keyword search, for embedders and for everything else."""

_find_words = re.compile(WORD).findall
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_MARKERS = re.compile(r"\[\d+\]")


def words(text: str) -> list[str]:
    """All words, in lower case.

    Example:
        >>> words("The Eiffel Tower, 巴黎")
        ['the', 'eiffel', 'tower', '巴', '黎']
    """
    found: list[str] = _find_words(text.lower())
    return found


def normalise(text: str) -> str:
    """Lower case, without punctuation, articles, citation markers and extra space, as SQuAD does.

    Example:
        >>> normalise("The Eiffel Tower, [1] in Paris!")
        'eiffel tower in paris'
    """
    bare = _MARKERS.sub(" ", text.lower()).translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def encodable(text: str) -> str:
    """Replace what UTF-8 cannot hold: each lone surrogate becomes U+FFFD.

    Example:
        >>> encodable("a" + chr(0xD800) + "b") == "a" + chr(0xFFFD) + "b"
        True
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
