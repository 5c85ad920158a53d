"""create_skr_chain(return_sources=True): the shape of create_retrieval_chain, in every way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import Runnable, RunnableLambda, RunnablePassthrough

from langchain_skr import create_skr_chain
from skr_core.errors import InputError
from skr_core.prompts import QUERY_LEAD, REFUSAL
from skr_core.prompts.papers import RALLM_TEMPLATES
from skr_core.replies import say_partial
from skr_core.routers import NeverRetrieve
from tests.langchain_skr.fakes import ANSWER, FOUND, FURTHER, QUESTION, Library, stating_model

Say = Callable[..., Awaitable[dict[str, Any]]]
CONTEXT = [*FOUND[QUESTION], *FOUND[FURTHER]]
LAST = [
    *("citations", "stop_reason", "grounded", "sufficient", "missing", "chance"),
    *("decision", "rounds", "usage", "run_id"),
]
MADE = ["context", "answer", *LAST]


def added(pieces: Sequence[dict[str, Any]]) -> dict[str, Any]:
    whole: Any = pieces[0]
    for piece in pieces[1:]:
        whole = whole + piece
    return dict(whole)


async def pieces_of(chain: Runnable[Any, Any], question: Any, mode: str) -> list[Any]:
    if mode == "sync":
        return await asyncio.to_thread(lambda: list(chain.stream(question)))
    return [piece async for piece in chain.astream(question)]


@pytest.fixture(params=["invoke", "ainvoke", "stream", "astream", "batch", "abatch", "transform"])
def say(request: pytest.FixtureRequest) -> Say:
    """Each way to ask a chain, all of which give the same."""

    async def say(chain: Runnable[Any, Any], question: Any) -> Any:
        in_thread = asyncio.to_thread
        if request.param == "invoke":
            return await in_thread(chain.invoke, question)
        if request.param == "ainvoke":
            return await chain.ainvoke(question)
        if request.param == "stream":
            return added(await pieces_of(chain, question, "sync"))
        if request.param == "astream":
            return added(await pieces_of(chain, question, "async"))
        if request.param == "batch":
            return (await in_thread(chain.batch, [question]))[0]
        if request.param == "abatch":
            return (await chain.abatch([question]))[0]
        return await in_thread(lambda: added(list(chain.transform(iter([question])))))

    return say


async def test_every_way_gives_the_same_answer_with_its_sources(say: Say) -> None:
    answer = await say(create_skr_chain(stating_model(), Library(), return_sources=True), QUESTION)
    assert list(answer) == ["question", *MADE]
    assert (answer["question"], answer["answer"]) == (QUESTION, ANSWER)
    assert all(isinstance(each, Document) for each in answer["context"])
    assert sorted(each.page_content for each in answer["context"]) == sorted(CONTEXT)
    assert (answer["stop_reason"], answer["grounded"]) == ("sufficient", True)
    (citation,) = answer["citations"]
    assert (citation["marker"], citation["reference_id"]) == (1, "own-0")
    assert answer["context"][0].id == "own-0"


@pytest.mark.parametrize("key", ["question", "input"])
async def test_what_was_asked_with_comes_back(say: Say, key: str) -> None:
    chain = create_skr_chain(stating_model(), Library(), return_sources=True)
    answer = await say(chain, {key: QUESTION})
    assert list(answer)[:2] == [key, "context"]
    assert (answer[key], answer["answer"]) == (QUESTION, ANSWER)
    with pytest.raises(InputError, match="the chain takes a string"):
        await say(chain, {key: 5})


async def test_other_keys_come_back_and_what_it_makes_is_its_own(say: Say) -> None:
    chain = create_skr_chain(stating_model(), Library(), return_sources=True)
    answer = await say(chain, {"input": QUESTION, "lang": "en", "answer": "none", "context": []})
    assert (answer["lang"], answer["answer"]) == ("en", ANSWER)
    assert sorted(each.page_content for each in answer["context"]) == sorted(CONTEXT)


async def test_a_known_question_has_no_context(say: Say) -> None:
    known = create_skr_chain(
        FakeListChatModel(responses=["In Port Elm."]),
        Library(),
        router=NeverRetrieve(),
        return_sources=True,
    )
    answer = await say(known, QUESTION)
    assert (answer["context"], answer["citations"]) == ([], [])
    assert (answer["stop_reason"], answer["grounded"]) == ("known", False)


async def test_where_a_draft_is_taken_back_the_pieces_still_add_up(say: Say) -> None:
    def chain() -> Any:
        late = f"Ada Quill built it [1]. But {REFUSAL}."
        return create_skr_chain(
            FakeListChatModel(responses=[late, f"{QUERY_LEAD} {FURTHER}", ANSWER]),
            Library(),
            return_sources=True,
            templates=RALLM_TEMPLATES,
        )

    said, awaited = await say(chain(), QUESTION), await chain().ainvoke(QUESTION)
    assert said == {**awaited, "run_id": said["run_id"]}
    assert {"retract": True} in list(chain().stream(QUESTION))


async def test_an_answer_of_an_earlier_draft_comes_with_what_that_was_given(say: Say) -> None:
    replies = ["INSUFFICIENT\nAda Quill built it [1].\nSearch: " + FURTHER, f"{REFUSAL}."]
    chain = create_skr_chain(
        FakeListChatModel(responses=replies),
        Library(),
        return_sources=True,
        budget={"max_rounds": 2},
    )
    answer = await say(chain, QUESTION)
    assert answer["answer"] == say_partial(QUESTION, "Ada Quill built it [1].")
    assert [each.page_content for each in answer["context"]] == FOUND[QUESTION]


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_the_context_comes_before_the_first_word_and_words_come_as_they_are_made(
    mode: str,
) -> None:
    chain = create_skr_chain(stating_model(), Library(), return_sources=True)
    asked, context, *words, last = await pieces_of(chain, QUESTION, mode)
    assert asked == {"question": QUESTION}
    assert list(context) == ["context"]
    assert len(words) > 5
    assert {tuple(word) for word in words} == {("answer",)}
    assert sorted(last) == sorted(LAST)


async def test_it_stands_in_a_pipe(say: Say) -> None:
    chain = create_skr_chain(stating_model(), Library(), return_sources=True)
    piped: Any = {"input": RunnablePassthrough()} | chain
    assert (await say(piped, QUESTION))["input"] == QUESTION
    counted: Any = chain | RunnableLambda(lambda answer: {"n": len(answer["context"])})
    assert await say(counted, QUESTION) == {"n": len(CONTEXT)}


async def test_the_answer_alone_can_be_picked_also_as_it_comes() -> None:
    def answers() -> Any:
        return create_skr_chain(stating_model(), Library(), return_sources=True).pick("answer")

    assert len(list(answers().stream(QUESTION))) > 5
    assert "".join([piece async for piece in answers().astream(QUESTION)]) == ANSWER
    assert await answers().ainvoke(QUESTION) == ANSWER


def test_its_schema_names_what_it_gives() -> None:
    chain = create_skr_chain(stating_model(), Library(), return_sources=True)
    schema = chain.get_output_jsonschema()
    shape = schema["$defs"]["AnswerWithSources"]
    assert shape["required"] == MADE


async def test_a_source_that_is_found_elsewhere_later_says_so(say: Say) -> None:
    found = {
        QUESTION: [Document("Wash by hand.", metadata={"page": 1})],
        FURTHER: [Document("Wash by hand.", metadata={"page": 2}), Document("Dry it.")],
    }
    search = RunnableLambda(lambda query: found.get(query, []))
    chain = create_skr_chain(stating_model(), search, return_sources=True)
    first, _ = (await say(chain, QUESTION))["context"]
    assert first.metadata == {"page": 1, "also_in": [{"id": None, "page": 2}]}
