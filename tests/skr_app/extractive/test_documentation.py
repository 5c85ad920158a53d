"""The extractive model over ordinary technical documentation: this project's own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from skr_app.extractive import ExtractiveModel
from skr_core import Answer, Settings
from skr_graphs import GraphAnswerer
from skr_store import Store, ingest

ROOT = Path(__file__).resolve().parents[3]
ASKED = {
    "Which extra do I need for the skr command?": "cli",
    "How do I install it together with LlamaIndex?": "skr-rag[llamaindex",
    "What is raised when an extra is not installed?": "MissingDependency",
    "What does grounded mean?": "rests on references",
    "How many rounds does a question take at most?": "max_rounds=3",
    "What happens when the model fails after a usable draft?": "model_failed",
    "Which exception does a failing retriever raise?": "RetrieverError",
    "How do I get the sources of an answer from the chain?": "return_sources",
    "How do I keep a model's replies so that nothing is asked twice?": "set_llm_cache|--cache",
    "Can several processes open one store?": "Any number of processes|any number of processes",
    "What does the stop reason uncited mean?": "cites nothing|cites none",
    "What does an arbiter cost?": "one short call|one direct call|one call|One call more",
    "Does a saved router work with another model?": "refuse",
    "How can I limit the money that a batch of questions costs?": "Spending|--max-spend",
    "What happens to a question that points back at earlier turns?": "rewritten",
    "When is a call given up that no text comes of?": "300 seconds",
    "Which kinds of files can I ingest?": "Markdown|PDF",
    "How do I use a reranker?": "compressor",
    "Where is what a store acknowledges kept on the disk?": "store.sqlite3",
}
OTHERS = {  # never looked at while the model was made
    "How many questions should I give to collect?": "hundred",
    "What does streaming the chain yield?": "tokens",
    "What does a LearnedReflector estimate from?": "records",
    "Can I pickle a query engine?": "pickled",
    "What does exit code 2 mean?": "input",
    'What does when_insufficient="refuse" do?': "always a refusal",
    "How often is a busy server asked?": "three times",
    "What is a reference's id?": "hash",
}


GENERATED = ("commands.md", "licences.md", "matrix.md")
"""Pages of tables alone."""
LEAST = 16
"""Of the twenty-seven. It was 19, over tables as much as prose: room for what is rewritten."""


@pytest.fixture(scope="module")
def answers() -> dict[str, Answer]:
    with Store.ephemeral() as store:
        pages = {*(ROOT / "docs").rglob("*.md")} - {ROOT / "docs" / name for name in GENERATED}
        ingest([ROOT / "README.md", *sorted(pages)], store)
        system = GraphAnswerer(Settings.of(ExtractiveModel(), store))
        return {question: system.answer(question) for question in ASKED | OTHERS}


def is_answered(answer: Answer, words: str) -> bool:
    """In one or two sentences, which hold the words."""
    return len(answer.citations) <= 2 and any(word in answer.text for word in words.split("|"))


def test_questions_of_a_user_are_answered(answers: dict[str, Answer]) -> None:
    wanted = ASKED | OTHERS
    missed = {
        question: answer.text
        for question, answer in answers.items()
        if not is_answered(answer, wanted[question])
    }
    assert len(wanted) - len(missed) >= LEAST, missed


def test_what_is_searched_next_are_words_of_question_or_references(
    answers: dict[str, Answer],
) -> None:
    """No cells, code or headings run together, and never the question again."""
    for question, answer in answers.items():
        for query in [query for each in answer.rounds[1:] for query in each.queries]:
            assert len(query.split()) <= 12, query
            assert not re.search(r"[|`#]", query), query
            assert query.casefold() != question.casefold()
