"""Reading text without a model: words, names, and the sentences of a passage.

Nothing here raises, whatever the text: an unknown script simply has fewer names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache

from skr_core.texts import WORD, split_sentences, words

_WORD = re.compile(WORD)

# Words of grammar and of asking: they say what kind of answer is wanted, not what it is about.
_GRAMMAR = (
    "a about after against all also an and any are as at be because been before being between "
    "both but by can could did do does down during each few for from had has have he her him "
    "his how i if in into is it its may me more most my no not of off on one only or "
    "other our out over own s same she should so some such t than that the their them then "
    "there these they this those through to under until up us very was we were what when where "
    "which while who whom whose why will with would you your"
)
STOP_WORDS = frozenset(_GRAMMAR.split())
# Words in which questions are put, whatever they are about: "what does X mean", "how do I use Y".
_ASKING = frozenset(
    "get happen happens many mean means much need needs please tell use used".split()
)
# Lower-case words that stand inside names: "Duke of York", "Ludwig van Beethoven".
_PARTICLES = frozenset(
    ("of", "the", "de", "von", "van", "der", "den", "da", "di", "du", "la", "le", "al")
)
_MONTHS_AND_DAYS = (
    "january february march april may june july august september october november december "
    "monday tuesday wednesday thursday friday saturday sunday"
)
_CALENDAR = frozenset(_MONTHS_AND_DAYS.split())
_SHORTEST_INFLECTED = 4
_SHORTEST_STEM = 3
_ENDINGS = ("ing", "ed", "er", "or", "e")
_VOWEL = re.compile("[aeiouy]")
_IDENTIFIER = re.compile(r"\b(?:[A-Za-z]+_\w+|[A-Z][a-z]+[A-Z]\w*)\b")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
CODE_SPAN = re.compile(r"`[^`]{1,200}`")
_MAX_NAME_WORDS = 12  # longer runs are headlines in capitals


def content_words(text: str) -> list[str]:
    """The words that carry meaning, in order, none twice.

    Example:
        >>> content_words("Who is the director of the film Jaws?")
        ['director', 'film', 'jaws']
    """
    return list(dict.fromkeys(word for word in words(text) if word not in STOP_WORDS))


def question_words(question: str) -> list[str]:
    """The words of a question that an answer may speak of, in order, none twice.

    All of them where nothing else is left.

    Example:
        >>> question_words("What happens to a draft?"), question_words("What happens?")
        (['draft'], ['happens'])
    """
    found = content_words(question)
    return [word for word in found if word not in _ASKING] or found


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """The part of a word that its forms share, roughly: "designed" and "designer" are "design".

    Two words with one stem may still mean different things; a word that has none stays as it is.

    Args:
        word: The word, in lower case.

    Example:
        >>> [stem(word) for word in ("composer", "composed", "cities", "class", "sing", "москва")]
        ['compos', 'compos', 'city', 'class', 'sing', 'москва']
    """
    if len(word) < _SHORTEST_INFLECTED or not word.isascii():
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    ending = next((each for each in _ENDINGS if word.endswith(each)), "")
    stemmed = word[: len(word) - len(ending)]
    if len(stemmed) < _SHORTEST_STEM or not _VOWEL.search(stemmed):
        return word
    # "planned" is of "plan"; but "called" is of "call".
    if ending and stemmed[-1] == stemmed[-2] and stemmed[-1] not in "lsz":
        return stemmed[:-1]
    return stemmed


def stems(text: str) -> frozenset[str]:
    """The stems of all words of a text, and of the words that its identifiers are made of.

    Example:
        >>> sorted(stems("She designed max_rounds."))
        ['design', 'max', 'max_round', 'round', 'she']
        >>> sorted(stems("CachedModel"))
        ['cach', 'cachedmodel', 'model']
    """
    found = frozenset(map(stem, words(text)))
    parts = " ".join(_HUMP.sub(" ", each).replace("_", " ") for each in _IDENTIFIER.findall(text))
    return found | frozenset(map(stem, words(parts))) if parts else found


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


def named_in(sentence: str) -> list[str]:
    """The names that a sentence surely holds: none in code, and no single word that begins it.

    Example:
        >>> named_in("Nobody but Ada Moor calls `RetryPolicy`, said Ben.")
        ['Ada Moor', 'Ben']
    """
    text = CODE_SPAN.sub(" , ", sentence)
    opening = _WORD.search(text)
    found = names(text)
    if opening and found and found[0] == opening.group():
        found = found[1:]
    return [name for name in found if not all(map(_is_technical, _WORD.findall(name)))]


def _is_technical(word: str) -> bool:
    """Whether a word is an abbreviation, a number or an identifier rather than a name."""
    return not word.isalpha() or (len(word) > 1 and not word[1:].islower())


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


# A line as long as this one was probably wrapped, and goes on in the next.
WRAPPED = 50
# A row of more characters is split into sentences.
LONGEST_ROW = 300
# The least share of a paragraph's characters that stand outside of links.
LEAST_SAID = 0.3

_FENCE = re.compile(r"\s*(```+|~~~+)")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+(.*?)[\s#]*$")
_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(?=\S)")
_RULE = re.compile(r"\s*\|?[\s|:-]*-[\s|:-]*$")
_LINK = re.compile(r"!?\[([^\[\]\n]{1,300})\]\([^()\s]{1,300}\)")
_ENDS = (".", "!", "?", ":", ";", "。", "！", "？")


@dataclass(frozen=True, slots=True)
class Line:
    """Something that can be quoted, and what it stands under.

    Attributes:
        text: A sentence, a row of a table or a line of code, on one line.
        under: The headings before it in its passage, and for code the sentence before it.
        is_code: Whether it stands in a block of code.
    """

    text: str
    under: str = ""
    is_code: bool = False


def read_lines(passage: str) -> list[Line]:
    """The lines of a passage that can be quoted, in order.

    A wrapped sentence is joined, a link is shown by its words, and a row of a table is given with
    the headings of its columns. A heading is no sentence, but says what the lines below it are
    about.

    Example:
        >>> wrapped = "## Cost\\nOne call for each round,\\nso one at least.\\n- See below."
        >>> [(each.text, each.under) for each in read_lines(wrapped)]
        [('One call for each round, so one at least.', 'Cost'), ('See below.', 'Cost')]
        >>> read_lines("| extra | brings |\\n|---|---|\\n| `plots` | matplotlib |")[0].text
        'extra: `plots` · brings: matplotlib'
    """
    return list(_lines(passage))


def _lines(passage: str) -> Iterator[Line]:
    heading, before, fence = "", "", ""
    paragraph: list[str] = []
    table: list[str] = []

    def ended() -> Iterator[Line]:
        """The sentences of the lines so far, at the end of a paragraph, an item or a table."""
        nonlocal before
        for row in _rows(table):
            whole = [row] if len(row) <= LONGEST_ROW else split_sentences(row)
            for part in whole:
                yield Line(part, heading if part is row else f"{heading} {row[:LONGEST_ROW]}")
        text = " ".join(paragraph)
        # A list of links says where something stands, and nothing of it.
        is_contents = len(_LINK.sub("", text)) < len(text) * LEAST_SAID
        for sentence in [] if is_contents else split_sentences(_LINK.sub(r"\1", text)):
            before = sentence
            yield Line(sentence, heading)
        table.clear()
        paragraph.clear()

    for line in passage.split("\n"):
        bare = line.strip()
        if fence:
            if bare.startswith(fence) and not bare.strip(fence[0]):
                fence = ""
            elif any(map(str.isalnum, bare)):
                yield Line(" ".join(bare.split()), f"{heading} {before}", is_code=True)
            continue
        is_row = bare.startswith("|")
        if not is_row and (table or not bare or not _continues(paragraph, line)):
            yield from ended()
        if is_row:
            if paragraph:
                yield from ended()
            table.append(bare)
        elif opened := _FENCE.match(line):
            fence = opened[1]
        elif titled := _HEADING.match(line):
            heading = before = titled[1]
        elif item := _ITEM.match(line):
            paragraph.append(line[item.end() :].strip())
        elif bare:
            paragraph.append(bare)
    yield from ended()


def _continues(paragraph: Sequence[str], line: str) -> bool:
    """Whether a line goes on with the paragraph; what ends a sentence says so itself."""
    if not paragraph or any(each.match(line) for each in (_FENCE, _HEADING, _ITEM)):
        return False
    before, bare = paragraph[-1], line.strip()
    return len(before) >= WRAPPED or before.endswith(_ENDS) or bare[0].islower()


def _rows(table: Sequence[str]) -> Iterator[str]:
    """The rows of a table as text, each cell behind the heading of its column where it has one."""
    has_headings = len(table) > 1 and bool(_RULE.match(table[1]))
    headings = _cells(table[0]) if has_headings else []
    for row in table[2 if has_headings else 0 :]:
        cells = _cells(row)
        named = zip([*headings, *[""] * len(cells)], cells, strict=False)
        text = " · ".join(f"{name}: {cell}" if name else cell for name, cell in named if cell)
        if text:
            yield text


def _cells(row: str) -> list[str]:
    return [_LINK.sub(r"\1", cell.strip()) for cell in row.strip("|").split("|")]


_AMOUNT = re.compile(
    r"\b(?:when|how (?:many|much|old|long|high|tall|deep|far|fast|wide|large|big|heavy|often"
    r"|strong)"
    r"|(?:what|which) (?:year|date|day|number|share)|in what year|year of)\b"
)
_NAME = re.compile(r"\b(?:who|whom|whose|where)\b")
_KIND = re.compile(
    r"\b(?:which|what|how many)\s(?:\w{1,40}\s)??(\w{1,40})\s"
    r"(?:is|are|was|were|did|does|do|has|have|in|on)\b"
)
_NUMBER_WORDS = frozenset(
    (
        "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
        "sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety "
        "hundred thousand million billion once twice half free never"
    ).split()
)


def kind_words(question: str) -> frozenset[str]:
    """The stems of the words that name the kind of answer: "which town", "what year".

    Example:
        >>> sorted(kind_words("In which mining town was the engineer born?"))
        ['town']
    """
    found = _KIND.findall(question.lower())
    return frozenset(stem(word) for word in found)


def fits(question: str) -> Callable[[str], bool]:
    """Whether a sentence has what the question asks for: a number, or a name that it lacks.

    Example:
        >>> is_fit = fits("When did the railway open?")
        >>> is_fit("It was opened in 1843."), is_fit("It was opened by a queen.")
        (True, False)
        >>> fits("Who opened the railway?")("It was opened by Queen Mathilda.")
        True
    """
    asked = question.lower()
    if _AMOUNT.search(asked):
        return _has_number
    if _NAME.search(asked):
        known = frozenset(map(stem, question_words(question)))
        return lambda sentence: _has_new_name(sentence, known)
    return lambda sentence: True


def _has_number(sentence: str) -> bool:
    return any(map(str.isdigit, sentence)) or not _NUMBER_WORDS.isdisjoint(words(sentence))


def _has_new_name(sentence: str, known: Set[str]) -> bool:
    if CODE_SPAN.search(sentence):
        return True
    return any(not known >= set(map(stem, content_words(each))) for each in names(sentence))
