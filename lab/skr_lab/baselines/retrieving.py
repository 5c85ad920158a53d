"""With retrieval: CoT-IR, IRCoT and Self-Ask (SKR Tables 1 and 5)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from skr_core.answering import generate
from skr_core.flow import Flow, call
from skr_core.ports import LanguageModel, Retriever
from skr_core.prompts import asking as prompts
from skr_core.prompts.templates import PromptTemplates
from skr_core.references.passages import one_line
from skr_core.replies.certainty import conclusion
from skr_core.texts import split_sentences
from skr_core.types import Answer, Demonstration, Prompt, Reference, Round, Usage
from skr_lab.baselines.parts import concluded, round_of, spend
from skr_lab.prompts.baselines import (
    FINAL,
    FOLLOW_UP,
    FOLLOW_UPS_NEEDED,
    INTERMEDIATE,
    SELF_ASK_EXAMPLE,
    ask,
)

PASSAGES = 3
"""Top-3 passages (SKR §4.2)."""
STEPS = 6
"""Reasoning sentences or follow-up questions at most."""
CAP = 10
"""References in a prompt at most, as everywhere in this project."""

_FOLLOW_UP = re.compile(rf"{re.escape(FOLLOW_UP)}\s*(.+)", re.IGNORECASE)


def cot_ir(
    model: LanguageModel,
    retriever: Retriever,
    question: str,
    demonstrations: Sequence[Demonstration],
    templates: PromptTemplates | None = None,
) -> Flow[Answer]:
    """Manual-CoT-IR: retrieve for the question, then reason from the passages (SKR §4.2).

    Example:
        >>> from skr_core.flow import run
        >>> from skr_core.testing import MappingRetriever, ScriptedModel
        >>> retriever = MappingRetriever({"Capital?": ["Paris is the capital."]})
        >>> model = ScriptedModel(["So the answer is Paris [1]."])
        >>> run(cot_ir(model, retriever, "Capital?", ())).text
        'Paris [1].'
    """
    found = (yield from call(retriever.retrieve, retriever.aretrieve, question))[:PASSAGES]
    prompt = ask(question, demonstrations, found)
    if templates is not None:
        prompt = prompts.answer_with_references(
            question, found, demonstrations, templates=templates
        )
    reply = yield from generate(model, prompt)
    rounds = (round_of(question, found, reply.text),)
    return concluded(question, reply.text, {"answer_with_references": reply.usage}, found, rounds)


def ircot(
    model: LanguageModel,
    retriever: Retriever,
    question: str,
    demonstrations: Sequence[Demonstration],
) -> Flow[Answer]:
    """IRCoT (Trivedi et al. 2022, §3): each sentence of the reasoning is the next query.

    It ends when a sentence holds a conclusion, when nothing new is said, or after `STEPS`
    sentences; then the reasoning is read as the answer.
    """
    spent: dict[str, Usage] = {}
    pool: dict[str, Reference] = {}
    rounds: list[Round] = []
    thoughts: list[str] = []
    query = question
    for _ in range(STEPS):
        found = (yield from call(retriever.retrieve, retriever.aretrieve, query))[:PASSAGES]
        pool |= {each.id: each for each in found if each.id not in pool and len(pool) < CAP}
        given = list(pool.values())[:CAP]
        reply = yield from generate(model, ask(question, demonstrations, given, " ".join(thoughts)))
        spend(spent, "answer_with_references", reply.usage)
        new = [each for each in split_sentences(reply.text) if each not in thoughts]
        rounds.append(round_of(query, found, new[0] if new else ""))
        if not new:
            break
        thoughts.append(new[0])
        if conclusion(new[0]) is not None:
            break
        query = new[0]
    return concluded(question, " ".join(thoughts), spent, list(pool.values())[:CAP], rounds)


def self_ask(model: LanguageModel, retriever: Retriever, question: str) -> Flow[Answer]:
    """Self-Ask with a search engine (Press et al. 2022): the model asks, the retriever answers.

    A follow-up question is searched, and the best passage becomes its intermediate answer. It ends
    with "So the final answer is:", with no new follow-up, or after `STEPS` of them.
    """
    spent: dict[str, Usage] = {}
    pool: dict[str, Reference] = {}
    rounds: list[Round] = []
    asked: set[str] = set()
    text = f"{SELF_ASK_EXAMPLE}Question: {question}\n{FOLLOW_UPS_NEEDED}"
    said = ""
    for _ in range(STEPS):
        reply = yield from generate(model, Prompt("answer_directly", text, question))
        spend(spent, "answer_directly", reply.usage)
        # What it answers to its own questions is cut off: the retriever's place.
        said = reply.text.partition(INTERMEDIATE)[0].strip()
        follow_up = _FOLLOW_UP.search(said)
        if conclusion(said) is not None or follow_up is None or follow_up.group(1).strip() in asked:
            break
        query = follow_up.group(1).strip()
        asked.add(query)
        found = (yield from call(retriever.retrieve, retriever.aretrieve, query))[:PASSAGES]
        pool |= {each.id: each for each in found if each.id not in pool and len(pool) < CAP}
        rounds.append(round_of(query, found, said))
        best = one_line(found[0].text) if found else "Nothing was found."
        text += f" {said}\n{INTERMEDIATE} {best}\n"
    else:
        reply = yield from generate(model, Prompt("answer_directly", f"{text}{FINAL}", question))
        spend(spent, "answer_directly", reply.usage)
        said = reply.text
    return concluded(question, said, spent, list(pool.values()), rounds)
