"""The project's prompts as LlamaIndex shows and takes them: ``get_prompts``, ``update_prompts``.

LlamaIndex fills ``{name}`` and leaves every other brace alone; `str.format`, which renders the
project's templates, wants those doubled. LlamaIndex's own names for the parts, ``{query_str}`` and
``{context_str}``, are understood too.

Example:
    >>> brief = PromptTemplate("Answer {query_str} as {style}.").partial_format(style='{"a": 1}')
    >>> replaced(DEFAULT_TEMPLATES, {"answer_directly": brief}).answer_directly
    'Answer {question} as {{"a": 1}}.'
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from llama_index.core.prompts import BasePromptTemplate, PromptTemplate

from skr_core.errors import InputError
from skr_core.prompts.templates import DEFAULT_TEMPLATES, PromptTemplates

__all__ = ["DEFAULT_TEMPLATES", "as_prompts", "replaced"]

_PLACEHOLDERS: dict[str, Any] = {
    name: f"{{{name}}}" for name in ("demonstrations", "queries", "limit")
} | {
    "question": "{question}",
    "query_str": "{question}",
    "references": "{references}",
    "context_str": "{references}",
}
_BRACE = re.compile(r"(\{\w+\})|[{}]")


def as_prompts(templates: PromptTemplates) -> dict[str, BasePromptTemplate]:
    """Each template by its name, as LlamaIndex's ``get_prompts`` returns them."""
    return {
        name: PromptTemplate(text.replace("{{", "{").replace("}}", "}"))
        for name, text in asdict(templates).items()
    }


def replaced(
    templates: PromptTemplates, prompts: Mapping[str, BasePromptTemplate]
) -> PromptTemplates:
    """Replace some templates by LlamaIndex's, as its ``update_prompts`` asks.

    Args:
        templates: What stays where `prompts` says nothing.
        prompts: By name. Chat templates become one text, because a prompt is one user message.

    Raises:
        InputError: There is no template of that name, or it lacks a placeholder it needs.
    """
    names = asdict(templates)
    if unknown := sorted(set(prompts) - set(names)):
        raise InputError(f"no prompt is called {', '.join(unknown)}: there are {', '.join(names)}")
    return replace(templates, **{name: _as_format(prompt) for name, prompt in prompts.items()})


def _as_format(prompt: BasePromptTemplate) -> str:
    # Filled with placeholders, so that partial values and mappings of names are as in LlamaIndex.
    text = prompt.format(**_PLACEHOLDERS)
    return _BRACE.sub(lambda brace: brace[1] or brace[0] * 2, text)
