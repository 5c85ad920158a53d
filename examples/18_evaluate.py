"""Measuring answers as the papers do: right or wrong, key-facts told, citations that support."""

import os
from dataclasses import replace

from langchain_skr.models import load_model
from skr_app.country import load_country
from skr_app.extractive import LexicalEntailment
from skr_core import Settings
from skr_core.files import KeyedLog
from skr_core.flow import run
from skr_graphs import GraphAnswerer
from skr_learn.evaluation import System, ask_all, judge_all
from skr_learn.evaluation.measuring import mean
from skr_store import ChromaStore

sample = load_country()
model = load_model(os.environ["SKR_MODEL"]) if "SKR_MODEL" in os.environ else sample.model()

# What an answer has to say; `skr key-facts make` drafts them with a model, and a person reviews.
beds = next(each for each in sample.questions if "How many beds has the hospital" in each.question)
facts = ("The hospital is named after Sibyl Arne.", "The hospital has 340 beds.")
questions = [replace(beds, key_facts=facts), *sample.questions[:19]]

with ChromaStore.ephemeral() as store:
    store.add(list(sample.corpus))
    answerer = GraphAnswerer(Settings.of(model, store))
    for name, action in (("never", "direct"), ("single shot", "single"), ("loop", "loop")):
        # A log with a path goes on where it was interrupted: KeyedLog("answers.jsonl").
        answers = run(ask_all(System.of(name, answerer, action=action), questions, KeyedLog(None)))
        # Words that are shared; yours: a judge (JudgeEntailment), or the T5 of the papers.
        judged = run(judge_all(answers, entailment=LexicalEntailment()))
        print(name)
        for measure in ("answer_accuracy", "key_fact_recall", "citation_precision"):
            found = mean(judged, measure)
            print(
                f"  {measure}: {found.mean:.2f} ({found.low:.2f} to {found.high:.2f}), n {found.n}"
            )
