"""as_templates: LangChain's prompt templates as the words of a system.

Example:
    >>> from langchain_core.prompts import ChatPromptTemplate
    >>> usual = ChatPromptTemplate.from_messages(
    ...     [("system", "Answer from these: {context}"), ("human", "{input}")]
    ... )
    >>> as_templates({"answer_with_references": usual}).answer_with_references
    ChatTemplate(user='{question}', system='Answer from these: {references}')
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.prompts import BasePromptTemplate, ChatPromptTemplate, MessagesPlaceholder

from skr_core.errors import InputError
from skr_core.prompts.templates import (
    DEFAULT_TEMPLATES,
    PromptTemplates,
    Template,
    as_format,
    template_of,
)

_OURS = ("demonstrations", "history", "limit", "missing", "partial", "queries", "searched")
_PLACEHOLDERS = {name: f"{{{name}}}" for name in _OURS} | {
    "question": "{question}",
    "input": "{question}",
    "references": "{references}",
    "context": "{references}",
    "chat_history": "{history}",
}
_ROLES = {"human": "user", "ai": "assistant"}


def as_templates(
    prompts: Mapping[str, BasePromptTemplate[Any] | str],
    templates: PromptTemplates = DEFAULT_TEMPLATES,
) -> PromptTemplates:
    """Replace some of the words of a system by LangChain's templates.

    LangChain's usual names of the parts, ``{input}``, ``{context}`` and ``{chat_history}``, are
    understood beside ``{question}``, ``{references}`` and ``{history}``. System messages stay so.
    Answers are asked for behind the earlier turns of the conversation anyway, so a placeholder for
    messages is left empty.

    Args:
        prompts: By the names of `PromptTemplates`.
        templates: What stays where `prompts` says nothing.

    Raises:
        InputError: There is no template of that name, one lacks a placeholder that it needs, or it
            has one that nothing can fill.
    """
    names = [each.name for each in fields(templates)]
    if unknown := sorted(set(prompts) - set(names)):
        raise InputError(f"no prompt is called {', '.join(unknown)}: there are {', '.join(names)}")
    given = {
        name: prompt if isinstance(prompt, str) else _template(name, prompt)
        for name, prompt in prompts.items()
    }
    return replace(templates, **given)


def _template(name: str, prompt: BasePromptTemplate[Any]) -> Template:
    turns = _placeholders_of_messages(prompt)
    if unknown := sorted(set(prompt.input_variables) - set(_PLACEHOLDERS) - set(turns)):
        raise InputError(
            f"the template {name} names {{{'}, {'.join(unknown)}}}, which nothing fills: "
            "give them with prompt.partial(...)"
        )
    # Filled with placeholders, so that partial values and every template format are LangChain's.
    messages = prompt.format_prompt(**{**_PLACEHOLDERS, **turns}).to_messages()
    return template_of([(_role(each), as_format(str(each.text))) for each in messages])


def _placeholders_of_messages(prompt: BasePromptTemplate[Any]) -> dict[str, list[BaseMessage]]:
    parts = prompt.messages if isinstance(prompt, ChatPromptTemplate) else []
    return {each.variable_name: [] for each in parts if isinstance(each, MessagesPlaceholder)}


def _role(message: BaseMessage) -> str:
    return _ROLES.get(message.type, message.type)
