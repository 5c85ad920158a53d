"""ChatTemplate: a template whose beginning is said as the system.

Example:
    >>> template = template_of([("system", "Be brief."), ("user", "Where is {question}?")])
    >>> rendered(template, question="Paris")
    ('Where is Paris?', 'Be brief.')
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from skr_core.errors import InputError

_BRACE = re.compile(r"(\{\w+\})|[{}]")


@dataclass(frozen=True, slots=True)
class ChatTemplate:
    """What is asked, and what is said as the system before it.

    Placeholders may stand in both, such as ``{references}`` in what the system says.

    Attributes:
        user: The user message; the last of those that are sent.
        system: The system message; the first.
    """

    user: str
    system: str


Template = str | ChatTemplate
"""Of a user message alone, or of one behind a system message."""


def template_of(messages: Sequence[tuple[str, str]]) -> Template:
    """Make a template of messages, each with its role.

    What the system says becomes one message. Worked examples, user and assistant in turn, stand in
    the user message, each behind its role.

    Args:
        messages: Role and `str.format` text of each.

    Raises:
        InputError: None of them is said by the user.

    Example:
        >>> template_of([("user", "1 + 1?"), ("assistant", "2"), ("user", "{question}")])
        'user: 1 + 1?\\nassistant: 2\\nuser: {question}'
    """
    said = [(role, text) for role, text in messages if role != "system"]
    if not any(role == "user" for role, _ in said):
        raise InputError("a chat template needs a message of the user: add one with {question}")
    user = said[0][1] if len(said) == 1 else "\n".join(f"{role}: {text}" for role, text in said)
    system = "\n\n".join(text for role, text in messages if role == "system")
    return ChatTemplate(user, system) if system else user


def as_format(text: str) -> str:
    """A text with its placeholders in braces as `str.format` wants it: other braces doubled.

    Example:
        >>> as_format('Reply as {"a": 1}: {question}')
        'Reply as {{"a": 1}}: {question}'
    """
    return _BRACE.sub(lambda brace: brace[1] or brace[0] * 2, text)


def words_of(template: Template) -> str:
    """All its words as one text."""
    if isinstance(template, ChatTemplate):
        return f"{template.system}\n{template.user}"
    return template


def rendered(template: Template, **parts: object) -> tuple[str, str]:
    """The user message and the system message, which may be empty."""
    if isinstance(template, ChatTemplate):
        return template.user.format(**parts), template.system.format(**parts)
    return template.format(**parts), ""
