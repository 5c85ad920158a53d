"""How models say that something is missing: tables of patterns, no logic.

Each pattern is searched in one sentence with typewriter's quotes and single spaces. The English
ones name what such a sentence is made of, the material and a verb that is denied, and no field of
knowledge. Another language has one pattern for all of its refusals.
"""

from __future__ import annotations

import re
from functools import cache

DOES_NOT_KNOW = (
    r"(?:\bI (?:really |honestly )?(?:do not|don't|cannot|can't) (?:really |actually )?"
    r"(?:know|tell|say)\b|\bI have no (?:idea|clue)\b|(?:^|(?<=[.!?,] ))no (?:idea|clue)\b)"
)
"""How a model says that it does not know, in a text with straight quotes."""


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """One of the patterns below, compiled when it is first searched for.

    All of them together take some 30 ms, which an import that asks no model need not spend.
    """
    return re.compile(pattern, re.IGNORECASE)


def any_of(*patterns: str) -> str:
    """A pattern that matches what any of some patterns matches.

    Those that begin with a word are tried together, and only where a word begins.

    Args:
        *patterns: The patterns, each without alternatives but in brackets; one that begins with a
            word begins with ``\\b``.
    """
    edge = r"\b"
    words = [each.removeprefix(edge) for each in patterns if each.startswith(edge)]
    others = [each for each in patterns if not each.startswith(edge)]
    together = [rf"{edge}(?=\w)(?:{'|'.join(words)})"] if words else []
    return "|".join((*together, *others))


CITATION = re.compile(
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
"""English: the material is said not to contain what was asked for."""

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
"""The material in words that mean nothing else: a cited sentence may be about it."""

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
"""English: the writer asks for information that it does not have, or points to it."""

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
"""A sentence that is nothing but politeness, in any of the languages."""

DENIES = any_of(
    r"\b(?:not|no|none|cannot|can't|unable|without|neither|nor|lacks?|insufficient)\b", r"n't\b"
)
"""English: anything that denies."""

CONCLUDES = any_of(
    r"^\W*(?:so|thus|therefore|hence|accordingly|consequently|which means|this means|it follows)\b",
)
"""English: a conclusion is drawn, so that the absence before it is what it rests on."""


# Other languages: what was given to the model, then a denial of it.
_GERMAN = (
    r"\b(?:Referenz\w*|Quellen?|Passagen?|Text(?:e|en|stellen?|auszüg\w+)?|Dokument\w*|Kontext\w*"
    r"|Information\w*|Auszüg\w*|Abschnitt\w*|Angaben|Unterlagen|Daten|Belege\w*|Fundstellen?)\b"
)
_FRENCH = (
    r"\b(?:références?|sources?|passages?|documents?|textes?|contexte|extraits?|informations?"
    r"|données|éléments)\b"
)
_SPANISH = (
    r"\b(?:referencias?|fuentes?|pasajes?|documentos?|textos?|contexto|fragmentos?|información"
    r"|datos|extractos?|párrafos?)\b"
)
_CHINESE = (
    r"(?:参考|資料|资料|文献|文獻|文档|文檔|文件|段落|上下文|信息|資訊|文本|材料|内容|來源|来源"
    r"|片段|文中|引用|所给|提供)"
)
_JAPANESE = (
    r"(?:参考|資料|文献|文書|情報|文脈|テキスト|文章|引用|出典|コンテキスト|ドキュメント|参照"
    r"|本文|抜粋)"
)

GERMAN = any_of(
    rf"{_GERMAN}[^.;:!?]{{0,80}}?\b(?:enthält|enthalten|nennt|nennen|erwähnt|erwähnen|liefert"
    r"|liefern"
    r"|gibt|geben|macht|machen|sagt|sagen|reicht|reichen|steht|stehen|findet|finden|geht|gehen"
    r"|beantworte[nt]|ist|sind|lässt|lassen|belegen|belegt|erlaub\w+)\b"
    r"[^.;:!?]{0,80}?\b(?:nicht|kein\w*|nichts|unzureichend|ungenügend)\b",
    rf"\b(?:nicht|kein\w*|nichts|unzureichend\w*|ungenügend\w*)\b[^.;:!?]{{0,60}}?{_GERMAN}",
    r"\b(?:weiß|weiss|kenne) (?:ich )?(?:\w+ )?(?:leider )?nicht\b",
    r"\b(?:kann|können|konnte|konnten|lässt sich|lassen sich|ließ sich)\b[^.;:!?]{0,120}?\b"
    r"(?:nicht|keine\w*)\b"
    r"[^.;:!?]{0,60}?\b(?:beantwort\w+|bestimm\w+|ermittel\w+|sagen|angeben|machen|geben|entnehmen"
    r"|feststell\w+|finden|ableiten|berechn\w+|klären|herausfinden)\b",
    r"\b(?:leider|tut mir leid|entschuldig\w+|bedauere)\b[^.!?]{0,160}?\b(?:nicht|kein\w*"
    r"|nichts)\b",
    r"\bnicht (?:genügend|genug|ausreichend\w*) (?:Information\w*|Angaben|Daten|Belege)\b",
    r"\bgeht (?:\w+ ){0,4}nicht hervor\b",
    r"\bnicht (?:erwähnt|genannt|angegeben|enthalten|aufgeführt|zu entnehmen)\b",
    r"\bkeine (?:\w+ )?(?:Informationen|Angaben|Auskunft|Hinweise|Daten)\b",
)
FRENCH = any_of(
    rf"{_FRENCH}[^.;:!?]{{0,60}}?\bn(?:e |')[^.;:!?]{{0,60}}?\b(?:pas|aucun\w*|rien|ni|guère"
    r"|point)\b",
    rf"\b(?:aucun\w*|insuffisant\w*)\b[^.;:!?]{{0,30}}?{_FRENCH}",
    rf"{_FRENCH}[^.;:!?]{{0,40}}?\binsuffisant\w*\b",
    r"\b(?:je|nous|on) n(?:e |')(?:le |la |les |y |en |vous )?(?:sais|savons|sait|connais|peux"
    r"|peut|pouvons|puis"
    r"|trouve|dispose|suis|ai|parviens)\b[^.;:!?]{0,60}?\b(?:pas|aucun\w*|rien)\b",
    r"\bimpossible d[e'] ?(?:me |lui )?(?:répondre|déterminer|dire|savoir|établir|conclure"
    r"|préciser|trouver)\b",
    r"\bn'est pas possible d[e']",
    r"\b(?:désolée?|malheureusement|excuse\w*)\b[^.!?]{0,160}?\b(?:pas|aucun\w*|rien)\b",
    r"\bn'(?:est|était|a|ont|y a|apparaî\w+|indique\w*)\b[^.;:!?]{0,30}?\b(?:pas|aucun\w*"
    r"|aucunement)\b"
    r"[^.;:!?]{0,30}?\b(?:mentionné|précisé|indiqué|fourni|donné|information|mention)\w*",
    r"\b(?:ne sont|ne figure|ne figurent) pas\b[^.;:!?]{0,20}?(?:mentionné|précisé|indiqué"
    r"|dans)\w*",
    r"\b(?:pas (?:assez|suffisamment) d'informations|informations? insuffisantes?)\b",
)
SPANISH = any_of(
    rf"{_SPANISH}[^.;:!?]{{0,60}}?\bno (?:se )?(?:lo |la |me |nos )?(?:mencion|contien"
    r"|proporcion|indic|especific"
    r"|ofrec|incluy|permit|basta|son |es |dice|dan |da |respond|hay|aport|señal|brind|tien|alcanz)",
    rf"\b(?:ningun[oa]?|ningún|insuficientes?)\b[^.;:!?]{{0,30}}?{_SPANISH}",
    rf"{_SPANISH}[^.;:!?]{{0,40}}?\binsuficientes?\b",
    r"\bno (?:lo |la )?sé\b",
    r"\bno (?:puedo|podemos|se puede|pude|es posible|dispongo|tengo|tenemos|encuentro|encontré"
    r"|hay|cuento)\b"
    r"[^.;:!?]{0,80}?(?:respond|determin|información|informacion|datos|saber|decir|contestar"
    r"|indicar|proporcionar|establecer|concluir|mención|acceso|respuesta|calcul)",
    r"\b(?:lo siento|lamentablemente|desafortunadamente|disculp\w+|por desgracia)\b"
    r"[^.!?]{0,160}?\b(?:no|ningun\w+)\b",
    r"\bno (?:se|está|están|aparece|figura)(?: \w+)? ?(?:mencion|indic|especific|proporcion"
    r"|encuentra|precis|detall|dice|ofrec)\w*",
    r"\bno (?:aparece|figura)n? en\b",
    r"\bimposible (?:responder|determinar|saber|decir|contestar)\b",
)
CHINESE = any_of(
    rf"{_CHINESE}[^。；！？\n]{{0,40}}?(?:没有|沒有|未能|并未|並未|未|不足|不含|不包含|不包括|不能|无法|無法|无|無|缺乏|缺少)"
    r"[^。；！？\n]{0,20}?(?:提|包|说|說|给|給|足|涉|明|回|确|確|信|资|資|答|记|記|列|写|寫|披露|显示|顯示|关|關|以|支|$)",
    rf"{_CHINESE}[^。；！？\n]{{0,20}}?(?:不足|不够|不夠)",
    r"(?:无法|無法|不能|没法|沒法|难以|難以)[^。；！？\n]{0,30}?(?:回答|确定|確定|得知|判断|判斷|得出|提供|告诉|知道|给出|給出|确认|確認|推断|推斷"
    r"|计算|計算|解答|知晓|找到)",
    r"(?:我|目前|并|也|尚)?不(?:知道|清楚|太清楚|确定|確定|了解)(?!的是)[^。；！？\n]{0,30}[。！？]?$",
    r"(?:抱歉|对不起|對不起|很遗憾|很遺憾)[^。！？\n]{0,80}?(?:不|没|沒|无|無|未)",
    r"(?:没有|沒有|未|找不到|缺乏|缺少)(?:\w{0,4}?)(?:相关|相關|足够|足夠|具体|具體|充分|找到|任何)[^。；！？\n]{0,20}?(?:信息|资料|資料"
    r"|内容|資訊|依据|记载|說明|说明)",
    r"(?:信息|资料|資料|資訊|证据|證據)(?:尚)?(?:不足|不够|不夠|有限)",
)
JAPANESE = any_of(
    rf"{_JAPANESE}[^。！？\n]{{0,60}}?(?:ありません|いません|ございません|ません|なかった|ない|不足|不十分)",
    r"(?:わかり|分かり|判り|答えられ|お答えでき|回答でき|判断でき|特定でき|確認でき|お答えし|断定でき|算出でき|見つかり|見つけられ|存じ|知り|把握でき)(?:かね)?ません",
    r"(?:わかり|分かり|答えられ|回答でき|判断でき|特定でき)(?:かね)ます",
    r"(?:わから|分から|知ら|答えられ|判断でき|特定でき|回答でき|見つから|載ってい|書かれてい|含まれてい|記載されてい|言及されてい|触れられてい)な(?:い|かった)",
    r"(?:記載|言及|説明|記述|情報)(?:され|が|は)[^。！？\n]{0,10}?(?:ありません|いません|ない)",
    r"(?:不明です|不明である|不明。|不明$)",
    r"(?:申し訳|すみません|残念ながら)[^。！？\n]{0,80}?(?:ません|ない)",
)

LATIN = (GERMAN, FRENCH, SPANISH)
"""Refusals in one sentence of a language that may be written in ASCII."""

LANGUAGES = (*LATIN, CHINESE, JAPANESE)
"""Refusals in one sentence of another language than English."""

OPENERS = tuple(
    " ".join(
        """
        i apologi, my apologies, apologies, sorry, unfortunately, regrettably, i cannot, i can't,
        i can not, i could, i do not, i don't, i have no, i really, i honestly, unable to, not
        able to, i was unable, i lack, we cannot, we do not, no idea, no clue, no information, no
        mention, as an ai, as of my, based on the, based on my, from the, according to the, i'm, i
        am, i'd, i would, i won't, i must, i've no, i prefer, my knowledge, my data, my training,
        my records, my information, that information, that level, that detail, that specific, that
        is not, that's not, you would need, you'd, your best, it would be, to find, no reliable,
        references do, the reference, the provided, the given, the available, the current, the
        supplied, the retrieved, the passage, the information, the context, the source, the
        document, the text, the evidence, the excerpt, the search results, the data, these,
        neither, none of the, nothing in, there is no, there's no, there is insufficient, there
        isn't, there are no, not enough, insufficient, the answer cannot, the question cannot,
        this question cannot, this cannot, it cannot, it is not possible, it's not possible, it is
        impossible, without, unknown, to answer, to determine, es tut mir, tut mir, leider, die
        quellen, die referenzen, die bereitgestellten, die vorliegenden, die angegebenen, die
        informationen, die passagen, aus den, in den, anhand, auf grundlage, ich weiß, ich kann,
        ich bin, ich möchte, mir, darüber, diese information, das weiß ich, das ist mir, das geht,
        der kontext, der text, keine, désolé, je suis désolé, je ne, je n', je l'ignore, je
        préfère, cette information, cela dépasse, malheureusement, les références, les sources,
        les passages, les documents, les informations, aucun, le contexte, il n'est pas, il n'y a,
        impossible, lo siento, no lo sé, no sé, no puedo, no tengo, no recuerdo, no estoy, no
        dispongo, desconozco, prefiero no, esa información, no hay, no es posible, no se, las
        referencias, las fuentes, los documentos, los pasajes, la información, el contexto,
        lamentablemente, desafortunadamente, ninguna, ninguno, 抱歉, 很抱歉, 非常抱歉, 对不起,
        對不起, 根据, 根據, 参考, 參考, 提供的, 资料, 資料, 文中, 文档, 无法, 無法, 我不, 我没,
        我沒, 我无法, 这超出, 建议, 不知道, 没有, 沒有, 所提供, 信息, 目前, 上下文, 申し訳,
        すみません, 残念ながら, 提供された, 与えられた, 参照, この情報, 情報, その情報, 推測は,
        存じ, わかりません, 分かりません, 不明, 回答できません, お答え, 文献, 記載
        """.split()
    ).split(", ")
)
"""How refusals begin in practice; whether such a sentence is one is known at its end."""
