"""Measuring answers: right or wrong, citations that support them, and a measure of your own."""

import os
from collections.abc import Sequence

from langchain_skr import load_model
from skr_app.country import load_country
from skr_core import Settings
from skr_core.files import KeyedLog
from skr_core.flow import run
from skr_graphs import GraphAnswerer
from skr_learn.evaluate import Asked, System, ask_all, judge_all, mean
from skr_store import Store

country = load_country()
model = load_model(os.environ["SKR_MODEL"]) if "SKR_MODEL" in os.environ else country.model()

questions = country.questions[:20]


def brevity(answers: Sequence[Asked]):
    """A measure of one's own sees all the answers at once; a judge would be asked with `call`."""
    yield from ()
    return [{"words": each.answer and len(each.answer.text.split())} for each in answers]


with Store.ephemeral() as store:
    store.add(list(country.corpus))
    answerer = GraphAnswerer(Settings.of(model, store))
    for name, action in (("never", "direct"), ("single shot", "single"), ("loop", "loop")):
        # A log with a path goes on where it was interrupted: KeyedLog("answers.jsonl").
        answers = run(ask_all(System.of(name, answerer, action=action), questions, KeyedLog(None)))
        judged = run(judge_all(answers, measure=brevity))
        print(name)
        for measure in ("answer_accuracy", "citation_precision", "words"):
            found = mean(judged, measure)
            print(
                f"  {measure}: {found.mean:.2f} ({found.low:.2f} to {found.high:.2f}), n {found.n}"
            )
