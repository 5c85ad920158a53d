"""LlamaIndex's prompt templates: as the words of a system, and as the instructions before them.

Example:
    >>> as_template(PromptTemplate("In one word: {query_str}"))
    'In one word: {question}'
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llama_index.core.prompts import BasePromptTemplate, ChatPromptTemplate, PromptTemplate

from skr_core.errors import InputError
from skr_core.prompts.templates import PromptTemplates, Template, as_format, template_of

InstructionsLike = str | Callable[[], str] | BasePromptTemplate
"""Instructions: a text, a function that returns one, or a prompt template of LlamaIndex."""


def as_words(instructions: InstructionsLike | None) -> str | Callable[[], str] | None:
    """The instructions as a text, or as the function that makes it.

    Raises:
        InputError: A template has a variable that nothing fills.
    """
    if not isinstance(instructions, BasePromptTemplate):
        return instructions
    template = instructions
    filled = {*template.kwargs, *(template.function_mappings or {})}
    if unfilled := sorted({*template.template_vars} - filled):
        raise InputError(
            f"the template given as instructions names {', '.join(unfilled)}, which nothing fills: "
            "use partial_format(...) or function_mappings, or give a function"
        )
    return lambda: template.format()


# LlamaIndex fills {name} and leaves every other brace alone; str.format, which renders the
# project's templates, wants those doubled. LlamaIndex's own names for the parts of a prompt are
# understood too.

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


def as_prompt(template: Template) -> BasePromptTemplate:
    """A template of ours as one of LlamaIndex."""
    if isinstance(template, str):
        return PromptTemplate(_single_braces(template))
    said = [("system", template.system), ("user", template.user)]
    return ChatPromptTemplate.from_messages([(role, _single_braces(text)) for role, text in said])


def _single_braces(text: str) -> str:
    return text.replace("{{", "{").replace("}}", "}")


def checked(templates: PromptTemplates) -> PromptTemplates:
    """Refuse variables, because LlamaIndex has no config of a run that could fill them."""
    if variables := sorted(templates.variables):
        raise InputError(
            f"the prompts name {{{'}, {'.join(variables)}}}, which nothing fills: give "
            "partial_format(...) or function_mappings to the template"
        )
    return templates


def as_template(prompt: BasePromptTemplate) -> Template:
    """A prompt template of LlamaIndex as one of ours."""
    # Filled with placeholders, so that partial values and mappings of names are as in LlamaIndex.
    messages = prompt.format_messages(**_PLACEHOLDERS)
    return template_of([(each.role.value, as_format(each.content or "")) for each in messages])
