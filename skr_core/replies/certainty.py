"""Reading an answer and a statement of certainty from one reply (W2R §3.1).

Models say it in any form: "1972. Certain.", "China (certain) - pandas are native to it", "291
certain", "I'm not sure, but I think it is Paris". The words also occur in answers ("That Certain
Something", "in certain countries"), so a word alone says nothing: it must stand by itself, end a
line, or have the model as its subject.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from skr_core.patterns import lazy_pattern
from skr_core.replies.conclusion import CONCLUSION
from skr_core.replies.sureness import SURE_SELF, SURE_WORDS, UNSURE_SELF, UNSURE_WORDS
from skr_core.replies.thoughts import strip_thoughts
from skr_core.texts import straight_quotes


@dataclass(frozen=True, slots=True)
class Certainty:
    """What a reply says: the answer and whether the model is sure of it; None where it does not."""

    answer: str | None
    certain: bool | None


def parse_certainty(text: str) -> Certainty:
    """Read the answer and the certainty of a reply; never raises.

    A statement that stands by itself outweighs one in running prose, and the last of its kind
    counts, because a model that thinks aloud concludes at the end. The answer is what stands before
    the first, or after the last where nothing stands before.

    Args:
        text: The reply.

    Example:
        >>> parse_certainty("China (certain) - Pandas are native to China.")
        Certainty(answer='China', certain=True)
        >>> parse_certainty("I'm not sure.")
        Certainty(answer=None, certain=False)
        >>> parse_certainty("Un Certain Regard")
        Certainty(answer='Un Certain Regard', certain=None)
    """
    said = _straighten(text)
    for kind in (_STANDALONE, _PROSE, _LAST_WORD):
        if stated := [*kind.finditer(said)]:
            break
    else:
        return Certainty(_answer(said), None)
    first, last = stated[0], stated[-1]
    answer = _answer(said[: first.start()]) or _answer(said[last.end() :])
    # The named groups hold what denies certainty.
    return Certainty(answer, not any(last.groupdict().values()))


def _straighten(text: str) -> str:
    """Single spaces, without thoughts, wrapped lines and the prompt's own words quoted back."""
    single = _SPACES.sub(" ", _LINES.sub("\n", straight_quotes(strip_thoughts(text))))
    return _ECHO.sub(" ", _WRAPPED.sub(r"\1 ", _HYPHENATED.sub("", single)))


def _answer(part: str) -> str | None:
    """What a part of a reply gives as the answer: neither apologies, labels nor punctuation."""
    part = _APOLOGY.sub(" ", part)
    part, numbered = _LAST_NUMBER.subn("", part)
    if numbered:
        part = _FIRST_NUMBER.sub("", part)
    labelled = (_strip(part[label.end() :]) for label in reversed([*_LABEL.finditer(part)]))
    part = next(filter(None, labelled), _LABEL.sub(" ", part))
    answer = _LEAD.sub("", _strip(_CONJUNCTION.sub("", _strip(part))))
    for opening, closing in ("()", "[]"):  # such as the last one of "John (Jack)"
        answer += closing * (answer.count(opening) - answer.count(closing))
    return answer if any(map(str.isalnum, answer)) else None


def _strip(part: str) -> str:
    """Without the marks around it, but with the sign or the point of a number."""
    return _LEADING.sub("", part.rstrip(_MARKS))


_SPACES = lazy_pattern(r"[^\S\n]+")
_LINES = lazy_pattern(r"\s*\n\s*")
_MARKS = " \t\r\n\f\v.,;:!?-–—*_\"'()[]。，、；：！？（）「」"
# A line that ends within "not quite certain" is a wrapped one.
_WRAPPED = lazy_pattern(
    r"((?<![^\W\d_])(?:not|never|cannot|am|be|feel|fully|entirely|completely|quite|very|so|too"
    r"|nicht|mir|pas|suis|estoy)|n't|I'm)\n",
    re.IGNORECASE,
)
_HYPHENATED = lazy_pattern(r"(?<=\bun)-\n(?=certain|sure|confident)", re.IGNORECASE)
_LEADING = lazy_pattern(rf"\A(?:(?![-.]\d)[{re.escape(_MARKS)}])+")

_DEGREE = r"(?:(?:\w+ly|very|quite|pretty|almost|\d{1,3} ?%)\s){0,2}"
_NOT = (
    r"(?:\b(?:not|never|less|hardly|no longer|cannot)|n't) "
    r"(?:be |feel )?(?:so |too |that |all that )?"
)
_UNSURE = (
    rf"(?:\b{_DEGREE}(?:uncertain|unsure|unconfident)|{_NOT}{_DEGREE}(?:certain|sure|confident))\b"
)
# The prompt's own words, quoted back: "certain/uncertain", "say 'certain'".
_ECHO = lazy_pattern(
    r"(?:un)?certain[\"']?(?: ?[/|] ?|,? or )[\"']?(?:un)?certain\b"
    r"|\bsay(?:ing)? [\"'](?:un)?certain[\"']",
    re.IGNORECASE,
)
_BEFORE = r"(?:^|(?<=[.,;:!?()\[\]\n\"'*_<>–—。，、；：！？（）「」-])) ?(?<!\w-)"
_AFTER = r"(?=\s?(?:$|[.,;:!?()\[\]\n\"'*_<>–—。，、；：！？（）「」-]))(?!-\w)"
_STANDALONE = lazy_pattern(
    # After a label, or as one: "Certainty: low", "Certain: no".
    r"\b(?:certainty|confidence)(?: level)?[ *_]*[:=–-][ *_\"'(]*"
    rf"(?:(?P<unsure_label>{_UNSURE}|low)|{_DEGREE}(?:certain|sure|confident)|high)\b"
    rf"|(?<!\w)certain[ *_\"]*[:=?][ *_\"'(]*(?:(?P<no>no|false)|yes|true)\b{_AFTER}"
    # Between marks: "(certain)", "Certain - ".
    rf"|{_BEFORE}(?:(?P<unsure_alone>{_UNSURE}|{UNSURE_WORDS})"
    rf"|\b{_DEGREE}(?:certain|confident)\b|{SURE_WORDS}){_AFTER}",
    re.IGNORECASE,
)
DOES_NOT_KNOW = (
    r"(?:\bI (?:really |honestly )?(?:do not|don't|cannot|can't) (?:really |actually )?"
    r"(?:know|tell|say)\b|\bI have no (?:idea|clue)\b|(?:^|(?<=[.!?,] ))no (?:idea|clue)\b)"
)
"""How a model says that it does not know, in a text with straight quotes."""
_CLAUSE = (
    r"(?: (?:about|of|in|on|whether|if|who|what|when|where|which|why|how|as to)\b[^.,;!?\n]*)?"
)
_SELF = r"\bI ?(?:'m|am|was|feel|remain|can|could|do|ca(?=n't))? ?(?:still |now )?"
_PROSE = lazy_pattern(
    # The model about itself: "I am fairly certain that".
    rf"{_SELF}(?:(?P<unsure_self>{_UNSURE})|{_DEGREE}(?:certain|sure|confident)\b)"
    rf"{_CLAUSE}(?: that\b)?"
    rf"|(?P<unsure_foreign>{UNSURE_SELF})|{SURE_SELF}"
    # Not to know is not to be certain: "I do not know for certain".
    rf"|(?P<unknown>{DOES_NOT_KNOW})"
    rf"(?: for (?:certain|sure)\b)?{_CLAUSE}"
    # The same without "I am": "Not sure who".
    rf"|{_BEFORE}(?P<unsure_bare>{_UNSURE}){_CLAUSE}",
    re.IGNORECASE,
)
# The last word of a line, after words that make no sentence of it: "291 certain".
_LAST_WORD = lazy_pattern(
    r"(?<=\w)(?<!\bis)(?<!\bare)(?<!\bwas)(?<!\bbe)(?<!n't)(?<!\bnot)(?<!\bfor)"
    r" (?:(?P<unsure>uncertain)|certain)\b(?=[ .!]*(?:$|\n))",
    re.IGNORECASE,
)

_APOLOGY = lazy_pattern(
    r"(?:(?<=[.!?\n])|^) ?(?:I(?:'m| am) (?:very )?sorry|sorry|I apologi[sz]e|my apologies"
    r"|as an AI|I (?:do not|don't|cannot|can't|could not|couldn't)\b)[^.!?\n]*(?:[.!?\n]+|$)",
    re.IGNORECASE,
)
_LABEL = lazy_pattern(
    # W2R's prompts end in "A:", which models repeat.
    rf"{CONCLUSION.pattern}|(?:^|(?<=\n))[ *_]*A[ *_]*[:=-]",
    re.IGNORECASE,
)
_LAST_NUMBER = lazy_pattern(r"\n\(?\d{1,2}[.)]\s*$")
_FIRST_NUMBER = lazy_pattern(r"^\s*\(?\d{1,2}[.)]\s(?=\S)")
# In capitals they begin titles and names, but for those that go on after a comma or with "I".
_CONJUNCTION = lazy_pattern(
    r"^(?:(?-i:but|and|however|though|yet)\b|(?:but|and|however|though|yet)(?=,| I\b| it\b)"
    r"|sure(?=[,!]))|(?:(?<=[.,;!?\n]) ?|^)(?:but|and|though)$|\W(?-i:but|and|though)$",
    re.IGNORECASE,
)
_LEAD = lazy_pattern(
    r"^I (?:think|believe|guess)\b(?: that\b)?(?: it(?:'s| is| was)\b)? ?", re.IGNORECASE
)
