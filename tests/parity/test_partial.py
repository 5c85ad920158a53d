"""What the references answer in part, or not at all, is never served as the answer."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from langchain_skr import create_skr_chain, create_skr_graph, create_skr_tool
from llamaindex_skr import SKRChatEngine, SKRQueryEngine
from skr_core import Generation, Prompt, PromptTemplates, Reference
from skr_core.budget import estimate_usage
from skr_core.replies import say_partial
from skr_core.replies.refusals import is_refusal
from skr_graphs import answer_of

ASKED = ("salary", "birthplace", "wife", "height", "creed")
MISSING = "Not in the passages"


class Keepers:
    """A retriever that always finds who the first keeper of a tower was, and no more."""

    name = "keepers"

    def retrieve(self, query: str) -> list[Reference]:
        (number,) = re.findall(r"tower (\d+)", query) or ["0"]
        return [Reference.of(f"The first keeper of tower {number} was Malachy Orr {number}.")]

    async def aretrieve(self, query: str) -> list[Reference]:
        return self.retrieve(query)


class Reader:
    """A model that says what the passages say beside the point, in one of eight manners."""

    name = "reader"

    def __init__(self, manner: int) -> None:
        self.manner = manner

    def generate(self, prompt: Prompt, *, on_token: Any = None) -> Generation:
        (number, what) = re.findall(r"tower (\d+)'s keeper's (\w+)", prompt.question)[0]
        side = f"The first keeper of tower {number} was Malachy Orr {number}"
        said = (
            f"INSUFFICIENT\n{side} [1].\nMissing: the keeper's {what}\nSearch: Orr {what}",
            f"INSUFFICIENT\n{side}.\nMissing: the keeper's {what}\nSearch: Orr {what}",
            f"INSUFFICIENT\n{side} [1].\nSearch: Orr {what}",
            f"INSUFFICIENT\nMissing: the keeper's {what}\nSearch: Orr {what}",
            f"{side} [1]. The references do not mention his {what}.",
            f"UNZUREICHEND\n{side} [1].\nEs fehlt: the keeper's {what}\nSearch: Orr {what}",
            f"<think>Is his {what} here? No.</think>**INSUFFICIENT**\n\n{side} [1].",
            '{"verdict": "INSUFFICIENT", "answer": "' + side + '", "missing": "his ' + what + '"}',
        )[self.manner]
        if prompt.task == "self_complete":
            said = f"I further need to ask the search engine: {what} of the keeper"
        return Generation(said, estimate_usage(prompt, said))

    async def agenerate(self, prompt: Prompt, *, on_token: Any = None) -> Generation:
        return self.generate(prompt, on_token=on_token)


def names_the_gap(text: str) -> bool:
    opening = text.split("\n\n")[0]
    return opening.startswith(say_partial("?", "", "")[:40]) or is_refusal(text)


@pytest.mark.parametrize("what", ASKED)
@pytest.mark.parametrize("manner", range(8))
def test_no_side_fact_is_served_as_an_answer(manner: int, what: str):
    """Five questions in eight manners: forty in all."""
    graph = create_skr_graph(Reader(manner), Keepers())
    answer = answer_of(graph.invoke({"question": f"What is tower {manner}'s keeper's {what}?"}))
    assert (answer.sufficient, answer.grounded) == (False, False)
    assert "UNZUREICHEND" not in answer.text
    if manner != 4:  # which names the gap in its own words
        assert names_the_gap(answer.text)
    assert what in answer.text or manner in (2, 6)


QUESTION = "What is tower 7's keeper's salary?"
PART = "The first keeper of tower 7 was Malachy Orr 7 [1]."
SERVED = say_partial(QUESTION, PART, "the keeper's salary")


@pytest.mark.parametrize("is_async", [False, True])
def test_a_part_says_so_through_every_door(is_async: bool):
    model, found = Reader(0), Keepers()

    def ask(verb: str, part: Any, *given: Any) -> Any:
        if not is_async:
            return getattr(part, verb)(*given)
        return asyncio.run(getattr(part, f"a{verb}")(*given))

    chain = create_skr_chain(model, found)
    assert ask("invoke", chain, QUESTION) == SERVED
    sourced = ask("invoke", create_skr_chain(model, found, return_sources=True), QUESTION)
    assert (sourced["answer"], sourced["grounded"]) == (SERVED, False)
    assert (sourced["sufficient"], sourced["missing"]) == (False, "the keeper's salary")
    call = {"name": "t", "args": {"question": QUESTION}, "id": "1", "type": "tool_call"}
    message = ask("invoke", create_skr_tool(model, found, name="t"), call)
    assert message.content.startswith(SERVED)
    assert message.artifact["sufficient"] is False
    engine = SKRQueryEngine.from_defaults(found, llm=model)
    response = ask("query", engine, QUESTION)
    assert (str(response), response.metadata["sufficient"]) == (SERVED, False)
    assert response.metadata["missing"] == "the keeper's salary"
    chat = SKRChatEngine.from_defaults(found, llm=model)
    assert ask("chat", chat, QUESTION).response == SERVED
    assert chat.chat_history[-1].content == SERVED


def test_a_stream_shows_the_same():
    chain = create_skr_chain(Reader(0), Keepers())
    assert "".join(chain.stream(QUESTION)) == SERVED
    engine = SKRQueryEngine.from_defaults(Keepers(), llm=Reader(0), streaming=True)
    assert "".join(engine.query(QUESTION).response_gen) == SERVED


WORDS = PromptTemplates(
    answer_with_references="Context:\n{references}\nGiven the context, answer: {question}\nAnswer: "
)


class Forgetful(Reader):
    """A model that answers with neither verdict nor marker, whatever it is asked."""

    def generate(self, prompt: Prompt, *, on_token: Any = None) -> Generation:
        self.asked = [*getattr(self, "asked", []), prompt]
        said = "Malachy Orr it was."
        if on_token is not None:
            for piece in ("Malachy ", "Orr it", " was."):
                on_token(piece)
        return Generation(said, estimate_usage(prompt, said))


class Watched(Keepers):
    def __init__(self) -> None:
        self.queries: list[str] = []

    def retrieve(self, query: str) -> list[Reference]:
        self.queries.append(query)
        return super().retrieve(query)


def test_one_s_own_words_are_streamed_once_and_no_answer_is_searched():
    model, found = Forgetful(0), Watched()
    graph = create_skr_graph(model, found, templates=WORDS)
    events = list(graph.stream({"question": QUESTION}, stream_mode="custom"))
    tokens = [each["text"] for each in events if each["type"] == "token"]
    assert "".join(tokens) == "Malachy Orr it was."
    assert not [each for each in events if each["type"] == "retract"]
    assert found.queries == [QUESTION]
    first = model.asked[0].text
    assert "\n\nContext:\n[1]" in first
    assert first.endswith("Verdict:")


def test_one_s_own_words_keep_the_loop():
    """What the library asks for stands around them: verdict, what is missing, queries."""
    graph = create_skr_graph(Reader(0), Keepers(), templates=WORDS)
    output = graph.invoke({"question": QUESTION})
    assert output["rounds"][1]["queries"] == ["Orr salary"]
    assert (output["answer"], output["stop_reason"]) == (SERVED, "no_new_queries")
