"""Each data set in the form its authors publish, in a small file."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import pytest

from skr_core.errors import DataError, InputError
from skr_lab.datasets import FORMATS, read_dataset

HOTPOTQA = {
    "_id": "5a8b57f25542995d1e6f1371",
    "answer": "Cincinnati",
    "question": "Where was the director of Jaws born?",
    "supporting_facts": [["Jaws", 0], ["Steven Spielberg", 1]],
    "context": [
        ["Jaws", ["Jaws is a film by Steven Spielberg.", " It is old."]],
        ["Steven Spielberg", ["He is a director.", " He was born in Cincinnati."]],
        ["Shark", ["A fish."]],
    ],
    "type": "bridge",
    "level": "hard",
}
MUSIQUE = {
    "id": "2hop__1_2",
    "paragraphs": [
        {"idx": 0, "title": "Jaws", "paragraph_text": "By Spielberg.", "is_supporting": True},
        {"idx": 1, "title": "Jaws", "paragraph_text": "A jaw.", "is_supporting": False},
    ],
    "question": "Where?",
    "question_decomposition": [],
    "answer": "Cincinnati",
    "answer_aliases": ["Cincinnati, Ohio"],
    "answerable": True,
}
NQ = {"question": "when was the last time", "answer": ["2018", "May 18, 2018"]}
DPR_NQ = {
    "dataset": "nq_dev_psgs_w100",
    "question": "who sings does he love me with reba",
    "answers": ["Linda Davis"],
    "positive_ctxs": [
        {
            "title": "Does He Love You",
            "text": "Recorded as a duet by Reba McEntire and Linda Davis.",
            "score": 1000,
            "title_score": 1,
            "passage_id": "11828866",
        },
        {"title": "", "text": "Linda Davis is a singer.", "score": 12.5, "passage_id": "3"},
    ],
    "negative_ctxs": [{"title": "Cormac", "text": "A novelist.", "score": 0, "passage_id": "7"}],
    "hard_negative_ctxs": [{"title": "Why", "text": "A song by Reba.", "passage_id": "9"}],
}
DPR_NQ_CSV = {
    "question": "who got the first nobel prize in physics",
    "answers": """['Wilhelm Conrad Röntgen', "Wilhelm's"]""",
}
TRIVIAQA = {
    "Answer": {"Aliases": ["Sunset Bld", "Sunset Boulevard"], "Value": "Sunset Boulevard"},
    "Question": "Which Lloyd Webber musical premiered in 1993?",
    "QuestionId": "tc_1",
}
POPQA = {
    "id": "4222362",
    "subj": "George Rankin",
    "prop": "occupation",
    "obj": "politician",
    "question": "What is George Rankin's occupation?",
    "possible_answers": '["politician", "political leader"]',
}
TEMPQUESTIONS = {
    "Id": 1,
    "Question": "who was governor when the collector was released?",
    "Gold answer": ["Mark Hatfield"],
    "Temporal signal": ["OVERLAP"],
    "Type": ["Implicit"],
    "Data source": "ComplexQuestions",
    "Question creation date": "2016-12-13",
}
COMMONSENSEQA = {
    "answerKey": "B",
    "id": "1afa",
    "question": {
        "question_concept": "pizzeria",
        "choices": [{"label": "A", "text": "chicago"}, {"label": "B", "text": "food court"}],
        "stem": "Where would you expect to find a pizzeria?",
    },
}
INFOTABS = {
    "index": "0",
    "table_id": "T1",
    "annotater_id": "A1",
    "hypothesis": "Corn is an ingredient.",
    "label": "C",
}
STRATEGYQA = {
    "qid": "b8677742616fef051f00",
    "term": "Genghis Khan",
    "description": "founder",
    "question": "Are more people related to Genghis Khan than Caesar?",
    "answer": True,
    "facts": ["Caesar had three children.", "Khan had sixteen."],
    "decomposition": ["How many?"],
    "evidence": [],
}
TRUTHFULQA = {
    "Type": "Adversarial",
    "Category": "Misconceptions",
    "Question": "What colors do dogs see?",
    "Best Answer": "Dogs see yellow, blue, brown, and gray",
    "Correct Answers": "Dogs see yellow; Dogs see blue",
    "Incorrect Answers": "Dogs cannot see color; Dogs see in black and white",
    "Source": "https://example.org",
}
ROWS = {
    "hotpotqa": HOTPOTQA,
    "2wikimultihopqa": HOTPOTQA,
    "musique": MUSIQUE,
    "nq_open": NQ,
    "dpr_nq": DPR_NQ,
    "dpr_nq_csv": DPR_NQ_CSV,
    "triviaqa": TRIVIAQA,
    "popqa": POPQA,
    "tempquestions": TEMPQUESTIONS,
    "commonsenseqa": COMMONSENSEQA,
    "infotabs": INFOTABS,
    "strategyqa": STRATEGYQA,
    "truthfulqa": TRUTHFULQA,
}
# A field without which there is no question.
NEEDED = {
    "hotpotqa": "supporting_facts",
    "2wikimultihopqa": "context",
    "musique": "paragraphs",
    "nq_open": "answer",
    "dpr_nq": "positive_ctxs",
    "dpr_nq_csv": "answers",
    "triviaqa": "Answer",
    "popqa": "possible_answers",
    "tempquestions": "Gold answer",
    "commonsenseqa": "answerKey",
    "infotabs": "label",
    "strategyqa": "answer",
    "truthfulqa": "Incorrect Answers",
}


def publish(name: str, rows: list[dict], folder: Path) -> Path:
    form = FORMATS[name]
    path = folder / f"{name}.{form.kind}"
    if form.kind == "json":
        path.write_text(json.dumps({form.list_in: rows} if form.list_in else rows))
    elif form.kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        text = io.StringIO()
        writer = csv.DictWriter(text, rows[0].keys(), delimiter="\t" if form.kind == "tsv" else ",")
        if not form.columns:
            writer.writeheader()
        writer.writerows(rows)
        path.write_text(text.getvalue())
    return path


def test_every_format_has_a_row_here():
    assert ROWS.keys() == FORMATS.keys() == NEEDED.keys()


@pytest.mark.parametrize("name", FORMATS)
def test_a_published_file(name: str, tmp_path: Path):
    [question] = read_dataset(name, publish(name, [ROWS[name]], tmp_path))
    assert question.question
    assert question.gold
    assert question.id
    if question.choices:
        assert question.gold[0] in question.choices


@pytest.mark.parametrize("name", FORMATS)
def test_a_missing_field_is_named(name: str, tmp_path: Path):
    rows = [ROWS[name], {key: value for key, value in ROWS[name].items() if key != NEEDED[name]}]
    path = publish(name, rows, tmp_path)
    with pytest.raises(DataError, match=f'"{NEEDED[name]}" is missing|"{NEEDED[name]}" must be'):
        read_dataset(name, path)
    assert len(read_dataset(name, path, skip_bad=True)) == 1
    assert len(read_dataset(name, path, limit=1)) == 1


def test_hotpotqa_in_full(tmp_path: Path):
    [question] = read_dataset("hotpotqa", publish("hotpotqa", [HOTPOTQA], tmp_path))
    assert question.supporting_titles == ("Jaws", "Steven Spielberg")
    assert question.supporting_facts == (("Jaws", 0), ("Steven Spielberg", 1))
    assert [each.title for each in question.noise_contexts] == ["Shark"]
    assert question.contexts[1].sentences[1] == "He was born in Cincinnati."
    assert question.contexts[1].text == "He is a director. He was born in Cincinnati."


def test_the_type_of_a_temporal_question_is_kept(tmp_path: Path):
    rows = [TEMPQUESTIONS, {**TEMPQUESTIONS, "Type": "Ordinal"}, {**TEMPQUESTIONS, "Type": None}]
    found = read_dataset("tempquestions", publish("tempquestions", rows, tmp_path))
    assert [each.types for each in found] == [("Implicit",), ("Ordinal",), ()]


def test_musique_marks_paragraphs_not_titles(tmp_path: Path):
    [question] = read_dataset("musique", publish("musique", [MUSIQUE], tmp_path))
    assert [each.text for each in question.gold_contexts] == ["By Spielberg."]
    assert question.gold == ("Cincinnati", "Cincinnati, Ohio")


def test_the_gold_passage_of_dpr_is_the_first_positive_one(tmp_path: Path):
    [question] = read_dataset("dpr_nq", publish("dpr_nq", [DPR_NQ], tmp_path))
    assert [each.title for each in question.gold_contexts] == ["Does He Love You"]
    assert [each.title for each in question.noise_contexts] == ["", "Cormac", "Why"]
    none = {**DPR_NQ, "positive_ctxs": []}
    [question] = read_dataset("dpr_nq", publish("dpr_nq", [none], tmp_path))
    assert question.gold_contexts == ()


def test_the_answers_of_dpr_are_a_list_as_python_writes_it(tmp_path: Path):
    path = publish("dpr_nq_csv", [DPR_NQ_CSV, DPR_NQ_CSV], tmp_path)
    first, _ = read_dataset("dpr_nq_csv", path)
    assert first.gold == ("Wilhelm Conrad Röntgen", "Wilhelm's")
    for answers in ("__import__('os')", "['a'", "{}", "[1]", "(" * 10_000):
        path = publish("dpr_nq_csv", [{**DPR_NQ_CSV, "answers": answers}], tmp_path)
        with pytest.raises(DataError, match=r'1.*"answers"'):
            read_dataset("dpr_nq_csv", path)


def test_the_forms_of_a_question(tmp_path: Path):
    asked = {
        name: read_dataset(name, publish(name, [ROWS[name]], tmp_path))[0].asked
        for name in ("commonsenseqa", "infotabs", "strategyqa", "truthfulqa")
    }
    assert asked["commonsenseqa"].endswith("Answer Choices: (a) chicago (b) food court")
    assert asked["infotabs"] == "Corn is an ingredient. True or False?"
    assert asked["strategyqa"].startswith("Yes or No: Are more")
    assert "(c)" in asked["truthfulqa"]


def test_neutral_hypotheses_are_left_out(tmp_path: Path):
    rows = [{**INFOTABS, "label": label} for label in "NEC"]
    found = read_dataset("infotabs", publish("infotabs", rows, tmp_path))
    assert [each.gold for each in found] == [("true",), ("false",)]


def test_compressed(tmp_path: Path):
    path = tmp_path / "hotpot.json.gz"
    path.write_bytes(gzip.compress(json.dumps([HOTPOTQA]).encode()))
    assert len(read_dataset("hotpotqa", path)) == 1
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match="compression"):
        read_dataset("hotpotqa", path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{oops", "not JSON"),
        ('{"a": 1}', "list of objects"),
        ("[]", "no question"),
        ("[1]", "list"),
    ],
)
def test_other_files(tmp_path: Path, content: str, words: str):
    (tmp_path / "h.json").write_text(content)
    with pytest.raises(DataError, match=words):
        read_dataset("hotpotqa", tmp_path / "h.json")


def test_a_name_or_a_file_that_is_not_there(tmp_path: Path):
    with pytest.raises(InputError, match="hotpotqa"):
        read_dataset("hotpot", tmp_path)
    with pytest.raises(InputError, match="no file"):
        read_dataset("hotpotqa", tmp_path / "absent.json")


def test_fields_of_another_kind(tmp_path: Path):
    for change in ({"context": [["Jaws"]]}, {"supporting_facts": [["Jaws", "0"]]}, {"answer": 3}):
        path = publish("hotpotqa", [{**HOTPOTQA, **change}], tmp_path)
        with pytest.raises(DataError, match=next(iter(change))):
            read_dataset("hotpotqa", path)
