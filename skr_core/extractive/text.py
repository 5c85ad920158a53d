"""Reading plain text without a model: content words and capitalised names.

Nothing here raises, whatever the text: an unknown script simply has fewer names.
"""

from __future__ import annotations

import re

from skr_core.texts import WORD, words

_WORD = re.compile(WORD)

# Words of grammar and of asking: they say what kind of answer is wanted, not what it is about.
_GRAMMAR = (
    "a about after against all also an and any are as at be because been before being between both "
    "but by can could did do does down during each few for from had has have he her him his how i "
    "if in into is it its may me more most my no not of off on one only or other our out over own "
    "s same she should so some such t than that the their them then there these they this those "
    "through to under until up us very was we were what when where which while who whom whose why "
    "will with would you your"
)
STOP_WORDS = frozenset(_GRAMMAR.split())
# Lower-case words that stand inside names: "Duke of York", "Ludwig van Beethoven".
_PARTICLES = frozenset(
    ("of", "the", "de", "von", "van", "der", "den", "da", "di", "du", "la", "le", "al")
)
_MONTHS_AND_DAYS = (
    "january february march april may june july august september october november december "
    "monday tuesday wednesday thursday friday saturday sunday"
)
_CALENDAR = frozenset(_MONTHS_AND_DAYS.split())
_MAX_NAME_WORDS = 12  # longer runs are headlines in capitals


def content_words(text: str) -> list[str]:
    """The words that carry meaning, in order, none twice.

    Example:
        >>> content_words("Who is the director of the film Jaws?")
        ['director', 'film', 'jaws']
    """
    return list(dict.fromkeys(word for word in words(text) if word not in STOP_WORDS))


def names(sentence: str) -> list[str]:
    """The capitalised names in a sentence, in order.

    A single capitalised word before a lower-case noun is an adjective ("American singer") and no
    name; neither are months and words of grammar at the beginning.

    Example:
        >>> names("In May 1975 the American director Steven Spielberg shot Jaws for J. R. Duke.")
        ['Steven Spielberg', 'Jaws', 'J. R. Duke']
    """
    tokens = list(_WORD.finditer(sentence))
    found = []
    place = 0
    while place < len(tokens):
        if not _opens_name(tokens[place].group()):
            place += 1
            continue
        last = _end_of_name(sentence, tokens, place)
        if not _is_adjective(sentence, tokens, place, last):
            found.append(sentence[tokens[place].start() : tokens[last].end()])
        place = last + 1
    return found


def _opens_name(word: str) -> bool:
    lower = word.lower()
    return word[0].isupper() and lower not in STOP_WORDS and lower not in _CALENDAR


def _end_of_name(sentence: str, tokens: list[re.Match[str]], first: int) -> int:
    """Index of the last token of the name that begins at `first`."""
    last = first
    for place in range(first + 1, min(len(tokens), first + _MAX_NAME_WORDS)):
        before, word = tokens[place - 1], tokens[place].group()
        gap = sentence[before.end() : tokens[place].start()]
        # A full stop goes on only behind an initial; a comma or a bracket always ends a name.
        if gap not in (" ", "-", "–", "'", "’", " & ") and not (
            gap in (". ", ".") and len(before.group()) <= 2
        ):
            break
        if word[0].isupper() or (word[0].isdigit() and last == place - 1):
            last = place
        elif word not in _PARTICLES or place - last > 2:
            break
    return last


def _is_adjective(sentence: str, tokens: list[re.Match[str]], first: int, last: int) -> bool:
    if first != last or last + 1 >= len(tokens):
        return False
    following = tokens[last + 1]
    word = following.group()
    return (
        sentence[tokens[last].end() : following.start()] in (" ", "-")
        and word.islower()
        and word not in STOP_WORDS
    )
