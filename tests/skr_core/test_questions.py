"""Questions are read, and broken lines named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from skr_core import Question, read_questions
from skr_core.errors import DataError, InputError
from skr_core.questions import Context


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "questions.jsonl"


def write(path: Path, *rows: Any) -> None:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


@pytest.mark.parametrize(
    ("row", "question"),
    [
        ({"question": " Who? "}, Question("1", "Who?", ())),
        ({"question": "Who?", "answers": ["Ada", "A."]}, Question("1", "Who?", ("Ada", "A."))),
        ({"question": "Who?", "gold": ["Ada"]}, Question("1", "Who?", ("Ada",))),
        ({"question": "Who?", "answer": "Ada"}, Question("1", "Who?", ("Ada",))),
        ({"question": "Who?", "answers": None, "answer": "Ada"}, Question("1", "Who?", ("Ada",))),
        ({"question": "Who?", "id": 7}, Question("7", "Who?", ())),
        ({"question": "When?", "answer": 1914}, Question("1", "When?", ("1914",))),
        (
            {"question": "Who?", "supporting_titles": ["Jaws"]},
            Question("1", "Who?", (), ("Jaws",)),
        ),
        ({"question": "Who?", "supporting_titles": "Jaws"}, Question("1", "Who?", (), ("Jaws",))),
        (
            {"question": "Who?", "history": [{"role": "user", "content": "Hi"}, ["ai", "Yes?"]]},
            Question("1", "Who?", (), history=(("user", "Hi"), ("ai", "Yes?"))),
        ),
        (
            {"question": "Who?", "config": {"configurable": {"tenant": "a"}}},
            Question("1", "Who?", (), config={"configurable": {"tenant": "a"}}),
        ),
        ({"question": "Who?", "config": "distractor"}, Question("1", "Who?", ())),
    ],
)
def test_rows(path: Path, row: dict[str, Any], question: Question):
    write(path, row)
    assert read_questions(path) == [question]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({}, 'the field "question" is missing or empty'),
        ({"question": "  "}, 'the field "question" is missing or empty'),
        ({"question": 3}, 'the field "question" is missing or empty'),
        ({"question": "Who?", "answers": [True]}, "must be texts"),
        ({"question": "Who?", "answer": [["Ada"]]}, "must be texts"),
        ({"question": "Who?", "answers": {"a": 1}}, "must be texts"),
        ({"question": "Who?", "supporting_titles": [None]}, "must be texts"),
        ({"question": "Who?", "supporting_titles": 3}, "must be texts"),
        ([], "not a JSON object"),
    ],
)
def test_broken_rows_are_named_or_left_out(path: Path, row: Any, problem: str):
    write(path, {"question": "One?"}, row, {"question": "Three?"})
    with pytest.raises(DataError, match=rf"questions\.jsonl, line 2: .*{problem}"):
        read_questions(path)
    assert [each.id for each in read_questions(path, skip_bad=True)] == ["1", "3"]


def test_a_limit_counts_questions_and_reads_no_further(path: Path):
    write(path, {"question": "One?"}, {}, {"question": "Three?"})
    path.write_text(path.read_text() + "broken")
    assert [each.id for each in read_questions(path, limit=1)] == ["1"]
    assert [each.id for each in read_questions(path, limit=2, skip_bad=True)] == ["1", "3"]


def test_a_file_without_a_question(path: Path):
    path.write_text("\n\n")
    with pytest.raises(DataError, match="there is no question in this file"):
        read_questions(path)


def test_no_file(path: Path):
    with pytest.raises(InputError, match="there is no file"):
        read_questions(path)


def test_one_text_is_no_tuple_of_right_answers():
    with pytest.raises(InputError, match=r"give a tuple of right answers, \('Port Elm',\)"):
        Question("1", "Where?", "Port Elm")  # type: ignore[arg-type]


WHO = {"question": "Who wrote Emma?", "answer": "Jane Austen"}
AUSTEN = ("Jane Austen",)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([WHO], "question: question, right answer: answer"),
        ([tuple(WHO.values())], "question: question, right answer: answer"),
        (
            [{"Question": WHO["question"], "Expected Answer": "Jane Austen"}],
            "question: Question, right answer: Expected Answer",
        ),
        (  # ragas, and as it was before 0.2, where an answer is a system's
            [{"user_input": WHO["question"], "response": "Ada", "reference": "Jane Austen"}],
            "question: user_input, right answer: reference",
        ),
        (
            [{**WHO, "answer": "Ada", "ground_truth": "Jane Austen"}],
            "question: question, right answer: ground_truth",
        ),
        (  # LangSmith's examples, and the rows of its experiments
            [{"inputs": {"topic": WHO["question"]}, "outputs": {"said": "Jane Austen"}}],
            "question: inputs.topic, right answer: outputs.said",
        ),
        (
            [
                {
                    "inputs.question": WHO["question"],
                    "outputs.answer": "Ada",
                    "reference.answer": "Jane Austen",
                }
            ],
            "question: inputs.question, right answer: reference.answer",
        ),
        (  # LlamaIndex: a LabelledRagDataset, and a QueryResponseDataset
            {"examples": [{"query": WHO["question"], "reference_answer": "Jane Austen"}]},
            "question: query, right answer: reference_answer",
        ),
        (
            {"queries": {"7": WHO["question"]}, "responses": {"7": "Jane Austen"}},
            "question: queries, right answer: responses",
        ),
        (  # Hugging Face: SQuAD, NQ-open, TriviaQA
            [{**WHO, "answers": {"text": ["Jane Austen"], "answer_start": [7]}}],
            "question: question, right answer: answers.text",
        ),
        ([{**WHO, "answer": ["Jane Austen"]}], "question: question, right answer: answer"),
        (
            [{**WHO, "answer": {"value": "Jane Austen", "aliases": []}}],
            "question: question, right answer: answer.value",
        ),
    ],
    ids=lambda value: str(value)[:30],
)
def test_rows_of_others(rows: Any, told: str):
    said: list[str] = []
    (question,) = read_questions(rows, on_fields=said.append)
    assert (question.question, question.gold, said) == (WHO["question"], AUSTEN, [told])


def test_examples_of_langsmith_and_their_export(tmp_path: Path):
    from uuid import uuid4

    from langsmith.schemas import Example

    inputs, outputs = {"question": WHO["question"]}, {"answer": "Jane Austen"}
    example = Example(id=uuid4(), inputs=inputs, outputs=outputs)
    (tmp_path / "a.jsonl").write_text(example.model_dump_json())
    (question,) = read_questions([example])
    assert (question.gold, question.id) == (AUSTEN, str(example.id))
    assert read_questions(tmp_path / "a.jsonl") == read_questions([{"example": example}])


@pytest.mark.parametrize(
    ("passages", "contexts"),
    [
        ({"context": "A novel."}, (Context("", "A novel."),)),
        ({"contexts": ["A", "B"]}, (Context("", "A"), Context("", "B"))),
        ({"reference_contexts": ["A"]}, (Context("", "A", supporting=True),)),
        (
            {"context": {"title": ["Emma"], "sentences": [["A novel.", " By her."]]}},
            (Context("Emma", "A novel. By her.", ("A novel.", " By her.")),),
        ),
    ],
)
def test_passages_of_others(passages: dict[str, Any], contexts: tuple[Context, ...]):
    assert read_questions([{**WHO, **passages}])[0].contexts == contexts


def test_facts_in_columns_name_the_titles():
    facts = {"title": ["Emma", "Emma"], "sent_id": [0, 2]}
    (question,) = read_questions([{**WHO, "supporting_facts": facts}])
    assert question.supporting_facts == (("Emma", 0), ("Emma", 2))
    assert question.supporting_titles == ("Emma",)


def test_a_field_that_is_named(tmp_path: Path):
    (tmp_path / "a.csv").write_text("Frage,Antwort\nWer?,Ada\n", encoding="utf-8")
    path = tmp_path / "a.csv"
    (question,) = read_questions(path, question_field="Frage", answer_field="Antwort")
    assert (question.question, question.gold, question.id) == ("Wer?", ("Ada",), "2")
    with pytest.raises(DataError, match=r"line 2: .*the fields are Frage, Antwort: name one"):
        read_questions(path)
    with pytest.raises(InputError, match='no row has the field "Antwrt": there is Frage, Antwort'):
        read_questions(path, question_field="Frage", answer_field="Antwrt")
    said: list[str] = []
    assert read_questions(path, question_field="Frage", on_fields=said.append)[0].gold == ()
    assert said == ["question: Frage, right answer: none among Frage, Antwort"]


def test_a_row_of_many_fields_is_one_short_line():
    with pytest.raises(DataError, match=r"list, row 1: ") as caught:
        read_questions([{f"{n}" * 100: n for n in range(1_000)}])
    assert len(str(caught.value)) < 1_200


def test_numbers_of_a_column_with_gaps():
    rows = [{"question": "When?", "answer": 1914.0}, {"question": "How far?", "answer": 1.5}]
    rows.append({"question": "What?", "answer": float("nan")})
    assert [each.gold for each in read_questions(rows)] == [("1914",), ("1.5",), ()]
