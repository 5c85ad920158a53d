"""The baselines that search and weigh: DSP (Khattab et al. 2022) and CoT-RR (He et al. 2022).

DSP, demonstrate-search-predict, is the program for multi-hop questions. CoT-RR, rethinking with
retrieval, asks which reasoning passages bear out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from skr_core.answering import generate
from skr_core.flow import Flow, call, gather
from skr_core.ports import Entailment, EntailmentModel, LanguageModel, Retriever
from skr_core.replies.certainty import conclusion, final_answer
from skr_core.replies.queries import parse_queries
from skr_core.texts import normalise, split_sentences
from skr_core.types import NO_USAGE, Answer, Demonstration, Reference, Round, Usage
from skr_lab.baselines.answering import CAP, PASSAGES, concluded, round_of, spend
from skr_lab.baselines.prompts import HOPS, ask, ask_search
from skr_lab.metrics import Pair, verdicts_of

PATHS = 10
"""Reasonings that are drawn; they differ only where the model's temperature lets them."""
LOOKED_UP = 8
"""Sentences of a reasoning that are looked up at most."""
_WORTH: Mapping[Entailment | None, int] = {"entailment": 1, "contradiction": -1}

Found = Mapping[str, Sequence[Reference]]
Verdicts = Mapping[Pair, Entailment | None]


@dataclass(frozen=True)
class Searched:
    """The references that the hops of a question found, their rounds, and their cost."""

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
        model: The model that names the queries and answers.
        retriever: The retriever that is searched.
        question: The user's question.
        demonstrations: Worked examples, as `demonstrated` annotates them.

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


def cot_rr(
    model: LanguageModel,
    retriever: Retriever,
    entailment: EntailmentModel,
    question: str,
    demonstrations: Sequence[Demonstration],
    *,
    paths: int = PATHS,
) -> Flow[Answer]:
    """Draw several reasonings, look up each of their sentences, and take a weighted vote.

    A reasoning votes for its answer with 1 plus the mean over its sentences of 1 where a passage
    entails the sentence, -1 where one contradicts it and none entails it, and 0 otherwise. Where
    nothing is found it is self-consistency (Wang et al. 2023). He et al. add the similarity of the
    passages to the sentences, which is left out here.

    Args:
        model: The model that reasons.
        retriever: Finds passages for each sentence.
        entailment: Judges whether a passage bears a sentence out.
        question: The user's question.
        demonstrations: Worked examples with reasoning.
        paths: The number of reasonings that are drawn.

    Example:
        >>> from skr_lab.opening import LexicalEntailment
        >>> from skr_core.flow import run
        >>> from skr_core.testing import MappingRetriever, ScriptedModel
        >>> right = "Jaws is by Spielberg. So the answer is Spielberg."
        >>> wrong = "Jaws is by Lucas. So the answer is Lucas."
        >>> known = {"Jaws is by Spielberg.": ["Jaws is a film by Spielberg."]}
        >>> run(cot_rr(ScriptedModel([wrong, right]), MappingRetriever(known),
        ...            LexicalEntailment(), "Whose is Jaws?", (), paths=2)).text
        'Spielberg.'
    """
    prompt = ask(question, demonstrations)
    replies = yield from gather(
        [generate(model, replace(prompt, sample=number)) for number in range(paths)]
    )
    spent = sum((reply.usage for reply in replies), Usage())
    reasonings = [reply.text for reply in replies]
    steps = {each: steps_of(each) for each in reasonings}
    searched = list(dict.fromkeys(step for each in reasonings for step in steps[each]))
    results = yield from gather(
        [call(retriever.retrieve, retriever.aretrieve, step) for step in searched]
    )
    found = {step: each[:PASSAGES] for step, each in zip(searched, results, strict=True)}
    pairs = [(each.text, step) for step in searched for each in found[step]]
    judged = yield from verdicts_of(entailment, pairs)
    verdicts = dict(zip(pairs, judged, strict=True))

    votes: dict[str, float] = defaultdict(float)
    weights = [_weight(steps[each], found, verdicts) for each in reasonings]
    for each, weight in zip(reasonings, weights, strict=True):
        votes[normalise(final_answer(each))] += weight
    elected = max(votes, key=lambda answer: votes[answer])
    # Of those that reach the elected answer, the one that is borne out best is shown.
    shown = max(
        (
            place
            for place, each in enumerate(reasonings)
            if normalise(final_answer(each)) == elected
        ),
        key=lambda place: weights[place],
    )
    reasoning = reasonings[shown]
    given = {each.id: each for step in steps[reasoning] for each in found[step]}
    references = list(given.values())[:CAP]
    ids = tuple(each.id for each in references)
    rounds = (Round(tuple(searched), ids, ids, reasoning),)
    return concluded(question, reasoning, {"answer_directly": spent}, references, rounds)


def steps_of(reasoning: str) -> list[str]:
    """The sentences of a reasoning that can be looked up: not the one that concludes.

    Example:
        >>> steps_of("Paris is a capital. So the answer is Paris.")
        ['Paris is a capital.']
    """
    sentences = list(dict.fromkeys(split_sentences(reasoning)))
    return [each for each in sentences if conclusion(each) is None][:LOOKED_UP]


def _weight(steps: Sequence[str], found: Found, verdicts: Verdicts) -> float:
    """1 plus how well passages bear the steps out, -1 to 1."""
    worth = []
    for step in steps:
        said = [_WORTH.get(verdicts[each.text, step], 0) for each in found[step]]
        worth.append(1 if 1 in said else min(said, default=0))
    return 1.0 + (sum(worth) / len(worth) if worth else 0.0)
