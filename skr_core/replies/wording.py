"""How models say that something is missing, in English: patterns, no logic.

Each pattern is searched in one sentence with typewriter's quotes and single spaces. They name what
such a sentence is made of, the material and a verb that is denied, and no field of knowledge.
`skr_core.replies.languages` has the other languages.
"""

from __future__ import annotations

import re

from skr_core.patterns import lazy_pattern
from skr_core.replies.certainty import DOES_NOT_KNOW


def any_of(*patterns: str) -> re.Pattern[str]:
    """Any of some patterns, whatever the case.

    Those that begin with a word are tried together, and only where a word begins.

    Args:
        *patterns: Each without alternatives but in brackets; one that begins with a word begins
            with ``\\b``.
    """
    edge = r"\b"
    words = [each.removeprefix(edge) for each in patterns if each.startswith(edge)]
    others = [each for each in patterns if not each.startswith(edge)]
    together = [rf"{edge}(?=\w)(?:{'|'.join(words)})"] if words else []
    return lazy_pattern("|".join((*together, *others)), re.IGNORECASE)


CITATION = lazy_pattern(
    r"[\[【［]\s{0,3}(?:(?:\^|refs?\.?|references?|sources?|passages?|documents?|docs?|quellen?"
    r"|référence|fuente|参考|資料|资料)[\s:#：]{0,3})?"
    r"(?P<numbers>\d{1,6}(?:\s{0,2}[,;、&–-]\s{0,2}\d{1,6}){0,20})[^\[\]【】［］\n]{0,20}[\]】］]",
    re.IGNORECASE,
)
"""A citation, in the forms in which models write it."""

# English. What was given to the model: "the references", "the information provided".
_GIVEN = (
    r"(?:provided|given|available|current|supplied|retrieved|presented|shared|attached|above"
    r"|listed|quoted|cited|included|found|returned|accessible|on hand)"
)
_NOUN = (
    r"(?:references?|informations?|passages?|sources?|context|documents?|text|evidence|excerpts?"
    r"|snippets?|materials?|data|details|exhibits?|pages?|paragraphs?|sections?|extracts?"
    r"|(?:search )?results|knowledge base|content|articles?|chunks?|citations|filings?|statements?"
    r"|tables?|code|files?|records?|quotes?|inputs?|facts|notes)"
)
_HERE = r"(?:you (?:have |'ve )?(?:provided|gave|given|shared|supplied)(?: (?:me|us))?|I have)"
_MATERIAL = (
    r"(?:\b(?<!\bon )(?<!\bto )(?<!\bfrom )(?<!\bin )(?<!\bof )(?<!\bwith )(?<!\bper )(?<!\bby )"
    rf"(?:the|these|this|those|your|my)(?: [\w'-]+){{0,3}}? {_NOUN}|^\W*(?:{_GIVEN} )?{_NOUN})"
    rf"(?:,? (?:as )?(?:{_GIVEN}|{_HERE}|in question|at hand|here|from [^,.;]{{1,40}}))?"
)
_DENIED = r"\b(?:do|does|did)(?: not|n't)"
_HOLD = (
    r"(?:mention|say|state|specif\w+|contain|provide|include|give|indicate|tell|answer|address"
    r"|cover|disclose|list|outline|detail|offer|show|report|describe|discuss|reveal|explain|refer"
    r"|clarify|break|identify|have|name|present|supply|allow|support|suffice|seem|appear|speak"
    r"|display|directly|explicitly|clearly|specifically)"
)
_ADVERBS = r"(?: (?:\w+ly|also|even|actually|yet|anywhere|itself|themselves))*"
_WHAT = (
    r"(?:information|data|details?|mention|evidence|figures?|indication|references?|statement"
    r"|records?|answer|explanation|discussion|breakdown|description|listing|specifics?|source"
    r"|passage|way|clear|basis|context|facts?|numbers?|values?)"
)
_SPECIFIC = (
    r"(?:(?:specific|explicit|direct|clear|such|detailed|relevant|further|additional|historical"
    r"|concrete|available|sufficient|exact|precise|particular|other|more|reliable|definite|and|or)"
    r",? )*"
)
_STATED = (
    r"(?:mentioned|provided|given|included|stated|specified|disclosed|listed|shown|available"
    r"|contained|present|found|detailed|outlined|addressed|indicated|reported|covered|described"
    r"|displayed|presented|supplied|discussed|named)"
)
_CANNOT = (
    r"(?:cannot|can ?not|can't|could not|couldn't|(?:am|'m|was|are|'re|were|is)(?: not able"
    r"|n't able"
    r"| currently unable| unable) to|unable to)"
)
_FIND_OUT = (
    r"(?:answer|determin\w+|calculat\w+|provid\w+|say|tell|find|found|infer\w*|assess|give|given"
    r"|identif\w+|confirm\w*|comput\w+|establish\w*|verif\w+|conclude|state|specify|assist|help"
    r"|locate|extract\w*|ascertain\w*|derive|deduce|estimat\w+|evaluat\w+|compar\w+|make|draw"
    r"|perform|offer|access|generate|produce|supply|know|discern|respond|report|retriev\w+|see"
    r"|compile|complete|analy[sz]e|comment|share|figure|predict|fetch|browse|speak|quantify"
    r"|list|describe|explain|name|summari[sz]e|fully|definitively|accurately|directly|conclusively)"
)

# What is said of the material, behind it.
_FAILS = (
    rf"[^.;:!?]{{0,60}}?{_DENIED}{_ADVERBS} {_HOLD}\b",
    rf" (?:is|are|was|were|seems?|appears?)(?: to be)?{_ADVERBS} "
    r"(?:insufficient|not (?:sufficient|enough|relevant|about)|unrelated|silent|incomplete"
    r"|inadequate|lacking)\b",
    rf"{_ADVERBS} (?:lacks?|omits?|fails? to|stops? short|makes? no)\b",
    r"[^.;:!?]{0,60}?\b(?:contains?|provides?|gives?|offers?|includes?|has|have|holds?)"
    rf"{_ADVERBS} (?:no|insufficient|nothing|too little) ",
)

MATERIAL_LACKS = any_of(
    rf"\b(?:unclear|not clear) from (?:the|these) (?:\w+ )?{_NOUN}\b",
    r"\bthere(?:'s| is) nothing (?:\w+ )?(?:here|in (?:the|these)) ",
    rf"{_MATERIAL}(?:{'|'.join(_FAILS)})",
    r"\b(?:none|neither|nothing) (?:of|in) (?:the|these|this|those|your)"
    rf"(?: \w+){{0,2}}? {_NOUN}\b",
    rf"\bno (?:\w+ )?{_NOUN} (?:\w+ )?(?:mentions?|says?|states?|answers?|contains?|names?)\b",
    r"\bthere (?:is|are|was|were|seems to be|appears to be)(?: currently)? "
    rf"(?:no|not enough|insufficient|not any|not sufficient|nothing|not a) {_SPECIFIC}{_WHAT}\b"
    r"(?! theory| technology| system)",
    rf"\bthere(?:'s| isn't| aren't| wasn't)(?: no| any| enough| not enough)? {_SPECIFIC}{_WHAT}\b",
    rf"^\W*(?:not enough|insufficient|no) {_SPECIFIC}{_WHAT}\b(?! theory| technology| system)",
    rf"\b(?:not|n't)(?: \w+ly)? {_STATED}(?: \w+ly)? (?:in|by|within|from|among|for|here\b)"
    rf"[^.;:!?]{{0,40}}?{_NOUN}\b",
    rf"\b(?:not|n't)(?: \w+ly)? {_STATED}(?: here| anywhere)?\W*$",
    rf"\b(?:not|n't)(?: \w+ly)? {_STATED}(?: here| anywhere)?,? (?:so|and|therefore|thus|hence"
    r"|but)\b",
    r"\b(?:you|the user)(?: have|'ve)?(?: not|n't) (?:provided|given|shared|supplied|included)\b",
    rf"\b(?:is|are|remains?) (?:missing|absent|lacking) (?:from|in) [^.;:!?]{{0,30}}?{_NOUN}\b",
)
"""English: the material is said not to hold what was asked for."""

MATERIAL_ONLY = any_of(
    rf"{_MATERIAL} (?:only|merely|solely|just) "
    r"(?:provides?|mentions?|covers?|contains?|gives?|discuss(?:es)?|includes?|states?|speaks?"
    r"|talks?)\b",
)
"""English: a reply that begins so goes on to something else than what was asked for."""

SURELY_MATERIAL = any_of(
    rf"\b(?:the|these|your|my) (?:{_GIVEN} |other |remaining |same )?"
    r"(?:references|passages|context|sources|excerpts|snippets|search results)\b",
    rf"\b(?:provided|given|supplied|retrieved) (?:\w+ )?{_NOUN}\b",
    rf"\b{_NOUN},? (?:that (?:was|were) )?(?:provided|given|supplied|retrieved|{_HERE})\b",
    r"\b(?:Referenzen|Quellen|Passagen|Textstellen|Auszüge[n]?|références|sources|passages|extraits"
    r"|referencias|fuentes|pasajes|fragmentos)\b",
    r"参考|资料|資料|文献|文獻|参照|出典",
)
"""What the model was given, in words that mean nothing else: a cited sentence may be about it."""

WRITER_CANNOT = any_of(
    r"\b(?:I|we|one|it|assistant)(?:'m| am)?(?: therefore| thus| also| still| simply)? ?"
    rf"{_CANNOT}(?: \w+ly)?(?: be)? {_FIND_OUT}\b",
    r"\b(?:answer|question|amount|figure|value|number|it|this|that|change|ratio|details?)\b"
    rf"[^.;:!?]{{0,80}}?\b(?:cannot|can ?not|can't|could not|couldn't) be(?: \w+ly)? {_FIND_OUT}\b",
    r"\b(?:cannot|can ?not|can't|could not|couldn't) be(?: \w+ly)? (?:determined|calculated"
    r"|answered"
    r"|inferred|ascertained|computed|derived|established|verified|confirmed|deduced|concluded)\b",
    r"\b(?:it|it's|it is|is|would be|be|was|remains)(?: \w+ly)?"
    rf"(?: not|n't)(?: \w+ly)? possible (?:for (?:me|us) )?to(?: \w+ly)? {_FIND_OUT}\b",
    rf"\b(?:impossible|difficult|hard|unclear how)(?: for (?:me|us))? to(?: \w+ly)? {_FIND_OUT}\b",
    r"\b(?:I|we)(?: currently| really| honestly| still)? (?:do not|don't|did not|didn't|lack"
    r"|have no)"
    r"(?: currently| actually)?(?: have| find| see| possess)? ?(?:any |enough |sufficient |the "
    r"|an? )?"
    r"(?:(?:[\w-]+,? )(?:and |or )?){0,4}?"
    r"(?:information|data|details?|access|figures?|knowledge|answer|ability|evidence|mention"
    r"|updates?|reports?|context|references?|records?|content|facts?|idea|clue)\b",
    r"\bI(?:'m| am) not (?:aware|familiar|certain|sure)\b",
    r"\bI (?:do not|don't) (?:currently |actually )?have\b",
    rf"^\W*(?:unable|not able) to(?: \w+ly)? {_FIND_OUT}\b",
    DOES_NOT_KNOW,
)
"""English: the writer is said not to be able to answer, or not to know."""

ASKS_FOR_MORE = any_of(
    r"\bif you (?:can|could|are able to|have|do have|provide|would|wish|share|give|supply)\b"
    r"[^.;:!?]{0,200}\b(?:I|we)(?:'d|'ll| can| could| would| will| may| might)",
    r"\b(?:I|we|one|you)(?:'d| would| will|'ll)(?: also| typically| first)? (?:need|have to know"
    r"|require|have to (?:look|refer|consult|check|review))\b",
    r"\b(?:additional|further|more) (?:information|data|details|context|references)"
    r"[^.;:!?]{0,60}\b(?:required|needed|necessary)\b",
    r"\bplease (?:provide|share|supply|give|refer|check|consult|visit|see|upload|attach)\b",
    r"\bplease (?:\w+ ){0,4}(?:refer|check|consult)\b",
    r"\bI (?:recommend|suggest|would recommend|would suggest|advise)\b",
    r"\b(?:based on|from|according to) the (?:information|data) (?:currently )?available\b",
)
"""English: the writer asks for, or points to, what it does not have."""

APOLOGISES = any_of(
    r"^\W*(?:(?:I'm|I am|we're|we are)(?: very| so| really| truly)? sorry\b(?! to (?:say|hear|learn"
    r"|inform|tell))|sorry,|I (?:do )?apologi[sz]e\b|my (?:sincere )?apologies\b|apologies\b"
    r"|unfortunately\b|regrettably\b)",
)
"""English: an apology that begins a reply; a denial in the same sentence makes it a refusal."""

COURTESY = any_of(
    r"\W*(?:(?:I'm|I am|we are) (?:\w+ )?sorry(?: (?:about|for) (?:that|this))?|sorry|hello|hi|sure"
    r"|(?:I )?apolog\w+|my apologies|thank\w*[^.!?]{0,60}|(?:that's |what )?an? (?:\w+ )?question"
    r"|(?:great|good) question|certainly|of course|okay|let me [^.!?]{0,60}"
    r"|(?:es )?tut mir (?:sehr )?leid|entschuldigung|danke[^.!?]{0,60}"
    r"|(?:je suis )?(?:vraiment )?désolée?|merci[^.!?]{0,60}|lo siento(?: mucho)?|gracias"
    r"[^.!?]{0,60}"
    r"|(?:非常|很)?(?:抱歉|对不起|對不起)|您好|你好|申し訳(?:ありません|ございません)|すみません)\W*",
)
"""What politeness puts before a reply, as a sentence of its own."""

DENIES = any_of(
    r"\b(?:not|no|none|cannot|can't|unable|without|neither|nor|lacks?|insufficient)\b", r"n't\b"
)
"""English: anything that denies."""

CONCLUDES = any_of(
    r"^\W*(?:so|thus|therefore|hence|accordingly|consequently|which means|this means|it follows)\b",
)
"""English: a conclusion is drawn, so that an absence was what it rests on."""
