"""The words of the baselines, with their sources, and how a prompt is put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from skr_core.prompts.templates import number_references
from skr_core.types import Demonstration, Prompt, Reference, Task

STEP_BY_STEP = "Let's think step by step."
"""Zero-shot-CoT (Kojima et al. 2022), as SKR §4.2 uses it."""

PASSAGES = "Here are some passages:"
"""What stands before passages (SKR §3.3)."""

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


def ask(
    question: str,
    demonstrations: Sequence[Demonstration] = (),
    references: Sequence[Reference] = (),
    lead: str = "",
) -> Prompt:
    """Demonstrations, the question, passages where there are any, and the answer's beginning.

    Example:
        >>> print(ask("Who?", [Demonstration("Where?", "There.")], lead="Let's think.").text)
        Question: Where?
        Answer: There.
        <BLANKLINE>
        Question: Who?
        Answer: Let's think.
    """
    shown = "".join(
        f"Question: {each.question}\nAnswer: {each.answer}\n\n" for each in demonstrations
    )
    passages = f"{PASSAGES}\n{number_references(references)}\n" if references else ""
    text = f"{shown}Question: {question}\n{passages}Answer:{' ' if lead else ''}{lead}"
    task: Task = "answer_with_references" if references else "answer_directly"
    bare = tuple(replace(each, references=()) for each in demonstrations)
    return Prompt(task, text, question, tuple(references), bare)
