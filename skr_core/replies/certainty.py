"""What a model says of its own answer: its conclusion, its certainty, its need of help."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from skr_core.replies.wording import DOES_NOT_KNOW
from skr_core.texts import straight_quotes

# A remark on an answer that does not give it: "This answer is supported by [1]".
_REMARK = (
    r"(?![ *_]*(?:(?:not|also|fully|only|directly|clearly|explicitly) )*"
    r"(?:supported|based|derived|found|given|stated|provided|taken|confirmed|mentioned|contained"
    r"|known|available|clear|correct|incorrect|wrong|in (?:the|reference|passage))\b)"
)
_BETWEEN = (
    r"(?:,? (?:then|therefore|thus|here|choice|option|in (?:this|that) case"
    r"|I (?:would )?(?:give|choose|get)|(?:to|for|of) [^.\n]{0,80}?)\b,?)?"
)
CONCLUSION = re.compile(
    r"(?:\b(?:so|thus|therefore|hence),? )?(?:\b(?:the|my|our) )?"
    rf"(?:\b(?:final|correct|right|best|short) )?\banswer{_BETWEEN}[ *_]* "
    r"(?:is|was|would be|should be|must be|will be|has to be)\b"
    rf"[ *_]*:?{_REMARK}(?: ?that\b)?"
    # A label, on a line of its own or at the beginning of a sentence.
    r"|(?:^|(?<=[.!?\n]))[ *_#>]*(?:(?:so|thus|therefore),? )?(?:(?:the|my) )?"
    r"(?:(?:final|correct|best|short) )?answer[ *_]*(?:[:=]|[–—-](?=\s))"
    r"|\bfinal answer[ *_]*:",
    re.IGNORECASE,
)
"""The words that lead to a conclusion (Wei et al. 2022), in a text with single spaces.

The pattern has no groups, so that others may contain it.
"""

_SPACES = re.compile(r"[^\S\n]+")
# A completion of a prompt with demonstrations may go on with a question of its own.
_NEXT_QUESTION = re.compile(r"\n\s*(?:Question|Q):")


def conclusion(text: str) -> str | None:
    """The text behind the last "the answer is" of a reply; None where there is none.

    A question that the model asks itself behind its answer ends the reply. Bold print is taken off.

    Args:
        text: The reply.

    Example:
        >>> conclusion("A street? No, the answer is (b).")
        '(b).'
        >>> conclusion("**Answer:** Paris")
        'Paris'
        >>> conclusion("Paris.") is None
        True
    """
    said = _NEXT_QUESTION.split(text.strip(), maxsplit=1)[0].replace("**", "")
    _, *concluded = CONCLUSION.split(_SPACES.sub(" ", said))
    found = [each.strip(" \t\n*_:") for each in concluded]
    return next((each for each in reversed(found) if each), None)


def final_answer(text: str) -> str:
    """The first line of a reply's conclusion; the whole reply where it has none.

    Example:
        >>> final_answer("It flows there. So the answer is the Seine.")
        'the Seine.'
        >>> final_answer("The Seine.")
        'The Seine.'
    """
    concluded = conclusion(text)
    if concluded is None:
        return text.strip()
    return concluded.splitlines()[0].strip()


@dataclass(frozen=True, slots=True)
class Certainty:
    """An answer together with its certainty.

    Models state it in any form: "1972. Certain.", "China (certain) - pandas are native to it", "291
    certain", "I'm not sure, but I think it is Paris". The words also occur in answers ("That
    Certain Something", "in certain countries"), so a word alone says nothing: it must stand by
    itself, end a line, or have the model as its subject.

    Attributes:
        answer: The answer; None where the reply gives none.
        certain: Whether the model is sure of it; None where the reply does not say.
    """

    answer: str | None
    certain: bool | None


def parse_certainty(text: str) -> Certainty:
    """Read the answer and the certainty of a reply (W2R §3.1); never raises.

    A statement that stands by itself outweighs one in running prose, and the last of its kind
    counts, because a model that thinks aloud concludes at the end. The answer stands before the
    first statement, or after the last where nothing stands before.

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
    for pattern in _statements():
        if stated := [*pattern.finditer(said)]:
            break
    else:
        return Certainty(_answer(said), None)
    first, last = stated[0], stated[-1]
    answer = _answer(said[: first.start()]) or _answer(said[last.end() :])
    # The named groups are those that deny certainty.
    return Certainty(answer, not any(last.groupdict().values()))


@cache
def _statements() -> tuple[re.Pattern[str], ...]:
    """How certainty is stated, the strongest first; compiled when needed, as it takes 7 ms."""
    return tuple(re.compile(each, re.IGNORECASE) for each in (_STANDALONE, _PROSE, _LAST_WORD))


def _straighten(text: str) -> str:
    """The text with single spaces, without wrapped lines and quotes of the prompt."""
    single = _SPACES.sub(" ", _LINES.sub("\n", straight_quotes(text.strip())))
    return _ECHO.sub(" ", _WRAPPED.sub(r"\1 ", _HYPHENATED.sub("", single)))


def _answer(part: str) -> str | None:
    """The answer in a part of a reply: neither apologies, labels nor punctuation."""
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
    """The part without the marks around it, but with the sign or the point of a number."""
    return _LEADING.sub("", part.rstrip(_MARKS))


_LINES = re.compile(r"\s*\n\s*")
_MARKS = " \t\r\n\f\v.,;:!?-–—*_\"'()[]。，、；：！？（）「」"
# A line that ends within "not quite certain" is a wrapped one.
_WRAPPED = re.compile(
    r"((?<![^\W\d_])(?:not|never|cannot|am|be|feel|fully|entirely|completely|quite|very|so|too"
    r"|nicht|mir|pas|suis|estoy)|n't|I'm)\n",
    re.IGNORECASE,
)
_HYPHENATED = re.compile(r"(?<=\bun)-\n(?=certain|sure|confident)", re.IGNORECASE)
_LEADING = re.compile(rf"\A(?:(?![-.]\d)[{re.escape(_MARKS)}])+")

_DEGREE = r"(?:(?:\w+ly|very|quite|pretty|almost|\d{1,3} ?%)\s){0,2}"
_NOT = (
    r"(?:\b(?:not|never|less|hardly|no longer|cannot)|n't) "
    r"(?:be |feel )?(?:so |too |that |all that )?"
)
_UNSURE = (
    rf"(?:\b{_DEGREE}(?:uncertain|unsure|unconfident)|{_NOT}{_DEGREE}(?:certain|sure|confident))\b"
)
# The prompt's own words, quoted back: "certain/uncertain", "say 'certain'".
_ECHO = re.compile(
    r"(?:un)?certain[\"']?(?: ?[/|] ?|,? or )[\"']?(?:un)?certain\b"
    r"|\bsay(?:ing)? [\"'](?:un)?certain[\"']",
    re.IGNORECASE,
)
# How certainty is stated in other languages: a question in one's own language often gets its
# certainty in it too, although W2R's prompts name the English words.
_UNSURE_WORDS = (
    r"unsicher|ungewiss|(?:nicht|wenig) (?:\w+ )?(?:sicher|gewiss)"
    r"|incertaine?|(?:pas|peu) (?:\w+ )?(?:sûre?|certaine?)"
    r"|insegur[oa]|inciert[oa]|(?:no|poco) (?:\w+ )?(?:segur[oa]|ciert[oa])"
    r"|(?:我)?(?:不(?:太|很|大)?|无法|無法|没)(?:能)?(?:确定|確定|肯定|确信|確信|确认|確認)"
    r"|(?:不確か|不確実|確信(?:は|が)?(?:ない|ありません|持て(?:ない|ません))"
    r"|自信(?:は|が)?(?:ない|ありません))(?:です)?"
)
_SURE_WORDS = (
    r"(?:ganz |sehr |absolut )?sicher|gewiss|(?:tout à fait |très )?sûre?|certaine"
    r"|(?:muy |totalmente )?segur[oa]"
    r"|(?:我)?(?:非常|很|十分|完全)?(?:确定|確定|肯定|确信|確信)"
    r"|(?:確か|確実|確信(?:して(?:いる|います)|が(?:ある|あります))?"
    r"|自信が(?:ある|あります))(?:です)?"
)
_UNSURE_SELF = (
    r"\bich bin (?:mir )?(?:\w+ ){0,2}?(?:nicht (?:\w+ )?sicher|unsicher)\b"
    r"|\bje (?:ne suis|n'en suis|suis) (?:pas (?:\w+ )?(?:sûre?|certaine?)|incertaine?)\b"
    r"|\b(?:no estoy|no me siento) (?:\w+ )?segur[oa]\b"
    r"|我(?:并|並)?不(?:太|很|大|能)?(?:确定|確定|肯定|确信|確信)"
)
_SURE_SELF = (
    r"\bich bin (?:mir )?(?:\w+ ){0,2}?sicher\b"
    r"|\bj(?:e |')(?:en )?suis (?:\w+ ){0,2}?(?:sûre?|certaine?)\b"
    r"|\bestoy (?:\w+ )?segur[oa]\b"
    r"|我(?:非常|很|十分|完全)?(?:确定|確定|肯定|确信|確信)"
)
_BEFORE = r"(?:^|(?<=[.,;:!?()\[\]\n\"'*_<>–—。，、；：！？（）「」-])) ?(?<!\w-)"
_AFTER = r"(?=\s?(?:$|[.,;:!?()\[\]\n\"'*_<>–—。，、；：！？（）「」-]))(?!-\w)"
_STANDALONE = (
    # After a label, or as one: "Certainty: low", "Certain: no".
    r"\b(?:certainty|confidence)(?: level)?[ *_]*[:=–-][ *_\"'(]*"
    rf"(?:(?P<unsure_label>{_UNSURE}|low)|{_DEGREE}(?:certain|sure|confident)|high)\b"
    rf"|(?<!\w)certain[ *_\"]*[:=?][ *_\"'(]*(?:(?P<no>no|false)|yes|true)\b{_AFTER}"
    # Between marks: "(certain)", "Certain - ".
    rf"|{_BEFORE}(?:(?P<unsure_alone>{_UNSURE}|{_UNSURE_WORDS})"
    rf"|\b{_DEGREE}(?:certain|confident)\b|{_SURE_WORDS}){_AFTER}"
)
_CLAUSE = (
    r"(?: (?:about|of|in|on|whether|if|who|what|when|where|which|why|how|as to)\b[^.,;!?\n]*)?"
)
_SELF = r"\bI ?(?:'m|am|was|feel|remain|can|could|do|ca(?=n't))? ?(?:still |now )?"
_PROSE = (
    # The model about itself: "I am fairly certain that".
    rf"{_SELF}(?:(?P<unsure_self>{_UNSURE})|{_DEGREE}(?:certain|sure|confident)\b)"
    rf"{_CLAUSE}(?: that\b)?"
    rf"|(?P<unsure_foreign>{_UNSURE_SELF})|{_SURE_SELF}"
    # Not to know is not to be certain: "I do not know for certain".
    rf"|(?P<unknown>{DOES_NOT_KNOW})"
    rf"(?: for (?:certain|sure)\b)?{_CLAUSE}"
    # The same without "I am": "Not sure who".
    rf"|{_BEFORE}(?P<unsure_bare>{_UNSURE}){_CLAUSE}"
)
# The last word of a line, after words that make no sentence of it: "291 certain".
_LAST_WORD = (
    r"(?<=\w)(?<!\bis)(?<!\bare)(?<!\bwas)(?<!\bbe)(?<!n't)(?<!\bnot)(?<!\bfor)"
    r" (?:(?P<unsure>uncertain)|certain)\b(?=[ .!]*(?:$|\n))"
)

_APOLOGY = re.compile(
    r"(?:(?<=[.!?\n])|^) ?(?:I(?:'m| am) (?:very )?sorry|sorry|I apologi[sz]e|my apologies"
    r"|as an AI|I (?:do not|don't|cannot|can't|could not|couldn't)\b)[^.!?\n]*(?:[.!?\n]+|$)",
    re.IGNORECASE,
)
_LABEL = re.compile(
    # W2R's prompts end in "A:", which models repeat.
    rf"{CONCLUSION.pattern}|(?:^|(?<=\n))[ *_]*A[ *_]*[:=-]",
    re.IGNORECASE,
)
_LAST_NUMBER = re.compile(r"\n\(?\d{1,2}[.)]\s*$")
_FIRST_NUMBER = re.compile(r"^\s*\(?\d{1,2}[.)]\s(?=\S)")
# In capitals they begin titles and names, but for those that go on after a comma or with "I".
_CONJUNCTION = re.compile(
    r"^(?:(?-i:but|and|however|though|yet)\b|(?:but|and|however|though|yet)(?=,| I\b| it\b)"
    r"|sure(?=[,!]))|(?:(?<=[.,;!?\n]) ?|^)(?:but|and|though)$|\W(?-i:but|and|though)$",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"^I (?:think|believe|guess)\b(?: that\b)?(?: it(?:'s| is| was)\b)? ?", re.IGNORECASE
)


def parse_need(text: str, *, yes_means_unknown: bool) -> bool | None:
    """Whether a reply says that the model needs retrieval (SKR §3.2, Table 2).

    A reply that begins with yes or no is read by the question's polarity. One that does not is read
    by its words of needing and of being able, which mean the same after every question. Nothing
    raises.

    Args:
        text: The reply.
        yes_means_unknown: Whether a yes means that the model needs help.

    Returns:
        None where the reply says neither.

    Example:
        >>> parse_need("No, I don't need additional information.", yes_means_unknown=True)
        False
        >>> parse_need("No, this is not solvable.", yes_means_unknown=False)
        True
        >>> parse_need("I need more information.", yes_means_unknown=False)
        True
        >>> parse_need("Perhaps.", yes_means_unknown=True) is None
        True
    """
    said = " ".join(straight_quotes(text).split())
    opening = _OPENING.match(conclusion(said) or "") or _OPENING.match(said)
    if opening:
        return (opening.group("no") is None) == yes_means_unknown
    return next((need for pattern, need in _phrases() if pattern.search(said)), None)


_OPENING = re.compile(
    r"(?:\W|A:|Answer:)*"
    r"(?:(?P<no>no(?! idea| clue)|nope|nah|not (?:really|necessarily|at all)"
    r"|(?:of course|certainly|definitely|absolutely) not)"
    r"|yes|yeah|yep|sure|of course|certainly|definitely|absolutely)\b"
    # "Yes or no", "yes/no": the question's own words.
    r"(?! ?(?:/|\bor\b|\band\b) ?(?:yes|no)\b)",
    re.IGNORECASE,
)
_MORE = r"(?:additional|further|more|extra|external|information|context|clues?|prompts?|help)"


@cache
def _phrases() -> tuple[tuple[re.Pattern[str], bool], ...]:
    """Phrases with the need that they state, in the order of their weight; compiled when needed.

    "I cannot answer it, and I don't need ..." is still a question not answered.
    """
    cannot = (
        r"\b(?:cannot|can't|can not|could not|couldn't|unable to|not able to) (?:\w+ )?"
        r"(?:answer|solve)\b|\bnot (?:\w+ )?(?:answerable|solvable)\b"
        rf"|{DOES_NOT_KNOW}"
    )
    needs_nothing = (
        r"\b(?:do not|don't|does not|doesn't|no|not) (?:\w+ ){0,2}?(?:need|require|want)"
        rf"|\b{_MORE} (?:\w+ )?(?:is not|isn't|are not|aren't) (?:needed|required|necessary)"
        rf"|\b(?:needs? no|without (?:any )?{_MORE})\b"
    )
    needs = (
        rf"\b(?:need|require|want|like)s? (?:\w+ ){{0,3}}?{_MORE}"
        rf"|\b{_MORE} (?:\w+ ){{0,2}}?(?:is|are|would be) (?:\w+ )?"
        r"(?:needed|required|necessary|helpful)"
    )
    can = rf"\bI (?:can|am able to) (?:\w+ )?(?:answer|solve)\b|{CONCLUSION.pattern}"
    phrases = (cannot, True), (needs_nothing, False), (needs, True), (can, False)
    return tuple((re.compile(pattern, re.IGNORECASE), need) for pattern, need in phrases)
