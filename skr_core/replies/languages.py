"""How models refuse in other languages than English, and how refusals begin: patterns, no logic.

Each pattern is searched in one sentence and is the whole of what refuses there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from skr_core.replies.wording import any_of

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

LATIN: Sequence[re.Pattern[str]] = (GERMAN, FRENCH, SPANISH)
"""What refuses in one sentence of a language that may be written in ASCII."""

LANGUAGES: Sequence[re.Pattern[str]] = (*LATIN, CHINESE, JAPANESE)
"""What refuses in one sentence of another language than English."""

OPENERS = (
    *(
        "i'm sorry",
        "i am sorry",
        "i apologi",
        "my apologies",
        "apologies",
        "sorry",
        "unfortunately",
    ),
    *(
        "regrettably",
        "i cannot",
        "i can't",
        "i can not",
        "i could",
        "i do not",
        "i don't",
        "i have no",
    ),
    *(
        "i really",
        "i honestly",
        "i am unable",
        "i'm unable",
        "unable to",
        "not able to",
        "i am not able",
        "i'm not able",
    ),
    *("i was unable", "i lack", "we cannot", "we do not", "no idea", "no clue", "no information"),
    *(
        "no mention",
        "as an ai",
        "as of my",
        "based on the",
        "based on my",
        "from the",
        "according to the",
    ),
    *(
        "references do",
        "the references",
        "the reference",
        "the provided",
        "the given",
        "the available",
    ),
    *(
        "the current",
        "the supplied",
        "the retrieved",
        "the passages",
        "the passage",
        "the information",
    ),
    *("the context", "the sources", "the source", "the documents", "the document", "the text"),
    *(
        "the evidence",
        "the excerpts",
        "the excerpt",
        "the search results",
        "the data",
        "these",
        "neither",
    ),
    *(
        "none of the",
        "nothing in",
        "there is no",
        "there's no",
        "there is insufficient",
        "there isn't",
    ),
    *("there are no", "not enough", "insufficient", "the answer cannot"),
    *(
        "the question cannot",
        "this question cannot",
        "this cannot",
        "it cannot",
        "it is not possible",
    ),
    *("it's not possible", "it is impossible", "without", "unknown", "to answer", "to determine"),
    *("es tut mir", "tut mir", "leider", "die quellen", "die referenzen", "die bereitgestellten"),
    *(
        "die vorliegenden",
        "die angegebenen",
        "die informationen",
        "die passagen",
        "aus den",
        "in den",
    ),
    *("anhand", "auf grundlage", "ich weiß", "ich kann", "das weiß ich", "das geht", "der kontext"),
    *(
        "der text",
        "keine",
        "désolé",
        "je suis désolé",
        "je ne",
        "malheureusement",
        "les références",
    ),
    *("les sources", "les passages", "les documents", "les informations", "aucun", "le contexte"),
    *(
        "il n'est pas",
        "il n'y a",
        "impossible",
        "lo siento",
        "no lo sé",
        "no sé",
        "no puedo",
        "no hay",
    ),
    *("no es posible", "no se", "las referencias", "las fuentes", "los documentos", "los pasajes"),
    *(
        "la información",
        "el contexto",
        "lamentablemente",
        "desafortunadamente",
        "ninguna",
        "ninguno",
    ),
    *(
        "抱歉",
        "很抱歉",
        "非常抱歉",
        "对不起",
        "對不起",
        "根据",
        "根據",
        "参考",
        "參考",
        "提供的",
        "资料",
        "資料",
    ),
    *(
        "文中",
        "文档",
        "无法",
        "無法",
        "我不知道",
        "我无法",
        "不知道",
        "没有",
        "沒有",
        "所提供",
        "信息",
        "目前",
        "上下文",
    ),
    *(
        "申し訳",
        "すみません",
        "残念ながら",
        "提供された",
        "与えられた",
        "参照",
        "この情報",
        "情報",
        "わかりません",
    ),
    *("分かりません", "不明", "回答できません", "お答え", "文献", "記載"),
)
"""How refusals begin in practice; whether such a sentence is one is known at its end."""
