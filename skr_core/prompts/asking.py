"""Rendering the prompts for answers and for the next queries, from a set of templates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from skr_core.prompts.chat import Template, rendered
from skr_core.prompts.parts import demonstrate, number_references, one_line
from skr_core.prompts.templates import DEFAULT_TEMPLATES, PromptTemplates
from skr_core.prompts.words import MAX_QUERIES, MISSING, PARTIAL, SEARCHED
from skr_core.types import Demonstration, Prompt, Reference, Task


def answer_directly(
    question: str,
    demonstrations: Sequence[Demonstration] = (),
    *,
    templates: PromptTemplates = DEFAULT_TEMPLATES,
) -> Prompt:
    """Ask for an answer without references; the demonstrations show none either (SKR §3.3)."""
    bare = [replace(each, references=()) for each in demonstrations]
    return _prompt("answer_directly", templates.answer_directly, question, (), bare)


def answer_with_references(
    question: str,
    references: Sequence[Reference],
    demonstrations: Sequence[Demonstration] = (),
    *,
    templates: PromptTemplates = DEFAULT_TEMPLATES,
    queries: Sequence[str] = (),
    missing: str = "",
    partial: str = "",
    metadata_keys: Sequence[str] = (),
) -> Prompt:
    """Ask for a verdict and a cited answer, or, in RaLLM's words, for the refusal sentence.

    Args:
        question: The user's question.
        references: What has been found.
        demonstrations: Worked examples.
        templates: The words to ask in.
        queries: What has been searched beside the question, so that nothing is asked twice.
        missing: What an earlier round found missing; may be empty.
        partial: What an earlier round could answer; may be empty.
        metadata_keys: What of the references' metadata is shown.

    Example:
        >>> asked = answer_with_references("Where was she born?", [], queries=["her birthplace"])
        >>> "Searched so far:\\n- her birthplace\\n" in asked.text, asked.states_verdict
        (True, True)
    """
    further = [query for query in queries if query != question]
    text, system = rendered(
        templates.answer_with_references,
        question=question,
        references=number_references(references, metadata_keys),
        demonstrations="".join(map(demonstrate, demonstrations)),
        searched=f"\n{SEARCHED}\n{_bulleted(further)}\n" if further else "",
        missing=_part(MISSING, missing),
        partial=_part(PARTIAL, partial),
    )
    return Prompt(
        "answer_with_references",
        text,
        question,
        tuple(references),
        tuple(demonstrations),
        tuple(queries),
        states_verdict=templates.states_verdict,
        system=system,
    )


def answer_anyway(
    question: str,
    references: Sequence[Reference],
    demonstrations: Sequence[Demonstration] = (),
    *,
    templates: PromptTemplates = DEFAULT_TEMPLATES,
    metadata_keys: Sequence[str] = (),
) -> Prompt:
    """Ask for the best answer there is, from references or internal knowledge (W2R Figure 10)."""
    template = templates.answer_anyway
    return _prompt("answer_anyway", template, question, references, demonstrations, metadata_keys)


def self_complete(
    question: str,
    references: Sequence[Reference],
    queries: Sequence[str],
    limit: int = MAX_QUERIES,
    missing: str = "",
    *,
    partial: str = "",
    templates: PromptTemplates = DEFAULT_TEMPLATES,
    metadata_keys: Sequence[str] = (),
) -> Prompt:
    """Ask what to search next (RaLLM §5.2).

    Args:
        question: The user's question.
        references: What has been found.
        queries: What has been searched.
        limit: How many queries are wanted at most.
        missing: What the reflection found missing; may be empty.
        partial: What the references do support of the answer; may be empty.
        templates: The words to ask in.
        metadata_keys: What of the references' metadata is shown.

    Example:
        >>> asked = self_complete("Where was she born?", [], ["she"], missing="the birthplace")
        >>> "Missing so far: the birthplace" in asked.text
        True
    """
    text, system = rendered(
        templates.self_complete,
        question=question,
        references=number_references(references, metadata_keys),
        queries=_bulleted(queries),
        limit=limit,
        missing=_part(MISSING, missing),
        partial=_part(PARTIAL, partial),
    )
    return Prompt(
        "self_complete", text, question, tuple(references), queries=tuple(queries), system=system
    )


def decompose(
    question: str,
    limit: int = MAX_QUERIES,
    *,
    templates: PromptTemplates = DEFAULT_TEMPLATES,
) -> Prompt:
    """Ask for the parts of a question that have to be looked up, before anything is searched.

    Example:
        >>> decompose("Which of the two is older?").text.endswith("Which of the two is older?")
        True
    """
    text, system = rendered(templates.decompose, question=question, limit=limit)
    return Prompt("decompose", text, question, system=system)


def condense(
    question: str, turns: Sequence[str], *, templates: PromptTemplates = DEFAULT_TEMPLATES
) -> Prompt:
    """Ask for the question as it would be asked without its conversation.

    Args:
        question: What the user says next.
        turns: Before it, user and assistant in turn; each is shown on one line.
        templates: The words to ask in.

    Example:
        >>> asked = condense("Its river?", ["Capital of France?", "Paris."])
        >>> "User: Capital of France?\\nAssistant: Paris.\\n" in asked.text
        True
    """
    speakers = ("User", "Assistant")
    shown = "\n".join(
        f"{speakers[place % 2]}: {one_line(turn)}" for place, turn in enumerate(turns)
    )
    text, system = rendered(templates.condense, question=one_line(question), history=shown)
    return Prompt("condense", text, question, system=system)


def _bulleted(queries: Sequence[str]) -> str:
    return "\n".join(f"- {one_line(query)}" for query in queries)


def _part(lead: str, said: str) -> str:
    """A line of its own for what a model said earlier; empty where it said nothing."""
    line = one_line(said)
    return f"\n{lead} {line}\n" if line else ""


def _prompt(
    task: Task,
    template: Template,
    question: str,
    references: Sequence[Reference],
    demonstrations: Sequence[Demonstration],
    metadata_keys: Sequence[str] = (),
) -> Prompt:
    text, system = rendered(
        template,
        question=question,
        references=number_references(references, metadata_keys),
        demonstrations="".join(map(demonstrate, demonstrations)),
    )
    return Prompt(task, text, question, tuple(references), tuple(demonstrations), system=system)
