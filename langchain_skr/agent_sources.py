"""The sources of an agent's conversation: one number for each, through all of its turns.

Example:
    >>> from langchain_core.messages import AIMessage
    >>> paris, rome = Reference.of("Paris is in France."), Reference.of("Rome is in Italy.")
    >>> sources = with_new([paris], [rome, paris])
    >>> [sources.index(each) + 1 for each in (rome, paris)]
    [2, 1]
    >>> message, cited = resolved(AIMessage("In Italy [2]. In Spain [3]."), sources)
    >>> message.text, cited.citations[0].reference_id == rome.id, cited.removed
    ('In Italy [2]. In Spain.', True, 1)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from skr_core.references.citations import CitedText, resolve_citations
from skr_core.types import Reference

_NUMBER = re.compile(r"\[\d")


def with_new(sources: Sequence[Reference], found: Sequence[Reference]) -> list[Reference]:
    """The sources so far and behind them what was found anew; each one's number is its place."""
    known = {each.id: each for each in sources}
    for each in found:
        known.setdefault(each.id, each)
    return list(known.values())


def final_answer(messages: Sequence[AnyMessage]) -> AIMessage | None:
    """The agent's answer, where its markers can name no source but ours.

    None where the run has ended with something else, or a tool of this run gave numbers of its own.
    """
    last = messages[-1] if messages else None
    if not isinstance(last, AIMessage) or last.tool_calls:
        return None
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            break
        if isinstance(message, ToolMessage) and _NUMBER.search(str(message.text)):
            return None
    return last


def resolved(message: AIMessage, sources: Sequence[Reference]) -> tuple[AIMessage, CitedText]:
    """The message without markers that name no source, and what the others name.

    Args:
        message: Its content may be blocks, of which those of text are read.
        sources: In the order of their numbers, from 1.
    """
    removed = 0

    def clean(text: str) -> str:
        nonlocal removed
        cited = resolve_citations(text, sources)
        removed += cited.removed
        return cited.text

    content: Any = message.content
    if isinstance(content, str):
        content = clean(content)
    else:
        content = [_with_text(block, clean) for block in content]
    message = message.model_copy(update={"content": content})
    cited = resolve_citations(str(message.text), sources)
    return message, CitedText(cited.text, cited.citations, removed)


def _with_text(block: Any, clean: Any) -> Any:
    if isinstance(block, str):
        return clean(block)
    if isinstance(block, dict) and block.get("type") == "text":
        return {**block, "text": clean(block["text"])}
    return block
