"""Which answer to trust: an arbiter between memory and references, and a cascade."""

import os

from langchain_skr import load_model
from skr_app.country import load_country
from skr_core import Settings
from skr_graphs import GraphAnswerer
from skr_learn import calibrate, collect
from skr_store import Store

country = load_country()
model = load_model(os.environ["SKR_MODEL"]) if "SKR_MODEL" in os.environ else country.model()
QUESTION = "Who was the first climber of Mount Tarrow?"  # known by heart; the passages mislead

with Store.ephemeral() as store:
    store.add(list(country.corpus))
    records = collect(country.questions[:40], GraphAnswerer(Settings.of(model, store)))

    always = GraphAnswerer(Settings.of(model, store)).answer(QUESTION)
    print("always retrieving:", always.text)

    # The arbiter asks for every answer, and serves the likeliest.
    arbiter = calibrate(records, routers=["arbiter"], anyway=True).router
    weighed = GraphAnswerer(Settings.of(model, store, router=arbiter)).answer(QUESTION)
    print("with the arbiter:", weighed.text)
    print(weighed.verdict.reason if weighed.verdict else "")

    # A cascade is router and arbiter in one: it asks for the next answer where that is worth its
    # cost, here 0.1 of accuracy for a thousand tokens.
    found = calibrate(records, routers=["ladder"], cost_weight=0.1, anyway=True)
    climbed = GraphAnswerer(Settings.of(model, store, router=found.router)).answer(QUESTION)
    print("with the cascade:", climbed.text, f"({climbed.stop_reason})")
