"""Refusals: whether a reply refuses, and what is said in place of an answer.

A model may refuse in the words that were asked for (RaLLM §5.1) or in its own. A reply is read as a
whole, because some refuse only at the end: they explain what would be needed, quote what is there,
and then say that the rest is missing. A sentence that rests on a citation is an answer all the
same, if one with a gap.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from skr_core.prompts.templates import REFUSAL
from skr_core.replies import wording
from skr_core.replies.wording import CITATION, compiled
from skr_core.texts import beginnings, split_sentences, straight_quotes, words

LONGEST_OPENING = 400
"""Characters in which a first sentence is expected to end."""

LONGEST_READ = 6000
"""Characters that are read at the beginning of a long reply, and as many at its end."""

MOST_ALONE = 3
"""Sentences of a reply of which any may say, in any words, that its writer does not know."""

_FENCED = re.compile(r"(?ms)^[ \t]*(?P<fence>`{3,}|~{3,}).*?(?:^[ \t]*(?P=fence)|\Z)")
_SPACES = re.compile(r"\s+")
# A whole reply that stands in place of an answer.
_NO_ANSWER = re.compile(
    r"\W*(?:(?:(?:it|that|this|the answer) is )?(?:unknown|not known)(?: to me)?|n/?a|none|nothing"
    r"|no answer|(?:not )?(?:answer )?found|unanswerable|not (?:stated|mentioned|available|given"
    r"|specified|provided)|unbekannt|inconnu|desconocido|未知|不明|なし|无|無)\W*",
    re.IGNORECASE,
)
# What somebody else says, or a title: it begins behind other words or goes on before them.
_QUOTED = re.compile(r'(?<=[\w,] )"[^"]{1,300}"|"[^"]{1,300}"(?= (?:is|was|by)\b)')
_OPENINGS = beginnings(wording.OPENERS)
_ENDED = re.compile(r"[.!?](?:\s|$)|[。！？]")
_SETTLING = 24  # characters behind a sentence, after which it is known to have ended
_WRAPPING = " \t\"'`<>*_#"


@dataclass(frozen=True, slots=True)
class Gaps:
    """The gaps that a reply admits.

    Attributes:
        sentences: The sentences that name what is missing, or say that the writer cannot tell, in
            order.
        refuses: Whether the reply refuses, as a whole, where nothing in it is cited.
        opens: Whether it begins with one of these sentences, so that no answer comes first.
        answers: Whether a citation supports something that the reply says.
        offers: Whether it names an answer all the same, as a guess.
    """

    sentences: tuple[str, ...] = ()
    refuses: bool = False
    opens: bool = False
    answers: bool = False
    offers: bool = False


def find_gaps(text: str) -> Gaps:
    """Find the gaps that a reply admits; never raises.

    Args:
        text: The reply without its thoughts and its verdict.

    Example:
        >>> find_gaps("It sank in 1912 [1]. The references do not say why.").sentences
        ('The references do not say why.',)
    """
    said = _sentences(text)
    if not text.strip() or _NO_ANSWER.fullmatch(text.strip()[:40]):
        return Gaps((), refuses=True, opens=True)
    if not said:  # all of it is code
        return Gaps()
    cited = [CITATION.search(each) for each in said]
    # A cited sentence says that something is missing only where it names the material.
    may_lack = [
        marker is None or _has(wording.SURELY_MATERIAL, each)
        for marker, each in zip(cited, said, strict=True)
    ]
    lacks = [may and _lacks(each) for may, each in zip(may_lack, said, strict=True)]
    courtesy = compiled(wording.COURTESY)
    first = next((place for place, each in enumerate(said) if not courtesy.fullmatch(each)), 0)
    cannot = [
        may and _cannot(each, alone=place == first or len(said) <= MOST_ALONE)
        for place, (may, each) in enumerate(zip(may_lack, said, strict=True))
    ]
    if may_lack[0] and _has(wording.MATERIAL_ONLY, said[0]):
        lacks[0] = cited[0] is None
    for place, each in enumerate(said[1:], start=1):
        # An absence that something is concluded from is no gap: "Therefore, the amount is 0."
        if lacks[place - 1] and not (lacks[place] or cannot[place]):
            lacks[place - 1] = not _has(wording.CONCLUDES, each)
    gaps = [place for place in range(len(said)) if lacks[place] or cannot[place]]
    opens = first in gaps or _apologises(said[0])
    refuses = opens or any(cannot)
    if gaps and not refuses:
        refuses = any(_has(wording.ASKS_FOR_MORE, each) for each in said)
    return Gaps(
        tuple(said[place] for place in gaps),
        refuses=refuses,
        opens=opens,
        answers=any(map(_is_backed, said, cited, may_lack)),
        offers=refuses and _offers(said),
    )


def is_refusal(text: str) -> bool:
    """Whether nothing of a reply could be served: it refuses, and it cites nothing.

    An answer that names a gap is none: what it cites is an answer.

    Args:
        text: The reply; an empty one refuses.

    Example:
        >>> is_refusal("I’m sorry, I cannot answer the question based on the provided references.")
        True
        >>> is_refusal("Die Quellen nennen kein Datum.")
        True
        >>> is_refusal("参考资料中没有提到她的出生地。")
        True
        >>> is_refusal("Paris [1].")
        False
    """
    gaps = find_gaps(text)
    return gaps.refuses and not (gaps.answers or gaps.offers)


def may_become_refusal(beginning: str) -> bool:
    """Whether a reply that begins like this refuses, or may yet do so in its first sentence.

    An opening of more than `LONGEST_OPENING` characters that does not refuse is taken for an
    answer.

    Args:
        beginning: The reply as far as the model has written it.

    Example:
        >>> may_become_refusal("I am sorry, but"), may_become_refusal("Paris is")
        (True, False)
    """
    if is_refusal(beginning):
        return True
    if len(beginning) > LONGEST_OPENING or not opens_like_refusal(beginning):
        return False
    return not _ENDED.search(straight_quotes(beginning))


def opens_like_refusal(beginning: str) -> bool:
    """Whether a text begins as refusals do, or is too short to tell.

    Example:
        >>> opens_like_refusal("The ref"), opens_like_refusal("The answer is")
        (True, False)
    """
    opening = straight_quotes(beginning[:LONGEST_OPENING]).lower()
    said = _SPACES.sub(" ", opening).lstrip(_WRAPPING)
    return said in _OPENINGS or said.startswith(wording.OPENERS)


def begins_with_refusal(beginning: str, *, is_whole: bool = False) -> bool | None:
    """Whether the first sentence of an answer refuses; None where it has not ended.

    Args:
        beginning: The answer as far as the model has written it.
        is_whole: Whether nothing follows.

    Example:
        >>> begins_with_refusal("Par"), begins_with_refusal("The references do not")
        (False, None)
    """
    if not opens_like_refusal(beginning):
        return False
    opening = beginning[:LONGEST_OPENING]
    first, *further = split_sentences(opening) or [""]
    if not is_whole and len(beginning) < LONGEST_OPENING and sum(map(len, further)) < _SETTLING:
        return None
    gaps = find_gaps(first)
    return gaps.opens and not gaps.answers


def says_unknown(answer: str) -> bool:
    """Whether an answer says that the model does not know, or is not sure.

    Args:
        answer: The model's answer without references.

    Example:
        >>> says_unknown("I don't know."), says_unknown("I'm not sure, but I think it is Paris.")
        (True, True)
        >>> says_unknown("Paris.")
        False
    """
    from skr_core.replies.certainty import parse_certainty

    gaps = find_gaps(answer)
    return (gaps.refuses and not gaps.answers) or parse_certainty(answer).certain is False


def _sentences(text: str) -> list[str]:
    """The sentences of a reply that are prose, each on one line, of its beginning and its end."""
    if len(text) > 2 * LONGEST_READ:
        text = f"{text[:LONGEST_READ]}\n{text[-LONGEST_READ:]}"
    prose = straight_quotes(_FENCED.sub("\n", text)).replace("**", "")
    return [_SPACES.sub(" ", each) for each in split_sentences(prose)]


def _lacks(sentence: str) -> bool:
    """Whether a sentence says that the material lacks something."""
    if _has(wording.MATERIAL_LACKS, sentence):
        return True
    others = wording.LATIN if sentence.isascii() else wording.LANGUAGES
    return any(_has(pattern, sentence) for pattern in others)


def _cannot(sentence: str, *, alone: bool = False) -> bool:
    """Whether a sentence says that its writer cannot tell.

    Args:
        sentence: One sentence.
        alone: Whether little else is said, so that it need not say what it cannot.
    """
    sentence = _QUOTED.sub(" ", sentence)
    if _has(wording.WRITER_CANNOT, sentence):
        return True
    if not alone:
        return False
    from skr_core.replies import knowledge

    return _has(knowledge.DECLINES, sentence)


def _offers(said: list[str]) -> bool:
    """Whether a short reply names an answer all the same, and not for want of material."""
    if len(said) > MOST_ALONE or any(_has(wording.MATERIAL_LACKS, each) for each in said):
        return False
    from skr_core.replies.guesses import offers

    return offers(said)


def _has(pattern: str, sentence: str) -> bool:
    return compiled(pattern).search(sentence) is not None


def _is_backed(sentence: str, marker: re.Match[str] | None, may_lack: bool) -> bool:
    """Whether a citation supports something else than a gap."""
    if marker is None or not may_lack:
        return marker is not None
    said = sentence[: marker.start()]
    return not (_lacks(said) or _cannot(said))


def _apologises(sentence: str) -> bool:
    """Whether a sentence apologises for what it denies."""
    apologises = _has(wording.APOLOGISES, sentence) and _has(wording.DENIES, sentence)
    return apologises and not CITATION.search(sentence)


class _Wording(NamedTuple):
    """What is said in one language where the references do not suffice.

    Attributes:
        refusal: The sentence in place of an answer.
        partial: The sentence before a part of an answer.
        lead: The label of what is missing.
        small: Small words that only this language has, of those written in Latin letters.
    """

    refusal: str
    partial: str
    lead: str
    small: frozenset[str] = frozenset()


_SAID = {
    "en": _Wording(
        f"{REFUSAL}.",
        "The references do not answer the question in full.",
        "Missing:",
        frozenset("the who what when where which how why does did of to are were with".split()),
    ),
    "de": _Wording(
        "Die vorliegenden Quellen reichen nicht aus, um die Frage zu beantworten.",
        "Die Quellen beantworten die Frage nicht vollständig.",
        "Es fehlt:",
        frozenset("der das und ist welche welcher welches wer wo wann wie wurde auf im".split()),
    ),
    "fr": _Wording(
        "Les références fournies ne suffisent pas pour répondre à la question.",
        "Les références ne répondent pas entièrement à la question.",
        "Il manque :",
        frozenset("le les est quel quelle qui où quand comment dans du des une".split()),
    ),
    "es": _Wording(
        "Las referencias disponibles no bastan para responder a la pregunta.",
        "Las referencias no responden del todo a la pregunta.",
        "Falta:",
        frozenset("el los las es cuál cual quién dónde cuándo cómo del una en qué".split()),
    ),
    "it": _Wording(
        "I riferimenti disponibili non bastano per rispondere alla domanda.",
        "I riferimenti non rispondono del tutto alla domanda.",
        "Manca:",
        frozenset("il lo gli è chi dove della nel quale perché cosa".split()),
    ),
    "pt": _Wording(
        "As referências disponíveis não bastam para responder à pergunta.",
        "As referências não respondem totalmente à pergunta.",
        "Falta:",
        frozenset("o os é quem onde qual foi da em uma não".split()),
    ),
    "nl": _Wording(
        "De beschikbare bronnen zijn niet voldoende om de vraag te beantwoorden.",
        "De bronnen beantwoorden de vraag niet volledig.",
        "Wat ontbreekt:",
        frozenset("het een wie waar wanneer hoe welke werd van voor zijn".split()),
    ),
    "zh": _Wording("参考资料不足以回答这个问题。", "参考资料不能完整地回答这个问题。", "缺少："),
    "ja": _Wording(
        "参考資料だけではこの質問に答えられません。",
        "参考資料はこの質問に完全には答えていません。",
        "不足している情報：",
    ),
    "ko": _Wording(
        "제공된 참고 자료만으로는 이 질문에 답할 수 없습니다.",
        "참고 자료는 이 질문에 완전히 답하지 못합니다.",
        "부족한 정보:",
    ),
    "ru": _Wording(
        "Имеющихся источников недостаточно, чтобы ответить на вопрос.",
        "Источники отвечают на вопрос не полностью.",
        "Не хватает:",
    ),
}
# Letters that tell a language, the Japanese before the Chinese ones, which it writes too.
_LETTERS = {
    "ja": re.compile(r"[\u3040-\u30ff]"),
    "zh": re.compile(r"[\u4e00-\u9fff]"),
    "ko": re.compile(r"[\uac00-\ud7a3]"),
    "ru": re.compile(r"[\u0400-\u04ff]"),
}


def refuse(question: str, missing: str = "") -> str:
    """Say that the references do not suffice, and what is missing.

    Args:
        question: The user's question, whose language is kept, see `language_of`.
        missing: The missing information in the model's words; may be empty. Where they refuse,
            they are enough.

    Example:
        >>> refuse("她在哪里出生？", "出生地")
        '参考资料不足以回答这个问题。 缺少： 出生地'
        >>> refuse("Where was she born?", "The references do not mention her birthplace.")
        'The references do not mention her birthplace.'
    """
    missing = " ".join(missing.split())
    if missing and is_refusal(missing):
        return missing
    said = _SAID[language_of(question)]
    return f"{said.refusal} {said.lead} {missing}" if missing else said.refusal


def say_partial(question: str, text: str, missing: str = "") -> str:
    """Say before a part of an answer that it is one, and what is missing.

    Args:
        question: The user's question, whose language is kept, see `language_of`.
        text: The part of the answer that the references support. Where it names the gap itself, it
            is left as it is.
        missing: The missing information in the model's words; may be empty.

    Example:
        >>> print(say_partial("What did he earn?", "The first keeper was Orr [1].", "his salary"))
        The references do not answer the question in full. Missing: his salary
        <BLANKLINE>
        The first keeper was Orr [1].
    """
    if find_gaps(text).sentences:
        return text
    missing = " ".join(missing.split())
    said = _SAID[language_of(question)]
    lead = "" if is_refusal(missing) else f"{said.lead} "
    notice = f"{said.partial} {lead}{missing}" if missing else said.partial
    return f"{notice}\n\n{text}"


def without_notice(text: str) -> str:
    """A part of an answer without the line before it that says so; any other text as it is.

    Whoever compares or scores answers looks at what they say, not at what is said about them.

    Example:
        >>> without_notice(say_partial("Wer war es?", "Orr [1].", "sein Lohn"))
        'Orr [1].'
    """
    notice, _, part = text.partition("\n\n")
    said = any(notice.startswith(each.partial) for each in _SAID.values())
    return part if said and part else text


def language_of(question: str) -> str:
    """The language of a question, of those in which refusals are written; English otherwise.

    They are English, German, French, Spanish, Italian, Portuguese, Dutch, Chinese, Japanese,
    Korean and Russian.

    Example:
        >>> language_of("她在哪里出生？"), language_of("Où est née Ada ?"), language_of("Who?")
        ('zh', 'fr', 'en')
    """
    for name, letters in _LETTERS.items():
        if letters.search(question):
            return name
    asked = words(question)
    counts = {name: sum(word in said.small for word in asked) for name, said in _SAID.items()}
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] > 0 else "en"
