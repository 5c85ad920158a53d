"""One order of records, whatever the order in which they were written."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable

from skr_learn.self_knowledge.records import SelfKnowledge, question_key


def in_fixed_order(records: Iterable[SelfKnowledge]) -> list[SelfKnowledge]:
    """The records in an order that depends on what they hold alone.

    `collect` writes a record when its question has been answered, so that no two collections have
    the same order; and what is drawn at random, such as the rows that a tree is fitted on, is drawn
    by place. The order is that of a hash of the questions, which is as good as a shuffle. Records
    of the same question stand together.

    Example:
        >>> who, when = (SelfKnowledge.of(each, direct=("", 0), single=("", 1))
        ...              for each in ("Who?", "When?"))
        >>> in_fixed_order([who, when]) == in_fixed_order([when, who])
        True
    """
    kept = list(records)
    keys = [question_key(each.question) for each in kept]
    times = Counter(keys)

    def place(number: int) -> tuple[bytes, str]:
        key = keys[number]
        whole = repr(kept[number]) if times[key] > 1 else ""
        return hashlib.blake2b(key.encode(), digest_size=16).digest(), whole

    return [kept[number] for number in sorted(range(len(kept)), key=place)]
