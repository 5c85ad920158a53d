"""The baselines that ask and search in the simplest ways (SKR Tables 1 and 5), and what all share.

Without retrieval: zero-shot, few-shot, their chains of thought, Recite-and-Answer. With retrieval:
CoT-IR, IRCoT and Self-Ask.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

from skr_core.answering import answer_directly, answer_with_references, generate
from skr_core.flow import Flow, arun, call, run
from skr_core.ports import LanguageModel, Retriever
from skr_core.prompts.templates import PromptTemplates
from skr_core.references.citations import resolve_citations
from skr_core.references.passages import one_line
from skr_core.replies.certainty import conclusion, final_answer
from skr_core.texts import split_sentences
from skr_core.types import (
    Action,
    Answer,
    Decision,
    Demonstration,
    Prompt,
    Reference,
    Round,
    Usage,
)
from skr_lab.baselines.prompts import (
    ANSWER_LEAD,
    FINAL,
    FOLLOW_UP,
    FOLLOW_UPS_NEEDED,
    INTERMEDIATE,
    SELF_ASK_EXAMPLE,
    STEP_BY_STEP,
    ask,
    ask_after_reciting,
    ask_recitation,
)

PASSAGES = 3
"""Passages of a search (SKR §4.2)."""
STEPS = 6
"""Reasoning sentences or follow-up questions at most."""
CAP = 10
"""References in a prompt at most, as everywhere in this project."""

_FOLLOW_UP = re.compile(rf"{re.escape(FOLLOW_UP)}\s*(.+)", re.IGNORECASE)

AnswerFlow = Callable[[str], Flow[Answer]]

T = TypeVar("T")


class FlowAnswerer:
    """A flow from question to answer as a `QuestionAnswerer`.

    Example:
        >>> from skr_core.testing import ScriptedModel
        >>> from skr_lab.baselines.answering import zero_shot
        >>> model = ScriptedModel(["Paris"])
        >>> FlowAnswerer(lambda question: zero_shot(model, question)).answer("Capital?").text
        'Paris'
    """

    def __init__(self, flow: AnswerFlow) -> None:
        self._flow = flow

    def answer(self, question: str, action: Action | None = None) -> Answer:
        """Answer with blocking calls; a baseline decides nothing, so no action changes it."""
        return run(self._flow(question))

    async def aanswer(self, question: str, action: Action | None = None) -> Answer:
        """Answer with awaited calls."""
        return await arun(self._flow(question))


class Once(Generic[T]):
    """Runs a flow the first time its value is wanted, and hands the value out afterwards.

    Questions that are asked at the same time wait for one another; a flow that fails is run again.

    Args:
        flow: Makes a flow that has the value.

    Example:
        >>> def flow():
        ...     yield from ()
        ...     return "made"
        >>> once = Once(flow)
        >>> run(once.value()), run(once.value())
        (('made', True), ('made', False))
    """

    def __init__(self, flow: Callable[[], Flow[T]]) -> None:
        self._flow = flow
        self._made: list[T] = []
        self._lock = threading.Lock()
        self._awaited: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None

    def value(self) -> Flow[tuple[T, bool]]:
        """The value, and whether it was made just now."""
        if self._made:
            return self._made[0], False
        return (yield from call(self._make, self._amake))

    def _make(self) -> tuple[T, bool]:
        with self._lock:
            if self._made:
                return self._made[0], False
            self._made.append(run(self._flow()))
            return self._made[0], True

    async def _amake(self) -> tuple[T, bool]:
        loop = asyncio.get_running_loop()
        if self._awaited is None or self._awaited[0] is not loop:
            self._awaited = loop, asyncio.Lock()
        async with self._awaited[1]:
            if self._made:
                return self._made[0], False
            self._made.append(await arun(self._flow()))
            return self._made[0], True


def concluded(
    question: str,
    reasoning: str,
    usage: Mapping[str, Usage],
    references: Sequence[Reference] = (),
    rounds: Sequence[Round] = (),
) -> Answer:
    """An answer from a finished reasoning; its citations name the references."""
    return answered(question, final_answer(reasoning), usage, references, rounds)


def answered(
    question: str,
    text: str,
    usage: Mapping[str, Usage],
    references: Sequence[Reference] = (),
    rounds: Sequence[Round] = (),
) -> Answer:
    """An answer in these words; its citations name the references."""
    cited = resolve_citations(text, references)
    return Answer(
        question=question,
        text=cited.text,
        citations=cited.citations,
        references=tuple(references),
        decision=Decision(bool(rounds), reason="a baseline decides nothing"),
        rounds=tuple(rounds),
        stop_reason="sufficient" if rounds else "known",
        usage=usage,
        removed_markers=cited.removed,
    )


def round_of(query: str, found: Sequence[Reference], draft: str = "") -> Round:
    """One search as a round."""
    ids = tuple(each.id for each in found)
    return Round((query,), ids, ids, draft)


def spend(spent: dict[str, Usage], task: str, usage: Usage) -> None:
    """Add what a call cost to what a task has cost."""
    spent[task] = spent.get(task, Usage()) + usage


def zero_shot(
    model: LanguageModel, question: str, templates: PromptTemplates | None = None
) -> Flow[Answer]:
    """The question alone."""
    return (yield from few_shot(model, question, (), templates))


def few_shot(
    model: LanguageModel,
    question: str,
    demonstrations: Sequence[Demonstration],
    templates: PromptTemplates | None = None,
) -> Flow[Answer]:
    """The question after worked examples.

    With short answers this is Few-Shot; with reasoning that ends in "the answer is" it is
    Manual-CoT (Wei et al. 2022), and with reasoning by the model itself Auto-CoT.

    Args:
        model: The model that answers.
        question: The user's question.
        demonstrations: Worked examples.
        templates: The templates of a run, in place of the papers' own.

    Example:
        >>> from skr_core.flow import run
        >>> from skr_core.testing import ScriptedModel
        >>> model = ScriptedModel(["It is the capital. So the answer is Paris."])
        >>> run(few_shot(model, "Largest city of France?", [])).text
        'Paris.'
    """
    if templates is None:
        reply = yield from generate(model, ask(question, demonstrations))
        return concluded(question, reply.text, {"answer_directly": reply.usage})
    reply = yield from answer_directly(model, question, demonstrations, templates=templates)
    return answered(question, reply.text, {"answer_directly": reply.usage})


def zero_shot_cot(model: LanguageModel, question: str) -> Flow[Answer]:
    """Let it think, then ask for the answer (Kojima et al. 2022): two calls."""
    spent: dict[str, Usage] = {}
    thought = yield from generate(model, ask(question, lead=STEP_BY_STEP))
    spend(spent, "answer_directly", thought.usage)
    lead = f"{STEP_BY_STEP} {thought.text.strip()}\n{ANSWER_LEAD}"
    reply = yield from generate(model, ask(question, lead=lead))
    spend(spent, "answer_directly", reply.usage)
    return concluded(question, reply.text, spent)


def recite_and_answer(
    model: LanguageModel, question: str, demonstrations: Sequence[Demonstration]
) -> Flow[Answer]:
    """Recite a passage from memory, then answer from it (Sun et al. 2022): two calls."""
    spent: dict[str, Usage] = {}
    passage = yield from generate(model, ask_recitation(question, demonstrations))
    spend(spent, "recite", passage.usage)
    prompt = ask_after_reciting(question, passage.text, demonstrations)
    reply = yield from generate(model, prompt)
    spend(spent, "answer_directly", reply.usage)
    return concluded(question, reply.text, spent)


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
    if templates is None:
        reply = yield from generate(model, ask(question, demonstrations, found))
        said = final_answer(reply.text)
    else:
        reply = yield from answer_with_references(
            model, question, found, demonstrations, templates=templates
        )
        said = reply.text
    rounds = (round_of(question, found, reply.text),)
    return answered(question, said, {"answer_with_references": reply.usage}, found, rounds)


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
