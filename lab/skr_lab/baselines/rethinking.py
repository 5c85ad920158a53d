"""CoT-RR, rethinking with retrieval (He et al. 2022): which reasoning do passages bear out?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from skr_core.answering import generate
from skr_core.flow import Flow, call, gather
from skr_core.ports import Entailment, EntailmentModel, LanguageModel, Retriever
from skr_core.replies.certainty import conclusion, final_answer
from skr_core.texts import normalise, split_sentences
from skr_core.types import Answer, Demonstration, Reference, Round, Usage
from skr_lab.baselines.parts import concluded
from skr_lab.baselines.retrieving import CAP, PASSAGES
from skr_lab.prompts.baselines import ask
from skr_learn.metrics.claims import Pair, verdicts_of

PATHS = 10
"""Reasonings that are drawn; they differ only where the model's temperature lets them."""
STEPS = 8
"""Sentences of a reasoning that are looked up at most."""
_WORTH: Mapping[Entailment | None, int] = {"entailment": 1, "contradiction": -1}

Found = Mapping[str, Sequence[Reference]]
Verdicts = Mapping[Pair, Entailment | None]


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
        model: Reasons.
        retriever: Finds passages for each sentence.
        entailment: Judges whether a passage bears a sentence out.
        question: The user's question.
        demonstrations: With reasoning.
        paths: Reasonings that are drawn.

    Example:
        >>> from skr_core.reflectors import LexicalEntailment
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
    # Of those that reach the elected answer, the one that is borne out best is told.
    told = max(
        (
            place
            for place, each in enumerate(reasonings)
            if normalise(final_answer(each)) == elected
        ),
        key=lambda place: weights[place],
    )
    reasoning = reasonings[told]
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
    return [each for each in sentences if conclusion(each) is None][:STEPS]


def _weight(steps: Sequence[str], found: Found, verdicts: Verdicts) -> float:
    """1 plus how well passages bear the steps out, -1 to 1."""
    worth = []
    for step in steps:
        said = [_WORTH.get(verdicts[each.text, step], 0) for each in found[step]]
        worth.append(1 if 1 in said else min(said, default=0))
    return 1.0 + (sum(worth) / len(worth) if worth else 0.0)
