"""The project's prompts as LlamaIndex shows and takes them: ``get_prompts``, ``update_prompts``.

LlamaIndex fills ``{name}`` and leaves every other brace alone; `str.format`, which renders the
project's templates, wants those doubled. LlamaIndex's own names for the parts, ``{query_str}``,
``{context_str}`` and ``{chat_history}``, are understood too.

Example:
    >>> brief = PromptTemplate("Answer {query_str} as {style}.").partial_format(style='{"a": 1}')
    >>> replaced(DEFAULT_TEMPLATES, {"answer_directly": brief}).answer_directly
    'Answer {question} as {{"a": 1}}.'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from llama_index.core.prompts import BasePromptTemplate, ChatPromptTemplate, PromptTemplate

from skr_core.errors import InputError
from skr_core.prompts.templates import (
    DEFAULT_TEMPLATES,
    PromptTemplates,
    Template,
    as_format,
    template_of,
)

__all__ = ["DEFAULT_TEMPLATES", "as_prompts", "replaced"]

_PLACEHOLDERS: dict[str, Any] = {
    name: f"{{{name}}}" for name in ("demonstrations", "queries", "limit")
} | {
    "question": "{question}",
    "query_str": "{question}",
    "references": "{references}",
    "context_str": "{references}",
    "history": "{history}",
    "chat_history": "{history}",
}


def as_prompts(templates: PromptTemplates) -> dict[str, BasePromptTemplate]:
    """Each template by its name, as LlamaIndex's ``get_prompts`` returns them."""
    return {each.name: _as_prompt(getattr(templates, each.name)) for each in fields(templates)}


def replaced(
    templates: PromptTemplates, prompts: Mapping[str, BasePromptTemplate]
) -> PromptTemplates:
    """Replace some templates by LlamaIndex's, as its ``update_prompts`` asks.

    Args:
        templates: What stays where `prompts` says nothing.
        prompts: By name. Of a chat template, what the system says stays a system message.

    Raises:
        InputError: There is no template of that name, or it lacks a placeholder it needs.
    """
    names = [each.name for each in fields(templates)]
    if unknown := sorted(set(prompts) - set(names)):
        raise InputError(f"no prompt is called {', '.join(unknown)}: there are {', '.join(names)}")
    return replace(templates, **{name: _as_template(prompt) for name, prompt in prompts.items()})


def _as_prompt(template: Template) -> BasePromptTemplate:
    if isinstance(template, str):
        return PromptTemplate(_single_braces(template))
    said = [("system", template.system), ("user", template.user)]
    return ChatPromptTemplate.from_messages([(role, _single_braces(text)) for role, text in said])


def _single_braces(text: str) -> str:
    return text.replace("{{", "{").replace("}}", "}")


def _as_template(prompt: BasePromptTemplate) -> Template:
    # Filled with placeholders, so that partial values and mappings of names are as in LlamaIndex.
    messages = prompt.format_messages(**_PLACEHOLDERS)
    return template_of([(each.role.value, as_format(each.content or "")) for each in messages])
