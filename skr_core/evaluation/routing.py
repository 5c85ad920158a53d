"""How well a router guides (SKR §5.2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from skr_core.errors import InputError
from skr_core.self_knowledge.records import SelfKnowledge


def beneficial_guidance(records: Iterable[SelfKnowledge], retrieve: Sequence[bool]) -> float:
    """Share of the questions that retrieval helps or hurts and the router sends right (Figure 4).

    Questions on which both answers score the same do not count: either way is as good. A router
    that knows nothing has half; where nothing counts, so has every router.

    Args:
        records: Of the questions routed.
        retrieve: What the router decided for each.

    Raises:
        InputError: There are not as many decisions as records.

    Example:
        >>> helped = SelfKnowledge("Who?", ("Ada",), "Bob", "Ada", 0.0, 1.0)
        >>> hurt = SelfKnowledge("When?", ("1815",), "1815", "1852", 1.0, 0.0)
        >>> beneficial_guidance([helped, hurt], [True, True])
        0.5
    """
    records = list(records)
    if len(records) != len(retrieve):
        raise InputError(f"{len(retrieve)} decisions for {len(records)} records")
    guided = [
        (record.effect == "helps") == bool(decision)
        for record, decision in zip(records, retrieve, strict=True)
        if record.effect != "same"
    ]
    return sum(guided) / len(guided) if guided else 0.5
