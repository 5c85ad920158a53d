"""Rendering the prompts for answers and for the next queries, from a set of templates.

Quoted material is hostile. References are fenced, see `skr_core.references.passages`; any other
piece is put on one line and loses its own bracketed numbers, so that none can pose as a reference
or as a part of the prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from skr_core.errors import InputError
from skr_core.prompts.templates import (
    DEFAULT_TEMPLATES,
    MAX_QUERIES,
    MISSING,
    PARTIAL,
    SEARCHED,
    PromptTemplates,
    Template,
    rendered,
)
from skr_core.references import fence_references, one_line
from skr_core.texts import encodable
from skr_core.types import Demonstration, Prompt, Reference, Task

PASSAGES = "Here are some passages:"
"""The line before passages (SKR §3.3)."""


def number_references(references: Sequence[Reference], metadata_keys: Sequence[str] = ()) -> str:
    """Render references, numbered from 1 and fenced, or say that there are none.

    Args:
        references: The references, in the order of their numbers.
        metadata_keys: The keys of the metadata that stand beside the title.

    Example:
        >>> print(number_references([Reference.of("Paris is in France.", "Paris")]))
        [1] Paris
        \"\"\"
        Paris is in France.
        \"\"\"
    """
    return fence_references(references, metadata_keys=metadata_keys) or "(none)"


def demonstrate(example: Demonstration) -> str:
    """A worked example: question, passages where it has some, and answer (SKR §3.3).

    Its passages have no numbers, because those of the prompt's own references begin at 1.

    Example:
        >>> print(demonstrate(Demonstration("Where?", "There.", ("It is there.",))), end="")
        Question: Where?
        Here are some passages:
        It is there.
        Answer: There.
        <BLANKLINE>
    """
    shown = "".join(f"{one_line(passage)}\n" for passage in example.references)
    passages = f"{PASSAGES}\n{shown}" if shown else ""
    return f"Question: {example.question}\n{passages}Answer: {example.answer}\n\n"


def checked_question(question: str) -> str:
    """The question without surrounding space, and without what UTF-8 cannot encode.

    A command's argument that is no UTF-8 has lone surrogates in it, which no JSON can store.

    Raises:
        InputError: Nothing is left of it.
    """
    stripped = question.strip() if isinstance(question, str) else ""
    if not stripped:
        raise InputError("the question is empty: ask something")
    return encodable(stripped)


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
        references: The references that have been found.
        demonstrations: The worked examples.
        templates: The words to ask in.
        queries: The queries that have been searched beside the question, so that none is asked
            twice.
        missing: The information that an earlier round found missing; may be empty.
        partial: The part of the answer that an earlier round could give; may be empty.
        metadata_keys: The keys of the references' metadata that are shown.

    Example:
        >>> asked = answer_with_references("Where was she born?", [], queries=["her birthplace"])
        >>> "Searched so far:\\n- her birthplace\\n" in asked.text, asked.states_verdict
        (True, True)
    """
    further = [query for query in queries if query != question]
    text, system = rendered(
        templates.with_references,
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
        states_verdict=templates.adds_protocol,
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
        references: The references that have been found.
        queries: The queries that have been searched.
        limit: The most queries that are wanted.
        missing: The information that the reflection found missing; may be empty.
        partial: The part of the answer that the references support; may be empty.
        templates: The words to ask in.
        metadata_keys: The keys of the references' metadata that are shown.

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
        question: The user's next message.
        turns: The turns before it, user and assistant in turn; each is shown on one line.
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
