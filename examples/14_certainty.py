"""Punish+Explain and the four levels: what a model says of its own certainty, and routing by it."""

import os

from langchain_skr import load_model
from skr_app.country import load_country
from skr_core import Settings
from skr_core.routers import CertaintyLevelRouter, ConfidenceRouter
from skr_graphs import GraphAnswerer
from skr_store import Store

country = load_country()
model = load_model(os.environ["SKR_MODEL"]) if "SKR_MODEL" in os.environ else country.model()

# One way of asking: retrieve where the model is not certain though a wrong "certain" is punished.
prudent = ConfidenceRouter(model, strategy="punish_explain")
# Two ways of asking make four levels: 0 is certain in neither, 3 in both.
levels = CertaintyLevelRouter(model)

for question in (
    "Who wrote the words of the national anthem of Varnland?",
    "Which stand of the Lockside ground floats?",
    "What did the queen of Varnland have for breakfast?",
):
    print(question)
    print("  Punish+Explain:", prudent.decide(question).reason)
    print("  levels:        ", levels.decide(question).reason)

with Store.ephemeral() as store:
    store.add(list(country.corpus))
    served = GraphAnswerer(Settings.of(model, store, router=levels))
    print(served.answer("What is the tallest windmill of Eastering called?").text)
