"""How models state their certainty in other languages than English: patterns, no logic.

A question in one's own language often gets its certainty in it too, although W2R's prompts name
the English words.
"""

from __future__ import annotations

UNSURE_WORDS = (
    r"unsicher|ungewiss|(?:nicht|wenig) (?:\w+ )?(?:sicher|gewiss)"
    r"|incertaine?|(?:pas|peu) (?:\w+ )?(?:sûre?|certaine?)"
    r"|insegur[oa]|inciert[oa]|(?:no|poco) (?:\w+ )?(?:segur[oa]|ciert[oa])"
    r"|(?:我)?(?:不(?:太|很|大)?|无法|無法|没)(?:能)?(?:确定|確定|肯定|确信|確信|确认|確認)"
    r"|(?:不確か|不確実|確信(?:は|が)?(?:ない|ありません|持て(?:ない|ません))"
    r"|自信(?:は|が)?(?:ない|ありません))(?:です)?"
)
"""What denies certainty where it stands by itself."""

SURE_WORDS = (
    r"(?:ganz |sehr |absolut )?sicher|gewiss|(?:tout à fait |très )?sûre?|certaine"
    r"|(?:muy |totalmente )?segur[oa]"
    r"|(?:我)?(?:非常|很|十分|完全)?(?:确定|確定|肯定|确信|確信)"
    r"|(?:確か|確実|確信(?:して(?:いる|います)|が(?:ある|あります))?"
    r"|自信が(?:ある|あります))(?:です)?"
)
"""What states it."""

UNSURE_SELF = (
    r"\bich bin (?:mir )?(?:\w+ ){0,2}?(?:nicht (?:\w+ )?sicher|unsicher)\b"
    r"|\bje (?:ne suis|n'en suis|suis) (?:pas (?:\w+ )?(?:sûre?|certaine?)|incertaine?)\b"
    r"|\b(?:no estoy|no me siento) (?:\w+ )?segur[oa]\b"
    r"|我(?:并|並)?不(?:太|很|大|能)?(?:确定|確定|肯定|确信|確信)"
)
"""What denies it with the model as the subject."""

SURE_SELF = (
    r"\bich bin (?:mir )?(?:\w+ ){0,2}?sicher\b"
    r"|\bj(?:e |')(?:en )?suis (?:\w+ ){0,2}?(?:sûre?|certaine?)\b"
    r"|\bestoy (?:\w+ )?segur[oa]\b"
    r"|我(?:非常|很|十分|完全)?(?:确定|確定|肯定|确信|確信)"
)
"""What states it so."""
