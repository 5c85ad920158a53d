"""refuse: what is said in place of an answer, in the language of the question."""

from __future__ import annotations

from skr_core.patterns import lazy_pattern
from skr_core.prompts.words import REFUSAL
from skr_core.replies.refusal import is_refusal
from skr_core.texts import words

# A refusal, and what stands before what is missing, by language.
_SAID = {
    "en": (f"{REFUSAL}.", "Missing:"),
    "de": ("Die vorliegenden Quellen reichen nicht aus, um die Frage zu beantworten.", "Es fehlt:"),
    "fr": ("Les références fournies ne suffisent pas pour répondre à la question.", "Il manque :"),
    "es": ("Las referencias disponibles no bastan para responder a la pregunta.", "Falta:"),
    "zh": ("参考资料不足以回答这个问题。", "缺少："),
    "ja": ("参考資料だけではこの質問に答えられません。", "不足している情報："),
}
# Small words that only one of these languages has.
_SMALL = {
    "de": frozenset("der das und ist welche welcher welches wer wo wann wie wurde auf im".split()),
    "fr": frozenset("le les est quel quelle qui où quand comment dans du des une".split()),
    "es": frozenset("el los las es cuál cual quién dónde cuándo cómo del una en qué".split()),
}
_KANA = lazy_pattern(r"[\u3040-\u30ff]")
_HAN = lazy_pattern(r"[\u4e00-\u9fff]")


def refuse(question: str, missing: str = "") -> str:
    """Say that the references do not suffice, and what is missing.

    Args:
        question: The user's, whose language is kept: English, German, French, Spanish, Chinese or
            Japanese.
        missing: In the model's words; may be empty. Where they refuse themselves, they are enough.

    Example:
        >>> refuse("她在哪里出生？", "出生地")
        '参考资料不足以回答这个问题。 缺少： 出生地'
        >>> refuse("Where was she born?", "The references do not mention her birthplace.")
        'The references do not mention her birthplace.'
    """
    missing = " ".join(missing.split())
    if missing and is_refusal(missing):
        return missing
    refusal, lead = _SAID[language_of(question)]
    return f"{refusal} {lead} {missing}" if missing else refusal


def language_of(question: str) -> str:
    """The language of a question, of those in which refusals are written; English otherwise.

    Example:
        >>> language_of("她在哪里出生？"), language_of("Où est née Ada ?"), language_of("Who?")
        ('zh', 'fr', 'en')
    """
    if _KANA.search(question):
        return "ja"
    if _HAN.search(question):
        return "zh"
    asked = words(question)
    counts = {name: sum(word in small for word in asked) for name, small in _SMALL.items()}
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] > 0 else "en"
