"""Whether an answer is right: the option that it chooses (SKR Table 4), or a judge's verdict on it.

A judge's verdict is read strictly in meaning and forgivingly in form. A reply that repeats the
question's own alternatives ("right or wrong"), or says both, gives none.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from typing import get_args

from skr_core.ports import Entailment
from skr_core.replies.certainty import conclusion
from skr_core.replies.queries import has_bullets, list_items
from skr_core.texts import MARKER, normalise, split_sentences, straight_quotes, words

MOST_IMPLIED = 8
"""Options, (a) to (h), where a gold answer is a label and no options are given."""

_LABELS = string.ascii_lowercase
_YES_NO, _TRUE_FALSE = ("yes", "no"), ("true", "false")
_VERDICTS = {*_YES_NO, *_TRUE_FALSE}

_MARKERS = re.compile(MARKER)
_ECHO = re.compile(r"\b(?:true or false|yes or no|true/false|yes/no)\b\W*", re.IGNORECASE)
# "(b)", or a letter that something says is an option's: "option b.", "I choose B".
_MARKED = re.compile(
    r"\((?P<bracketed>[A-Za-z])\)"
    r"|\b(?i:option|choice|letter|choose|pick|select|go with)\s+"
    r"(?P<named>[A-Z]\b(?!')|[a-z](?=\W*(?:$|[).:,;\n])))"
)
# A letter at the beginning: "b.", "B: a shop", "B - a shop", "B because".
_LEADING = re.compile(
    r"\W*(?:(?P<any>[A-Za-z])(?:[).:,](?=\W|$)|\W*(?:$|\n)|\s+[–—-]\s)"
    r"|(?P<capital>[B-HJ-Z])\s+(?:because|since|as)\b)"
)
_SEVERAL = re.compile(r"\W*[A-Za-z]\W{0,3}\s*(?:,|/|&|\bor\b|\band\b)\s*\W?[A-Za-z]\b(?!')")
_DENIED_BEFORE = re.compile(r"\b(?:not|neither|nor|than)\s+(?:option\s+)?$", re.IGNORECASE)
_DENIED_BEHIND = re.compile(
    r"[\s*_]*(?:(?:is|are|was|seems?|looks?|can|could|does|would)\s*(?:n't|not)|cannot"
    r"|(?:is|seems|looks)\s+(?:\w+\s+)?(?:wrong|incorrect|false|out)|,?\s*which is wrong)\b",
    re.IGNORECASE,
)
# "The statement is not true": a true or a false is said of something, or stands first.
_TRUTH = re.compile(
    r"(?:^\W*|\b(?:statement|claim|sentence|it|this|that|which)\b[^.!?\n]{0,30}?\b(?:is|was)\s*)"
    r"(?P<denied>n't |not )?(?:also |indeed |actually |in fact )?(?P<word>true|false)\b",
    re.IGNORECASE,
)
_GOLD_LABEL = re.compile(r"\W*([A-Ha-h])\W*|\(?([A-H])[).:]\s.*", re.DOTALL)


def choice_match(answer: str, gold: Sequence[str], choices: Sequence[str] = ()) -> bool:
    """Whether the option that an answer chooses is a right one (accuracy, SKR §4.1).

    Args:
        answer: The system's answer.
        gold: The right options, as their text or their label.
        choices: The options, in the order of their labels (a), (b), ...; where none are given, the
            gold answers imply them: yes and no, true and false, or labels alone.

    Example:
        >>> choice_match("A street? No, the answer is (b).", ["a shop"], ["a street", "a shop"])
        True
        >>> choice_match("No [1].", ["yes"], ["yes", "no"])
        False
        >>> choice_match("It is not true of 1735. So the answer is false.", ["False"])
        True
    """
    options = choices or implied_choices(gold)
    right = {place for each in gold for place in _places(each, options)}
    return chosen(answer, options) in right


def implied_choices(gold: Sequence[str]) -> tuple[str, ...]:
    """The options that gold answers imply: empty texts are options known by their label alone.

    Example:
        >>> implied_choices(["yes"]), len(implied_choices(["(B)"])), implied_choices(["Paris"])
        (('yes', 'no'), 8, ())
    """
    bare = {normalise(each) for each in gold}
    for pair in (_YES_NO, _TRUE_FALSE):
        if bare & set(pair):
            return pair
    labelled = any(_GOLD_LABEL.fullmatch(each.strip()) for each in gold)
    return ("",) * MOST_IMPLIED if labelled else ()


def chosen(answer: str, choices: Sequence[str]) -> int | None:
    """The place of the option that an answer chooses; None where it chooses none, or several.

    The text behind the last "the answer is" counts. Without such words, the answer begins with the
    option or its label, names exactly one, or names one label in its last sentence. A yes or no in
    the middle of a text says nothing.

    Args:
        answer: The system's answer.
        choices: The options, in the order of their labels (a), (b), ...

    Example:
        >>> chosen("(b)", ["street", "shop"]), chosen("The street or the shop.", ["street", "shop"])
        (1, None)
    """
    text = _MARKERS.sub(" ", _ECHO.sub("", straight_quotes(answer))).replace("**", "")
    concluded = conclusion(text)
    said = text if concluded is None else concluded
    texts = [_bare(choice) for choice in choices]
    is_label = re.fullmatch(r"\W*\([A-Za-z]\)\W*", said)
    if not is_label and said.strip() and texts.count(_bare(said)) == 1:
        return texts.index(_bare(said))
    for read in (_by_label, _by_truth, _by_text):
        place = read(said, texts, concluded is not None)
        if place is not None:
            return place
    return None


def _places(gold: str, choices: Sequence[str]) -> set[int]:
    """The options that a gold answer names; an option of its text outweighs one of its label."""
    texts = {place for place, each in enumerate(choices) if _bare(each) == _bare(gold)}
    label = _GOLD_LABEL.fullmatch(gold.strip())
    if texts or label is None:
        return texts
    return {_LABELS.index((label.group(1) or label.group(2)).lower())} & set(range(len(choices)))


def _by_label(said: str, texts: Sequence[str], concluded: bool) -> int | None:
    """The label that a text begins with, or the only one it names or ends with."""
    count = len(texts)
    leading = _LEADING.match(said)
    if _SEVERAL.match(said):
        return None
    if leading and not _DENIED_BEHIND.match(said, leading.end()):
        place = _index(leading.group("any") or leading.group("capital"), count)
        if place is not None:
            return place
    begins = re.match(r"\W*\(([A-Za-z])\)", said)
    named = _named_labels(said, count)
    if begins and (place := _index(begins.group(1), count)) in named and len(named) > 1:
        return place if not re.match(r"\W*(?:or|and)\b", said[begins.end() :]) else None
    if len(named) == 1:
        return next(iter(named))
    if named and not concluded:
        *_, last = split_sentences(said)
        if last.strip() != said.strip() and len(ending := _named_labels(last, count)) == 1:
            return next(iter(ending))
    return None


def _named_labels(said: str, count: int) -> set[int]:
    """The labels in a text that are not denied."""
    places = {
        _index(each.group("bracketed") or each.group("named"), count)
        for each in _MARKED.finditer(said)
        if not _DENIED_BEHIND.match(said, each.end())
        and not _DENIED_BEFORE.search(said[max(0, each.start() - 20) : each.start()])
    }
    return {place for place in places if place is not None}


def _by_truth(said: str, texts: Sequence[str], concluded: bool) -> int | None:
    """True or false, where these are the options and something is said to be either."""
    if set(texts) != set(_TRUE_FALSE):
        return None
    stated = [*_TRUTH.finditer(said)]
    if not stated:
        return None
    word, denied = stated[-1].group("word").lower(), stated[-1].group("denied")
    return texts.index(word if not denied else {"true": "false", "false": "true"}[word])


def _by_text(said: str, texts: Sequence[str], concluded: bool) -> int | None:
    """The option whose text a conclusion begins with, or the only one that is named."""
    text = f" {normalise(said)} "
    first = words(said)[:1]
    opening = [
        place
        for place, each in enumerate(texts)
        if each and text.startswith(f" {each} ") and (concluded or each in _VERDICTS & {*first})
    ]
    if opening:
        return max(opening, key=lambda place: len(texts[place]))
    named = [
        place
        for place, each in enumerate(texts)
        if each and f" {each} " in text and (concluded or each not in _VERDICTS)
    ]
    # An option that is a part of another one named is not named by itself.
    named = [
        place
        for place in named
        if not any(other != place and texts[place] in texts[other] for other in named)
    ]
    return named[0] if len(named) == 1 else None


def _index(label: str, count: int) -> int | None:
    place = _LABELS.find(label.lower())
    return place if 0 <= place < count else None


def _bare(text: str) -> str:
    """A text to compare; the article rule would leave nothing of the option "A"."""
    return normalise(text) or text.strip(" \t\n().:").lower()


_NEGATION = re.compile(
    r"(?:\b(?:not|never|hardly|no|without)|n't)\s+(?:\w+\s+){0,1}$", re.IGNORECASE
)
_SUFFICIENT = re.compile(r"\b(?P<denied>in)?sufficient\b", re.IGNORECASE)
_TITLE = r"[\W_]*(?:(?:final )?verdict|judge?ment|reply|answer)?[\W_]*"
# At the beginning of a line; the question's own alternatives repeated are no verdict.
_SUFFICIENT_LINE = re.compile(
    rf"^{_TITLE}(?:(?P<not>not) )?(?P<denied>in)?sufficient\b(?!\W*(?:/|or\b))(?! (?:\w+ )?if\b)",
    re.IGNORECASE | re.MULTILINE,
)
_BOTH = re.compile(r"\b(?:in)?sufficient\W*(?:/|\bor\b)\W*(?:in)?sufficient\b", re.IGNORECASE)
_MARKS = " \t\r\n:,.;*_-–—\"'"

_RIGHT = r"(?:(?P<right>right|correct)|wrong|incorrect)\b"
_NO_ECHO = r"(?!\W*(?:/|or\b|answers?\b))"
_RIGHT_OPENING = re.compile(rf"{_TITLE}(?:(?P<not>not) )?{_RIGHT}{_NO_ECHO}", re.IGNORECASE)
_RIGHT_SENTENCE = re.compile(
    r"(?:^|[.!?:,\n]|\b(?:so|thus|therefore|hence|that))\W*"
    r"(?:(?:the|this|that|its) )?(?:given )?(?:answer|it) (?:is|was) "
    rf"(?:(?P<not>not) )?\W*{_RIGHT}{_NO_ECHO}",
    re.IGNORECASE,
)
_ENTAILMENTS: tuple[Entailment, ...] = get_args(Entailment)
# The prompt asks for the English words; a judge may give them in the language of the premise.
_ENTAILMENT_WORDS = (
    r"(?P<entailment>entailment|folgerung|implikation|implication|implicación|蕴含|蘊含|含意)"
    r"|(?P<neutral>neutral(?:e|idad)?|neutre|neutro|中立|中性)"
    r"|(?P<contradiction>contradiction|widerspruch|contradicción|矛盾)"
)
_LABELLED = (
    r"[\W_]{0,20}(?:(?:final )?(?:verdict|judge?ment|reply|answer|label|relation(?:ship)?)"
    r"|urteil|antwort|réponse|respuesta|答案|结论|回答)?[\W_]{0,20}(?P<not>not )?(?:an? )?"
    rf"(?:{_ENTAILMENT_WORDS})(?!\w)"
)
_ENTAILMENT_ALONE = re.compile(rf"^{_LABELLED}[^\w?]*$", re.IGNORECASE | re.MULTILINE)
_ENTAILMENT_OPENING = re.compile(
    rf"^{_LABELLED}(?=[\W_]*(?:$|\n)|[*_\"'`]*\s?[.:;–—(。：-])", re.IGNORECASE | re.MULTILINE
)
_BOXED = re.compile(r"\\boxed\{\s*(?:\\\w+\{)?([^{}]*)\}+")
_ENTAILMENT_STATED = re.compile(
    r"(?P<neutral>(?:\bnot|n't|\bcannot|\bnever) (?:\w+ ){0,3}?"
    r"(?:follow|entail(?:ed|ment)?|inferred|implied|deduced)\b|\b(?:is|as|remains) neutral\b"
    r"|\bfolgt (?:\w+ ){0,5}?nicht\b|\bnicht (?:\w+ ){0,3}?(?:folgt|gefolgert)\b"
    r"|\bne (?:découle|suit|résulte) pas\b|\bno (?:se )?(?:sigue|deduce|desprende|infiere)\b"
    r"|(?:不能|无法|無法|不可)\w{0,9}?(?:推出|推断|推斷|得出)|(?:導かれ|導け|推論でき)(?:ない|ません))"
    r"|(?P<contradiction>\bcontradicts\b|\b(?:is|are) (?:\w+ly )?(?:contradicted|a contradiction)\b"
    r"|\bwiderspricht\b|\bcontredit\b|\bcontradice\b|(?<![不无無])矛盾)"
    r"|(?P<entailment>\bfollows\b|\bentails\b|\b(?:is|be) (?:\w+ly )?(?:entailed|an entailment)\b"
    r"|\bfolgt\b|\bdécoule\b|\bse (?:sigue|deduce|desprende|infiere)\b"
    r"|(?:可以|能|可)\w{0,9}?(?:推出|推断|推斷|得出)|導かれ(?:る|ます)|推論でき(?:る|ます))",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(r"[?？]|\b(?:whether|if|would|could|ob|wenn|si)\b|是否", re.IGNORECASE)


def parse_sufficient(text: str) -> tuple[bool, str] | None:
    """Whether the references suffice, and what is missing; None where a reply says neither.

    A line that begins with the verdict outweighs one in running prose, and the last counts in
    either case, because a model that thinks aloud concludes at the end.

    Args:
        text: The reply to `skr_core.prompts.ask_is_sufficient`.

    Example:
        >>> parse_sufficient("Insufficient: the director's birthplace")
        (False, "the director's birthplace")
        >>> parse_sufficient("They are sufficient.")
        (True, '')
    """
    said = straight_quotes(text)
    said = _BOTH.sub(lambda echo: " " * len(echo.group()), said)
    lines = [*_SUFFICIENT_LINE.finditer(said)]
    stated = lines or [*_SUFFICIENT.finditer(said)]
    if not stated:
        return None
    last = stated[-1]
    denied = last.group("denied") or last.groupdict().get("not")
    if not denied and not lines:
        denied = _NEGATION.search(said[max(0, last.start() - 40) : last.start()])
    return (False, _missing(text[last.end() :])) if denied else (True, "")


def _missing(rest: str) -> str:
    """The text behind a verdict on one line: the rest of its line, or the list below it."""
    beside, _, below = rest.partition("\n")
    items = [beside.strip(_MARKS)]
    if has_bullets(below) or not items[0]:
        items += list_items(below)
    return "; ".join(filter(None, items))


def parse_right(text: str) -> bool | None:
    """Whether a judge finds an answer right; None where its reply does not say.

    The verdict is the reply's first word, or a sentence such as "The given answer is wrong"; the
    last such sentence counts.

    Args:
        text: The reply to `skr_core.prompts.ask_is_right`.

    Example:
        >>> parse_right("Wrong: it was Bob.")
        False
        >>> parse_right("It may be right or wrong.") is None
        True
    """
    opening = _RIGHT_OPENING.match(text)
    found = [opening] if opening else [*_RIGHT_SENTENCE.finditer(text)]
    if not found:
        return None
    stated = found[-1]
    return (stated.group("right") is not None) is (stated.group("not") is None)


def parse_entailment(text: str) -> Entailment | None:
    """The verdict on a premise and a hypothesis, or None where a reply gives none.

    A verdict that stands alone on a line or in a box outweighs one that a line begins with, and
    that one a sentence such as "The hypothesis follows"; of each kind the last counts, because a
    model that thinks aloud concludes at the end. What is weighed ("if it follows ...") is no
    verdict, nor are lines that begin with different ones. A denial of entailment is neutral.

    Args:
        text: The reply to `skr_core.prompts.ask_entailment`.

    Example:
        >>> parse_entailment("**Entailment.** The premise says so.")
        'entailment'
        >>> parse_entailment("Neutral? No: both name Paris. So it follows from the premise.")
        'entailment'
        >>> parse_entailment("It may be entailment or neutral.") is None
        True
    """
    said = _BOXED.sub(r"\n\1\n", straight_quotes(text))
    alone = [_entailment(each) for each in _ENTAILMENT_ALONE.finditer(said)]
    if verdicts := [verdict for verdict in alone if verdict is not None]:
        return verdicts[-1]
    concluded = _ENTAILMENT_OPENING.match(conclusion(said) or "")
    opening = {_entailment(each) for each in _ENTAILMENT_OPENING.finditer(said)}
    if concluded or len(opening) == 1:
        return _entailment(concluded) if concluded else opening.pop()
    for sentence in reversed(split_sentences(said)):
        stated = [*_ENTAILMENT_STATED.finditer(sentence)]
        if stated and not _SUPPOSED.search(sentence):
            return _entailment(stated[-1])
    return None


def _entailment(found: re.Match[str]) -> Entailment | None:
    """The verdict of a match, by the name of its group."""
    groups = found.groupdict()
    if not groups.get("not"):
        return next(each for each in _ENTAILMENTS if groups[each])
    return "neutral" if groups["entailment"] else None
