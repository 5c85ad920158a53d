"""A model that writes questions by copying spans of passages, and answers them by finding them.

It is a reply function for `tests.servers.OpenAIServer`: deterministic, and right whenever it is
shown what a question was made of. Some of its questions it knows by heart.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_PASSAGE = re.compile(
    r'^\[\d+\] ?(?P<title>[^\n]*)\n(?P<fence>"{3}[^\n]*)\n(?P<text>.*?)\n(?P=fence)$',
    re.DOTALL | re.MULTILINE,
)
_SPAN = re.compile(r"«(.+?)»")
LENGTH, ANSWER = 5, 2
"""Words of a span that a question quotes, and of the answer behind it."""


def writer(share_known: float = 0.0) -> Callable[[Sequence[Mapping[str, Any]]], str]:
    """Make the model.

    Args:
        share_known: The share of its questions that it answers without passages too.
    """
    written: dict[str, str] = {}

    def reply(messages: Sequence[Mapping[str, Any]]) -> str:
        text = "\n".join(str(each["content"]) for each in messages)
        passages = [(each["title"], each["text"]) for each in _PASSAGE.finditer(text)]
        if "Write one question" in text:
            made = _written(text, passages)
            if made is None:
                return "Nothing fits here.\nNONE"
            written[made[0]] = made[1]
            return f"<think>Which span?</think>\n1. **Question:** {made[0]}\n**Answer:** {made[1]}"
        question = next((each for each in written if each in text), "")
        if not passages and "(none)" not in text:
            known = zlib.crc32(question.encode()) % 100 < 100 * share_known
            return written[question] if question and known else "I don't know."
        answer = _found(question, passages)
        if answer is not None:
            return f"SUFFICIENT\n{answer} [1]."
        queries = "".join(f"\nSearch: {each}" for each in _SPAN.findall(question))
        return f"INSUFFICIENT\nMissing: the rest of it.{queries}"

    return reply


def _written(text: str, passages: Sequence[tuple[str, str]]) -> tuple[str, str] | None:
    spans = [_span(each) for _, each in passages]
    if not all(spans):
        return None
    quoted = [f"«{each[0]}»" for each in spans if each]
    if "In place of the answer" in text:
        return f"On which day was {quoted[0]} written?", "none"
    if "compares" in text:
        titles = [title for title, _ in passages]
        best = max(zip(spans, titles, strict=True), key=str)[1]
        return f"Which ranks higher, {titles[0]} ({quoted[0]}) or {titles[1]} ({quoted[1]})?", best
    return f"What follows {' and then '.join(quoted)}?", spans[-1][1]  # type: ignore[index]


def _span(text: str) -> tuple[str, str] | None:
    """Some words that stand in a text together, and those behind them."""
    words = [each for each in text.split() if each not in '«»"']
    plain = [bool(re.fullmatch(r"[\w'’,.-]+", each)) for each in words]
    size = LENGTH + ANSWER
    starts = [at for at in range(len(words) - size + 1) if all(plain[at : at + size])]
    if not starts:
        return None
    at = starts[zlib.crc32(text.encode()) % len(starts)]
    return " ".join(words[at : at + LENGTH]), " ".join(words[at + LENGTH : at + size])


def _found(question: str, passages: Sequence[tuple[str, str]]) -> str | None:
    quoted = _SPAN.findall(question)
    texts = [(title, " ".join(text.split())) for title, text in passages]
    holding = [next((each for each in texts if span in each[1]), None) for span in quoted]
    if not quoted or not all(holding) or question.startswith("On which day"):
        return None
    if question.startswith("Which ranks"):
        pairs = [(_span_of(each[1], span), each[0]) for each, span in zip(holding, quoted) if each]  # noqa: B905
        return max(pairs, key=str)[1]
    text = holding[-1][1]  # type: ignore[index]
    behind = text[text.index(quoted[-1]) + len(quoted[-1]) :].split()
    return " ".join(behind[:ANSWER])


def _span_of(text: str, span: str) -> tuple[str, str]:
    behind = text[text.index(span) + len(span) :].split()
    return span, " ".join(behind[:ANSWER])
