"""The words of the baselines, with their sources, and how a prompt is put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from skr_core.prompts.asking import (
    PASSAGES,
    demonstrate,
    number_references,
)
from skr_core.prompts.templates import version_of
from skr_core.references.passages import one_line
from skr_core.types import Demonstration, Prompt, Reference, Task

STEP_BY_STEP = "Let's think step by step."
"""Zero-shot-CoT (Kojima et al. 2022), as SKR §4.2 uses it."""

ANSWER_LEAD = "So the answer is"
"""How a chain of thought ends (Wei et al. 2022), and what is asked for where it did not."""

FOLLOW_UPS_NEEDED = "Are follow up questions needed here:"
FOLLOW_UP = "Follow up:"
INTERMEDIATE = "Intermediate answer:"
FINAL = "So the final answer is:"
"""The scaffold of Self-Ask (Press et al. 2022, §3)."""

SELF_ASK_EXAMPLE = f"""\
Question: Who lived longer, Ada Lovelace or Charles Babbage?
{FOLLOW_UPS_NEEDED} Yes.
{FOLLOW_UP} How old was Ada Lovelace when she died?
{INTERMEDIATE} Ada Lovelace was 36 years old when she died.
{FOLLOW_UP} How old was Charles Babbage when he died?
{INTERMEDIATE} Charles Babbage was 79 years old when he died.
{FINAL} Charles Babbage

"""
"""An example in the scaffold; the examples of the paper are longer."""

RECITE = """\
{demonstrations}Recite a passage from your memory that helps to answer the question. Write the \
passage alone.

Question: {question}
Passage:"""
"""Recite-and-Answer, first step (Sun et al. 2022, §3.1): the model is its own retriever."""

SEARCH = """\
Write a search query that will help answer a complex question. Reason first, then write the query \
on a line of its own that begins with "Search query:".

{passages}Question: {question}
Rationale: Let's think step by step. {lead}"""
HOPS = (
    "To answer this question, we first need to find out",
    "Based on the passages, we have learned the following.",
)
"""DSP's search for multi-hop questions (Khattab et al. 2022, §3): how the rationale of each hop
begins."""

BASELINES_VERSION = version_of(
    *(STEP_BY_STEP, PASSAGES, ANSWER_LEAD),
    *(FOLLOW_UPS_NEEDED, FOLLOW_UP, INTERMEDIATE, FINAL, SELF_ASK_EXAMPLE),
    RECITE,
    *(SEARCH, *HOPS),
)
"""Changes with the wording of any baseline, so that its answers are told apart."""


def ask(
    question: str,
    demonstrations: Sequence[Demonstration] = (),
    references: Sequence[Reference] = (),
    lead: str = "",
) -> Prompt:
    """Demonstrations, the question, passages where there are any, and the answer's beginning.

    The demonstrations show their passages where the question has some, and none where it has none.

    Args:
        question: The user's question.
        demonstrations: Worked examples.
        references: The passages that were retrieved.
        lead: The beginning of the answer.

    Example:
        >>> print(ask("Who?", [Demonstration("Where?", "There.")], lead="Let's think.").text)
        Question: Where?
        Answer: There.
        <BLANKLINE>
        Question: Who?
        Answer: Let's think.
    """
    shown = tuple(each if references else replace(each, references=()) for each in demonstrations)
    passages = f"{PASSAGES}\n{number_references(references)}\n" if references else ""
    text = f"{_joined(shown)}Question: {question}\n{passages}Answer:{' ' if lead else ''}{lead}"
    # Nothing here asks for a refusal: the best answer there is is wanted.
    task: Task = "answer_anyway" if references else "answer_directly"
    return Prompt(task, text, question, tuple(references), shown)


def ask_recitation(question: str, demonstrations: Sequence[Demonstration] = ()) -> Prompt:
    """Ask for a passage from memory, after the passages of the demonstrations that have some.

    Example:
        >>> shown = Demonstration("Where?", "There.", ("It is there.",))
        >>> ask_recitation("Who?", [shown]).text.splitlines()[:2]
        ['Question: Where?', 'Passage: It is there.']
    """
    shown = tuple(each for each in demonstrations if each.references)
    recited = "".join(
        f"Question: {each.question}\nPassage: {one_line(' '.join(each.references))}\n\n"
        for each in shown
    )
    text = RECITE.format(demonstrations=recited, question=question)
    return Prompt("answer_directly", text, question, demonstrations=shown)


def ask_after_reciting(
    question: str, passage: str, demonstrations: Sequence[Demonstration] = ()
) -> Prompt:
    """Ask for the answer after a passage that the model recited.

    Example:
        >>> ask_after_reciting("Who?", "She wrote it.").text.splitlines()[0]
        'Question: She wrote it.'
    """
    asked = ask(f"{one_line(passage)}\n{question}", demonstrations)
    return replace(asked, question=question)


def ask_search(question: str, references: Sequence[Reference], lead: str) -> Prompt:
    """Ask for the query of a hop, after the passages of those before it.

    Args:
        question: The user's question.
        references: The references that earlier hops have found.
        lead: The beginning of the rationale.

    Example:
        >>> asked = ask_search("Where was she born?", (), HOPS[0])
        >>> asked.text.splitlines()[-1]
        "Rationale: Let's think step by step. To answer this question, we first need to find out"
    """
    passages = f"{PASSAGES}\n{number_references(references)}\n" if references else ""
    text = SEARCH.format(passages=passages, question=question, lead=lead)
    return Prompt("self_complete", text, question, tuple(references))


def _joined(demonstrations: Sequence[Demonstration]) -> str:
    return "".join(map(demonstrate, demonstrations))
