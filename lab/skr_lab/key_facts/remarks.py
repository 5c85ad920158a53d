"""What a reviewer of key-facts should look at, found without a model: hints, not verdicts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

from skr_app.extractive import THRESHOLD, LexicalEntailment, content_words
from skr_core.match import contains_gold
from skr_core.types import Reference

FEWEST, MOST = 2, 4
"""Key-facts of a question (RaLLM §3)."""

_VERDICTS = {"yes", "no", "true", "false"}
_LEANS = re.compile(r"(?:he|she|it|they|his|her|its|their|this|that|these|those)\b", re.IGNORECASE)
_WRITER = re.compile(r"\bI(?:'m| am| can| have| do)\b|\bas an AI\b", re.IGNORECASE)


def remarks_on(
    facts: Sequence[str], gold: Sequence[str], references: Sequence[Reference]
) -> tuple[str, ...]:
    """What looks wrong with the key-facts of a question; facts are named by their place, from 1.

    Args:
        facts: As a model wrote them.
        gold: The right answers.
        references: What the facts should be taken from; without any that is not looked at.

    Example:
        >>> remarks_on(["It was built in 1889."], ["Eiffel"], [])
        ('1 key-fact: 2 to 4 are accepted', 'no fact names the answer', 'fact 1 leans on another')
    """
    found: list[str] = []
    if not FEWEST <= len(facts) <= MOST:
        plural = "" if len(facts) == 1 else "s"
        found.append(f"{len(facts)} key-fact{plural}: {FEWEST} to {MOST} are accepted")
    names_answer = any(contains_gold(fact, gold) for fact in facts)
    if gold and not {each.lower() for each in gold} <= _VERDICTS and not names_answer:
        found.append("no fact names the answer")
    for place, fact in enumerate(facts, start=1):
        if _LEANS.match(fact.strip()):
            found.append(f"fact {place} leans on another")
        if _WRITER.search(fact):
            found.append(f"fact {place} speaks of its writer")
        if references and not _stands_in(fact, references):
            found.append(f"fact {place} does not stand in the references, word for word")
    found += [
        f"facts {one} and {other} say much the same"
        for (one, said), (other, again) in combinations(enumerate(facts, start=1), 2)
        if "entailment" in LexicalEntailment().predict([(said, again), (again, said)])
    ]
    return tuple(found)


def _stands_in(fact: str, references: Sequence[Reference]) -> bool:
    wanted = set(content_words(fact))
    given = {word for each in references for word in content_words(f"{each.title} {each.text}")}
    return len(wanted & given) >= THRESHOLD * len(wanted)
