"""How models say that they do not know, asked without references: tables of patterns, no logic.

They deny something of themselves, name the limits of what they know, or say where one would look.
Such words also stand in answers, so they are searched for only where little else is said. Each
pattern is searched in one sentence, like those of `wording`.
"""

from __future__ import annotations

from skr_core.replies.wording import any_of

I = r"(?<![\"'\w])(?-i:I)(?:'m|'d|'ll|'ve)?"  # noqa: E741  # it is the word
"""The writer, in what is no quotation."""

# English.
_DENIAL = (
    r"(?:not|cannot|never|neither|nothing|hardly|unable|no(?! doubt| hesitation| problem| trouble"
    r"| reservation| question| longer| more than)|(?:ca|wo|do|did|could|would|should|have|had|am"
    r"|was|ai)n't)"
)
SOURCE = (
    r"(?:sources?|archiv\w+|records?|regist\w+|\w*sites?|pages?|encyclop\w+|databases?|\w*books?"
    r"|almanacs?|biograph\w+|literature|references?|resources?|\w+ograph(?:y|ies)|experts?"
    r"|specialists?|historians?|librar\w+|publications?|document\w*|catalogu?es?|reports?"
    r"|articles?|museums?|credits|statistics|research|papers?|journals?|materials?|inventor\w+"
    r"|elsewhere)"
)
"""Where one would look something up."""

_FACT = (
    r"(?:information|details?|data|specifics?|particulars|documentation|identity|level of \w+"
    r"|(?:this|that|such an?|(?:the )?(?:exact|precise|specific|correct|definitive|full|actual))"
    r"(?: \w+){0,2} (?:answer|fact|figure|statistic|record|date|day|month|name|number|value|year"
    r"|place|location|title))"
)
_UNKNOWN = (
    r"(?:available|accessible|known|public\w*|documented|recorded|provided|disclosed|clear|hand"
    r"|record|in|within|part|something|one|specified|revealed|released|confirmed|established"
    r"|listed|covered|included)"
)
_MINE = (
    r"(?:(?<!\bof )(?<!\bto )(?<!\bfrom )\bmy (?:\w+ ){0,3}?(?:knowledge|data|training"
    r"|records|information|memory|sources|files|expertise|understanding|recollection|background"
    r"|resources|materials?|reach|scope|model|awareness|\w*abilities|dataset|database|grasp)"
    r"|\b(?-i:I) ?(?:have|'ve|was|am)(?: been)? (?:trained|given|learned|told|taught|shown))\b"
)
_LACKS = (
    r"(?:lacks?|insufficient|incomplete|limited|fails?|ends?|stops?|sparse|scarce|scant|patchy"
    r"|sketchy|fragmentary|unclear|silent|(?:too |very )little)"
)
_LIMIT = (
    r"(?:outside|beyond|past|exceeds?|surpass\w+|out of|(?:not|n't) (?:\w+ )?(?:in|within|part of"
    r"|covered by)|(?:absent|missing) from)"
)
_CONSULT = (
    r"(?:consult|check|verify|refer|look|search|contact|ask|review|research|visit|turn|find|see"
    r"|seek|examine|try|do)(?:ing)?"
)
_FIRST = (
    r"^\W*(?:(?:unfortunately|sorry|apologies|but|so)\W{1,3})?"
    r"(?:(?:to|for|in order to) [^,;]{1,90}, )?"
)
_WOULD = r"(?:'d| would|'ll| will)?"

WILL_NOT = any_of(
    rf"(?:{I}|^and|^so)(?: \w+){{0,4}}? (?:decline|refrain|abstain|withhold|pass)\b",
    rf"(?:{I}|^and|^so)(?: \w+){{0,3}}? (?:rather|prefer|prefer to|better|best) (?:not|to avoid)\b",
    rf"{I}\b[^.;]{{0,60}}? rather than (?:guess|speculat|mislead|risk|invent|giv)",
    rf"(?:{I}|^and|^so|^or)(?: \w+){{0,4}}?(?: not|n't)(?: even)?"
    r"(?: (?:want|like|wish|care|going|willing|dare|try|comfortable|feel comfortable)(?: to)?)?"
    r" (?:guess|speculat|hazard|ventur|mislead|misinform|assum|invent|fabricat|make (?:a|any|up)"
    r"|giv(?:e|ing) (?:one|you|an?)|provid(?:e|ing) (?:you|an?)|nam(?:e|ing) )",
    rf"{I}\b[^.;]{{0,40}}? leave (?:\w+ ){{1,6}}?(?:open|blank|unanswered|at that)\b",
    # German, French, Spanish, Chinese, Japanese.
    r"\b(?:nicht (?:spekulieren|raten|mutmaßen)|lieber nicht|ne (?:pas|veux pas) (?:spéculer"
    r"|deviner|m'avancer)|(?:prefiero|preferiría|quiero|quisiera) no )\b",
    r"不(?:想|愿|願|便|会|會)\w{0,2}(?:猜|推测|推測|揣测|臆测)",
    r"(?:推測|憶測)\w{0,8}(?:控え|避け)",
)
"""The writer will name no answer."""

_ENGLISH = any_of(
    # The writer, denied: "I can't seem to place it".
    rf"(?<!\bif ){I}(?: (?-i:[a-z']+)){{0,3}}?(?: |(?=n't))(?-i:{_DENIAL})\b"
    r"(?! (?:only|help but|wait|mistaken|deny|rule out|exclude|forget|doubt)\b)",
    rf"{I}(?: (?-i:[a-z']+)){{0,4}}? (?:lack|miss(?:ing)?|un(?:sure|certain|aware|familiar|clear)"
    r"|ignoran\w+|clueless|stumped|at an? (?:\w+ )?loss|in the dark|(?:drawing |draw )an? (?:\w+ )?"
    r"blank|forgotten|hesitant|hesitate|reluctant|hate to|have doubts"
    r"|sit (?:this|that) (?:one )?out)\b",
    rf"{I}(?: (?-i:[a-z']+)){{0,3}}? (?:little|{_LACKS}) (?:\w+ )?(?:information|data|knowledge)\b",
    r"\b(?-i:I)(?:'d| would| could| can|'ll| will)(?: have to| only| just| merely| simply)?"
    r" (?:be )?(?:guessing|speculating|mak(?:e|ing) (?:\w+ )?up|inventing|fabricating)\b",
    r"\b(?-i:I)(?:'d| would)(?: \w+ly| first| also)* (?:need|have to|require)\b",
    r"\b(?-i:I) (?:need|have|want)(?: to)?(?: \w+)? (?:check|verify|consult|confirm|see)\b",
    r"\b(?:anything|whatever|any \w+) (?-i:I)\b[^.;]{0,40}?\b(?:would|will|'d)(?: \w+)? be"
    r"(?: \w+){0,2}? (?:speculat|guess|conjectur|invent|fabricat)",
    r"\bwould be (?:\w+ )?(?:irresponsible|misleading|unwise|imprudent|inappropriate|speculative"
    r"|dishonest|wrong)(?: \w+){0,3}? to ",
    r"\bwould (?:take|require|need) (?:\w+ )?(?:access|consult|check|look|research|more |further )",
    # The limits of its knowledge.
    rf"{_MINE}[^.;]{{0,60}}?(?:\b{_DENIAL}\b|n't\b|\b{_LACKS}\b)",
    rf"(?:\b(?:not|no|none|nothing|little|never)\b|n't)[^.;]{{0,60}}?"
    rf" (?:in|within|from|of|among|to|into)(?: what)? {_MINE}",
    rf"\b{_LIMIT}(?: of)?(?: the (?:\w+ )?\w+ of)?(?-i: my\b| what I\b| me\b)",
    r"(?:\b(?:not|no|in|un)|n't)(?: \w+ly)? ?(?:\w+[ai]ble|known|clear|familiar|certain|apparent"
    r"|evident)(?: \w+){0,3}? (?:to|for|by) me\b",
    r"(?:\bnot|n't)(?: (?:an?|the|one|any))?(?: \w+){0,2}?(?: that)? (?-i:I)(?:'d|'ll)?"
    r" (?:can|could|know|have|hold|possess|recall|remember|am|would)\b",
    r"\b(?:nothing|no (?:\w+ )?\w+)(?: that)? (?-i:I) (?:can|could|know|have)\b",
    r"\b(?:escap|elud|evad)(?:es?|ing) me\b|\bslip(?:s|ped) my mind\b|\bbeats me\b",
    r"\b(?:has|have|had|got) me (?:\w+ )?(?:stumped|beat)|\btoo [\w-]+ for me\b",
    r"\b(?:nothing|not|won't|doesn't|isn't)\b[^.;]{0,20} com(?:es?|ing) to (?:me|mind)\b",
    r"^\W*(?:your guess is as good as mine|you(?:'ve| have)? got me\b)",
    rf"{_FIRST}[^.,;:]{{0,40}}?\b{_FACT}\b[^.,;]{{0,70}}?(?:\b(?:not|no|never|nowhere)\b|n't)"
    rf"[^.,;]{{0,20}}? {_UNKNOWN}\b",
    rf"{_FIRST}[^.,;:]{{0,40}}?\b{_FACT}\b[^.,;]{{0,70}}? (?:unavailable|inaccessible|unknown"
    rf"|elusive|lacking|{_LACKS})\b",
    r"\b(?:there(?:'s| is| isn't| are)|have)(?: simply| really| just)? (?:no|any|not any) (?:\w+ )?"
    r"(?:way|means|method|possibility)(?: for me| (?-i:I)\b| of| to| that)",
    rf"{_FIRST}(?:no|zero|insufficient|not enough|not much) (?:\w+,? ){{0,4}}?(?:idea|clue"
    r"|information|data|details?|records?|knowledge)\b",
    r"^\W*(?:\w+, )?(?:really |honestly )?not (?:\w+ ){0,2}?(?:sure|certain|familiar|aware)\b",
    r"\b(?:isn't|not|hardly) (?:really )?possible (?:for me|with what)\b",
    # Where one would look instead.
    rf"{_FIRST}(?:that|this|it)(?:'s| is| would be)[^.;]{{0,60}}?\b(?:need|would|recommend|best)\b"
    rf"[^.;]{{0,30}} {_CONSULT}\b",
    rf"{_FIRST}(?:(?-i:I){_WOULD} (?:strongly |highly )?(?:recommend|suggest|advise|encourage)"
    r"|it(?:'s| is| would be| might be| may be) (?:best|better|advisable|wise\w*|necessary|prudent)"
    r"|you(?:'d| would|'ll| will| may| might| should| could| can)?(?: \w+){0,3}?|your best \w+"
    rf"|the best \w+|please(?: \w+)?)(?:[^.;,]{{0,30}}?) {_CONSULT}\b[^.;]{{0,90}}?\b{SOURCE}\b",
    rf"{_FIRST}(?:please |you{_WOULD}(?: probably| likely)? (?:need|have) to |(?-i:I){_WOULD}"
    r" (?:recommend|suggest) (?:you )?)(?:consult|check|refer|look)(?:ing)?\b",
)

# Other languages: the writer denied, the limits of its knowledge, where one would look.
_GERMAN = any_of(
    r"\b(?:ich|mir|mich|mein\w*|uns)\b[^.;]{0,80}?\b(?:nicht|kein\w*|nichts|unbekannt|fehl\w*"
    r"|un(?:sicher|gewiss|klar)|entfallen)\b",
    r"\b(?:nicht|kein\w*|nichts|unbekannt|fehl\w*|übersteigt|außerhalb|jenseits)\b[^.;]{0,60}?\b"
    r"(?:ich|mir|mich|mein\w*)\b",
    r"\b(?:Sie|du|man|ich|bitte|es)\b[^.;]{0,90}?\b(?:nachschlagen|nachsehen|nachlesen|konsultieren"
    r"|(?:über)?prüfen|nachfragen|heranziehen|recherchieren|wenden)\b",
)
_FRENCH = any_of(
    r"(?:\b(?:je|me|moi|mon|ma|mes)\b|\b[jm]')[^.;]{0,80}?\b(?:pas|aucun\w*|rien|jamais|guère"
    r"|inconnue?s?|incertaine?|incapable|échapp\w+|manqu\w+)\b",
    r"\bj(?:e |')(?:l'|en )?ignor\w+|\bje ne saurais\b",
    r"\b(?:dépass\w+|hors de|au-delà de|en dehors de)[^.;]{0,30}? m(?:on|a|es) ",
    r"\b(?:il (?:faudrait|faut|serait|vaudrait|vaut|est)|vous|veuillez|mieux vaut)\b"
    r"[^.;]{0,50}?\b(?:consulte[rz]|vérifie[rz]|référer|rechercher|contacte[rz])\b",
)
_SPANISH = any_of(
    r"\bno (?:me |lo |la |se |le )?(?:tengo|sé|puedo|podría|recuerdo|acuerdo|conozco|dispongo"
    r"|cuento|estoy|poseo|sabría|quiero|quisiera|deseo|debo|logro|consigo|consta|está a mi|me"
    r"|es algo que|(?:es|resulta) posible)\b",
    r"\b(?:desconozco|ignoro|carezco|prefiero no|preferiría no)\b",
    r"\b(?:fuera|más allá)(?: \w+)? de[^.;]{0,30}? mis? ",
    r"\b(?:tendrías?|habría|deberías?|debe|sería|es|recomiendo|sugiero|conviene|puedes?|podrías?)\b"
    r"[^.;]{0,40}?\b(?:consultar|verificar|revisar|comprobar|acudir|contactar)\b",
)
_CHINESE = any_of(
    r"我[^。；，]{0,12}(?:没|沒|不|无|無|未)",
    r"(?:超出|不在|不属于|不屬於)[^。；]{0,12}(?:我|知识|知識|范围|範圍|能力)",
    r"(?:建议|建議|请|請|需要|可以|最好)[^。；]{0,12}(?:查阅|查閱|查询|查詢|咨询|諮詢|参考|參考|核实|核實|查看|查找"
    r"|查证|查證)",
    r"(?:无法|無法|不能|难以|難以|没法)[^。；]{0,12}(?:核实|核實|证实|證實|查证|查證|记起|想起|断定|斷定|保证|保證|作答"
    r"|说出|說出|辨别|获取|访问|透露|明确)",
    r"不(?:记得|記得|掌握|具备|熟悉|愿|願|想猜|便)|没有(?:把握|头绪|印象)",
)
_JAPANESE = any_of(
    r"(?:持ち合わせて|存じ|覚えて|思い出せ|記憶して|把握して|承知して|知って|(?:確信|自信)[がは]?(?:持て|あり)"
    r"|確認が?でき|お伝えでき|提供でき|断言でき|申し上げられ|言い切れ|見当[もが]つき)[^。、]{0,4}(?:ません|ない|かね)",
    r"(?:知識|能力|データ)[^。、]{0,6}(?:超え|範囲外|の外)",
    r"(?:推測|憶測)[^。、]{0,8}(?:控え|避け|でき)",
    r"[^。、]{0,20}(?:ご確認|確認して|ご参照|参照して|お調べ|調べて|問い合わせ)[^。、]{0,10}(?:ください|下さい|勧め|必要)",
)

DECLINES = "|".join((WILL_NOT, _ENGLISH, _GERMAN, _FRENCH, _SPANISH, _CHINESE, _JAPANESE))
"""The writer does not know, or points elsewhere; nothing of it is said of the material."""
