"""Multiple choice: which option an answer chooses, and whether it is right (SKR Table 4)."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

from skr_core.texts import normalise

LABELS = string.ascii_lowercase
_CONCLUSION = re.compile(r"\b(?:final\s+)?answer\b[^.\n:]{0,60}?(?:\bis\b|:)", re.IGNORECASE)
_MARKED = re.compile(r"\(([A-Za-z])\)")
_LEADING = re.compile(r"\W*([A-Za-z])(?:[).:]|\W*$)")
_VERDICTS = {"yes", "no", "true", "false"}


def choice_match(answer: str, gold: Sequence[str], choices: Sequence[str]) -> bool:
    """1 where the option that the answer chooses is a right one, else 0 (accuracy, SKR §4.1).

    Args:
        answer: What the system said.
        gold: Right options, as their text or their label.
        choices: The options, in the order of their labels (a), (b), ...

    Example:
        >>> choice_match("A street? No, the answer is (b).", ["a shop"], ["a street", "a shop"])
        True
        >>> choice_match("No [1].", ["yes"], ["yes", "no"])
        False
    """
    right = {
        place
        for place, choice in enumerate(choices)
        for each in gold
        if normalise(choice) == normalise(each) or each.strip(" ().").lower() == LABELS[place]
    }
    return chosen(answer, choices) in right


def chosen(answer: str, choices: Sequence[str]) -> int | None:
    """The place of the option that an answer chooses; None where it chooses none, or several.

    What follows the last "answer is" counts; without such words the answer has to begin with the
    option or its label, or to name exactly one. A yes or no in the middle of a text says nothing.

    Example:
        >>> chosen("(b)", ["street", "shop"]), chosen("The street or the shop.", ["street", "shop"])
        (1, None)
    """
    *before, said = _CONCLUSION.split(answer)
    by_label = _labelled(said, len(choices))
    if by_label is not None:
        return by_label
    text = f" {normalise(said)} "
    bare = [normalise(choice) for choice in choices]
    opening = [
        place
        for place, each in enumerate(bare)
        if each and text.startswith(f" {each} ") and (before or each in _VERDICTS)
    ]
    if opening:
        return max(opening, key=lambda place: len(bare[place]))
    named = [
        place
        for place, each in enumerate(bare)
        if each and f" {each} " in text and (before or each not in _VERDICTS)
    ]
    # An option that is a part of another one named is not named by itself.
    named = [
        place
        for place in named
        if not any(other != place and bare[place] in bare[other] for other in named)
    ]
    return named[0] if len(named) == 1 else None


def _labelled(said: str, count: int) -> int | None:
    marked = {letter.lower() for letter in _MARKED.findall(said)}
    if not marked and (leading := _LEADING.match(said)):
        marked = {leading.group(1).lower()}
    places = [LABELS.index(letter) for letter in marked]
    return places[0] if len(places) == 1 and places[0] < count else None
