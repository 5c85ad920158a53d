"""Which answer to trust: an arbiter between memory and references, and a cascade."""

import os

from langchain_skr import load_model
from skr_app.country import load_country
from skr_core import Settings
from skr_graphs import GraphAnswerer
from skr_learn import Arbiter, Ladder, collect
from skr_store import ChromaStore

country = load_country()
model = load_model(os.environ["SKR_MODEL"]) if "SKR_MODEL" in os.environ else country.model()
QUESTION = "Who was the first climber of Mount Tarrow?"  # known by heart; the passages mislead

with ChromaStore.ephemeral() as store:
    store.add(list(country.corpus))
    records = collect(country.questions[:40], GraphAnswerer(Settings.of(model, store)))

    always = GraphAnswerer(Settings.of(model, store)).answer(QUESTION)
    print("always retrieving:", always.text)

    # The arbiter sees both answers at the end, and serves the likelier one.
    arbiter = Arbiter.fit(records)
    weighed = GraphAnswerer(Settings.of(model, store, arbiter=arbiter)).answer(QUESTION)
    print("with the arbiter:", weighed.text)
    print(weighed.verdict.reason if weighed.verdict else "")

    # A cascade is router, reflector and arbiter in one: it asks for the next answer where that is
    # worth its cost, here 0.02 of accuracy for a thousand tokens.
    cascade = Ladder.fit(records, price=0.02)
    climbed = GraphAnswerer(Settings.of(model, store, router=cascade)).answer(QUESTION)
    print("with the cascade:", climbed.text, f"({climbed.stop_reason})")
