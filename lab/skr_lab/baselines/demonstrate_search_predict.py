"""DSP, demonstrate-search-predict (Khattab et al. 2022), in its program for multi-hop questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from skr_core.answering import generate
from skr_core.flow import Flow, call, gather
from skr_core.ports import LanguageModel, Retriever
from skr_core.replies.queries import parse_queries
from skr_core.types import NO_USAGE, Answer, Demonstration, Reference, Round, Usage
from skr_lab.baselines.parts import concluded, round_of, spend
from skr_lab.baselines.retrieving import CAP, PASSAGES
from skr_lab.prompts.baselines import HOPS, ask, ask_search


@dataclass(frozen=True)
class Searched:
    """What the hops of a question found."""

    references: tuple[Reference, ...]
    rounds: tuple[Round, ...]
    usage: Usage


def search(model: LanguageModel, retriever: Retriever, question: str) -> Flow[Searched]:
    """Two hops: a query for what to find out first, and one for what is missing after reading it.

    A reply without a query searches the question itself; a query that was asked already ends it.
    """
    pool: dict[str, Reference] = {}
    rounds: list[Round] = []
    asked: list[str] = []
    spent = NO_USAGE
    for lead in HOPS:
        reply = yield from generate(model, ask_search(question, list(pool.values()), lead))
        spent += reply.usage
        query = next(iter(parse_queries(reply.text, 1)), question)
        if query in asked:
            break
        asked.append(query)
        found = (yield from call(retriever.retrieve, retriever.aretrieve, query))[:PASSAGES]
        pool |= {each.id: each for each in found if each.id not in pool and len(pool) < CAP}
        rounds.append(round_of(query, found, reply.text))
    return Searched(tuple(pool.values()), tuple(rounds), spent)


def demonstrated(
    model: LanguageModel, retriever: Retriever, demonstrations: Sequence[Demonstration]
) -> Flow[tuple[list[Demonstration], Usage]]:
    """The demonstrate stage: each example with the passages that the same hops find for it.

    Returns:
        The examples, those that have passages already as they are, and what searching cost.
    """
    bare = [each for each in demonstrations if not each.references]
    found = yield from gather([search(model, retriever, each.question) for each in bare])
    texts = {
        each.question: tuple(reference.text for reference in hops.references)
        for each, hops in zip(bare, found, strict=True)
    }
    annotated = [
        each if each.references else replace(each, references=texts[each.question])
        for each in demonstrations
    ]
    return annotated, sum((each.usage for each in found), NO_USAGE)


def dsp(
    model: LanguageModel,
    retriever: Retriever,
    question: str,
    demonstrations: Sequence[Demonstration],
) -> Flow[Answer]:
    """Search in two hops, then predict from what both found, after the annotated examples.

    The original votes over twenty predictions and learns its demonstrations from training
    questions; here it predicts once, after those that are given.

    Args:
        model: Names the queries and answers.
        retriever: Searched.
        question: The user's question.
        demonstrations: As `demonstrated` annotates them.

    Example:
        >>> from skr_core.flow import run
        >>> from skr_core.testing import MappingRetriever, ScriptedModel
        >>> retriever = MappingRetriever({"director of Jaws": ["Jaws is by Spielberg."],
        ...                               "Spielberg's birthplace": ["He was born in Ohio."]})
        >>> model = ScriptedModel(["Search query: director of Jaws",
        ...     "Search query: Spielberg's birthplace", "So the answer is Ohio."])
        >>> answer = run(dsp(model, retriever, "Where was the director of Jaws born?", ()))
        >>> answer.text, len(answer.rounds)
        ('Ohio.', 2)
    """
    spent: dict[str, Usage] = {}
    hops = yield from search(model, retriever, question)
    spend(spent, "self_complete", hops.usage)
    reply = yield from generate(model, ask(question, demonstrations, hops.references))
    spend(spent, "answer_with_references", reply.usage)
    return concluded(question, reply.text, spent, hops.references, hops.rounds)
