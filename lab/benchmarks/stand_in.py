"""StandIn: one extractive model that answers the prompts of several systems, and counts them.

Each system asks in its own words. The stand-in recognises what is asked for, reads the question
and finds the passages that stand in the prompt, and then does the same for all: it quotes the
sentences that carry the answer, says whether they suffice, and names what is missing by the very
functions of `skr_app.extractive`. Where a prompt holds earlier answers in the place of passages
it reads the sentences that these quote, each with the title of its passage; an answer made of
such answers repeats them all, so that nothing that was found is lost on the way.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from benchmarks.peers import WORDS
from skr_app.extractive import (
    ExtractiveModel,
    choose_quotes,
    content_words,
    follow_up_queries,
    is_sufficient,
    read_sentences,
)
from skr_core.budget import count_tokens
from skr_core.ports import OnToken
from skr_core.prompts.asking import answer_anyway
from skr_core.texts import words
from skr_core.types import Generation, Prompt, Reference

MOST_PARTS = 4
_MARKER = re.compile(r" \[\d+\]")
_EARLIER = re.compile(r"^(?:Sub question|Question): ", re.MULTILINE)
"""A context of earlier answers, as LlamaIndex's engines write it."""


@dataclass
class Spent:
    """Of one question."""

    searches: int = 0
    calls: int = 0
    sent: int = 0
    received: int = 0


class StandIn:
    """The model and the search of all systems.

    Args:
        search: From a query to references, best first.

    Attributes:
        name: Of the model.
        spent: On the question that was begun last.
    """

    name = "extractive"

    def __init__(self, search: Callable[[str], list[Reference]]) -> None:
        self._search = search
        self._model = ExtractiveModel()
        self.begin()

    def begin(self) -> None:
        """Forget the question before."""
        self.spent = Spent()
        self._found: dict[str, Reference] = {}
        self._quoted: dict[str, Reference] = {}

    def retrieve(self, query: str) -> list[Reference]:
        """What is found, for any system."""
        self.spent.searches += 1
        found = self._search(query)
        self._found.update({each.text.strip(): each for each in found})
        return found

    async def aretrieve(self, query: str) -> list[Reference]:
        """The same."""
        return self.retrieve(query)

    def generate(self, prompt: Prompt, *, on_token: OnToken | None = None) -> Generation:
        """Our own prompts, whose parts the extractive model knows."""
        reply = self._model.generate(prompt, on_token=on_token)
        turns = [prompt.system, *prompt.history, prompt.text]
        self._count(turns, reply.text)
        return reply

    async def agenerate(self, prompt: Prompt, *, on_token: OnToken | None = None) -> Generation:
        """The same."""
        return self.generate(prompt, on_token=on_token)

    def reply(self, *told: str) -> str:
        """The prompts of others.

        Args:
            told: The messages of a request, of which the last one asks.

        Raises:
            ValueError: They ask for nothing that is known.
        """
        said = self._said(told[-1])
        self._count(told, said)
        return said

    def _count(self, told: Iterable[str], said: str) -> None:
        self.spent.calls += 1
        self.spent.sent += sum(count_tokens(each).tokens for each in told)
        self.spent.received += count_tokens(said).tokens

    def _said(self, asked: str) -> str:
        if "The original question is as follows" in asked:
            return self._next_step(asked)
        if "<User Question>" in asked:
            return self._plan(_between(asked, "<User Question>\n", "\n\n<Output>").strip())
        if asked.startswith("Context information is below."):
            context, _, query = asked.rpartition("\nQuery: ")
            return self._answer(query.removesuffix("\nAnswer: "), context)
        for kind, template in WORDS.items():
            if asked.startswith(template.partition("\n\n")[0]):
                rest, _, question = asked.rpartition("\n\nQuestion: ")
                return self._graded(kind, question, rest.partition("\n\n")[2])
        raise ValueError(f"nobody knows how to answer {asked[:200]!r}")

    def _next_step(self, asked: str) -> str:
        """MultiStepQueryEngine: the next query, or None where the answers so far suffice."""
        last = asked[asked.rindex("\nQuestion: ") :]
        question = _between(last, "\nQuestion: ", "\nKnowledge source context: ")
        before = last.rpartition("\nPrevious reasoning: ")[2].removesuffix("\nNew question: ")
        past = [line[2:].strip() for line in before.splitlines() if line.startswith("- ")]
        if not past:
            return question  # nothing has been read, so there is nothing better to ask
        references = _standing(self._quoted, before)
        if _suffices(question, references):
            return "None"
        return next(iter(follow_up_queries(question, references, past, 1)), "None")

    def _plan(self, question: str) -> str:
        """SubQuestionQueryEngine: a part for each name in the question, where it has several."""
        parts = follow_up_queries(question, [], (), MOST_PARTS)
        parts = parts if len(parts) > 1 else [question]
        items = [{"sub_question": part, "tool_name": "library"} for part in parts]
        return f"```json\n{json.dumps({'items': items}, ensure_ascii=False)}\n```"

    def _graded(self, kind: str, question: str, rest: str) -> str:
        """The prompts of the adaptive-RAG graph."""
        if kind == "route":
            return "vectorstore"
        if kind == "answer":
            return self._answer(question, rest)
        if kind == "rewrite":
            better = follow_up_queries(question, [], [question], 1)
            return better[0] if better else " ".join(content_words(question))
        if kind == "grade":
            shared = set(content_words(question)) & set(words(rest))
        elif kind == "answers":
            return "yes" if _suffices(question, _standing(self._quoted, rest)) else "no"
        else:  # grounded: it quotes, and nothing else
            return "yes"
        return "yes" if shared else "no"

    def _answer(self, question: str, context: str) -> str:
        if _EARLIER.search(context) and (quotes := _standing(self._quoted, context)):
            return " ".join(f"{each.title}: {each.text}" for each in quotes)
        references = _standing(self._found, context)
        said = self._model.generate(answer_anyway(question, references)).text
        for sentence in read_sentences(references):
            if sentence.text in said:
                title = references[sentence.number - 1].title
                self._quoted[sentence.text] = Reference.of(sentence.text, title)
        return _MARKER.sub("", said)


def _standing(known: dict[str, Reference], text: str) -> list[Reference]:
    """Those of the known that stand in a text, in their order."""
    return [known[each] for each in sorted(filter(text.__contains__, known), key=text.index)]


def _suffices(question: str, references: list[Reference]) -> bool:
    return is_sufficient(question, references, choose_quotes(question, references))


def _between(text: str, before: str, behind: str) -> str:
    """What stands behind the last of one and before the next of the other."""
    return text.rpartition(before)[2].partition(behind)[0]
