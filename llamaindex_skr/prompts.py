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
from skr_core.prompts.templates import (
    DEFAULT_TEMPLATES,
    PromptTemplates,
    Template,
    as_format,
    template_of,
)

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


def with_text_qa(
    templates: PromptTemplates | None, text_qa_template: BasePromptTemplate | None
) -> PromptTemplates | None:
    """The words of a system with LlamaIndex's prompt for an answer from references.

    What it says of the manner of an answer is said before the other prompts that ask for one too,
    see `PromptTemplates.worded`.

    Example:
        >>> pirate = PromptTemplate("{context_str} Talk like a pirate. {query_str}")
        >>> with_text_qa(None, pirate).answer_with_references
        '{references} Talk like a pirate. {question}'
    """
    if text_qa_template is None:
        return templates
    return (templates or DEFAULT_TEMPLATES).worded(as_template(text_qa_template))


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
            "partial_format(...) to the template, or instructions=..., which may be a function"
        )
    return templates


def as_template(prompt: BasePromptTemplate) -> Template:
    """A prompt template of LlamaIndex as one of ours.

    Raises:
        InputError: It is none, or its functions would be called before there is a question.
    """
    given: object = prompt  # callers without a type checker give anything
    if not isinstance(given, BasePromptTemplate):
        raise InputError(
            f"a prompt template of LlamaIndex is wanted, not {type(given).__name__}: "
            'give PromptTemplate("...")'
        )
    if called := sorted(prompt.function_mappings or ()):
        raise InputError(
            f"the template fills {{{'}, {'.join(called)}}} by function_mappings, which would be "
            "called once, before any question: give partial_format(...), or instructions=..., "
            "whose functions are called for each question"
        )
    # Filled with placeholders, so that partial values and mappings of names are as in LlamaIndex.
    messages = prompt.format_messages(**_PLACEHOLDERS)
    return template_of([(each.role.value, as_format(each.content or "")) for each in messages])
