"""LangSmith's own `evaluate` and `aevaluate` over our systems and metrics; nothing is sent."""

from __future__ import annotations

from uuid import uuid4

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import RunnableLambda
from langsmith import Client, aevaluate, evaluate
from langsmith.schemas import Example

from langchain_skr import create_skr_chain
from skr_core import read_questions
from skr_core.errors import InputError
from skr_learn.langsmith import atarget, evaluator, target

pytestmark = [
    pytest.mark.filterwarnings("ignore:'upload_results' parameter"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
EXAMPLES = [
    Example(id=uuid4(), inputs={"question": asked}, outputs={"answer": right})
    for asked, right in (("Who wrote Emma?", "Austen"), ("Who wrote Ulysses?", "Joyce"))
]


@pytest.fixture
def client() -> Client:
    return Client(api_key="none", auto_batch_tracing=False, tracing_sampling_rate=0.0)


@pytest.fixture
def chain():
    found = RunnableLambda(lambda query: [Document("Austen wrote it.")])
    return create_skr_chain(FakeListChatModel(responses=["SUFFICIENT\nAusten [1]."]), found)


def test_evaluate(chain, client: Client):
    results = evaluate(
        target(chain),
        data=EXAMPLES,
        evaluators=[evaluator(), evaluator(lambda answer, question: len(answer.references))],
        upload_results=False,
        client=client,
    )
    frame = results.to_pandas()
    assert sorted(frame["feedback.accuracy"]) == [0.0, 1.0]
    assert list(frame["outputs.contexts"]) == [["Austen wrote it."]] * 2
    assert set(frame["outputs.calls"]) == {1}
    of_frame = {each.id: each for each in read_questions(frame)}
    assert of_frame == {each.id: each for each in read_questions(EXAMPLES)}
    assert read_questions(results) == list(of_frame.values())


async def test_aevaluate(chain, client: Client):
    results = await aevaluate(
        atarget(chain),
        data=EXAMPLES,
        evaluators=[evaluator("contains")],
        upload_results=False,
        client=client,
    )
    scores = [row["evaluation_results"]["results"][0].score async for row in results]
    assert sorted(scores) == [0.0, 1.0]


def test_what_is_no_system_or_metric_is_refused():
    with pytest.raises(InputError, match="cannot be asked"):
        target(object())
    with pytest.raises(InputError, match="no metric 'accurate'"):
        evaluator("accurate")  # type: ignore[arg-type]
