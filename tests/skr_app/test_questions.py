"""``skr questions``: from a store to a file that collect and evaluate take."""

from __future__ import annotations

from pathlib import Path

import pytest

from skr_core import Reference, read_questions
from skr_store import Store
from tests.servers import OpenAIServer
from tests.skr_app.conftest import Skr, check_printed
from tests.writer import writer


def test_made_accepted_and_collected(skr: Skr, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    store, review, out = (tmp_path / each for each in ("store", "review.md", "questions.jsonl"))
    with Store.open(store) as opened:
        opened.add(
            [
                Reference.of(
                    f"The report of day {n} was read to {n * 7919} keepers of Port{n // 2} and to "
                    f"{n * 101} of their guests, who were {n * 13} days late and left again.",
                    f"Report {n}",
                )
                for n in range(20)
            ]
        )
    with OpenAIServer(writer()) as server:
        model = ("--model", "test", "--base-url", server.url, "--store", store)
        made = skr("questions", "make", *model, "--n", 10, "--out", review, "--json").json
        check_printed("questions make", made)
        assert (made["n"], made["reused"], made["known"]) == (10, 0, 0)
        assert made["types"] == {
            **{"one_passage": 5, "two_passages": 2, "comparison": 1, "unanswerable": 2}
        }
        again = skr("questions", "make", *model, "--n", 10, "--out", review)
        assert "10 questions in" in again.out.replace("\n", " ")
        assert "skr questions accept" in again.out

        accepted = skr("questions", "accept", review, "--out", out)
        assert "skr collect" in accepted.out
        assert len(read_questions(out)) == 10
        records = tmp_path / "records.jsonl"
        collected = skr("collect", out, *model, "--out", records, "--json").json
        assert (collected["n"], collected["unscored"]) == (10, 0)
        assert collected["accuracy"]["direct"] == 0.2  # it says so where nothing answers
        assert collected["accuracy"]["loop"] >= 0.8
        measured = skr("evaluate", out, *model, "--systems", "never", "--json").json
        assert measured["never"]["answer_accuracy"] == 0.2

    review.write_text(review.read_text() + "\n## own\nQuestion:\nAnsr: x\nelse\n")
    broken = skr("questions", "accept", review, "--out", out)
    assert broken.code == 2
    assert broken.err.count('a line begins with "##"') == 2


def test_the_extractive_model_cannot_write(skr: Skr):
    refused = skr("questions", "make", "--store", "none")
    assert refused.code == 2
    told = "the extractive model only quotes and cannot write questions: give --model"
    assert told in refused.err
