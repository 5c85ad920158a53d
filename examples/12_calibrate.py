"""Does routing pay? Calibrate on records, read the summary, and keep the router."""

import os

from langchain_skr import load_model
from skr_app.country import load_country
from skr_core import Settings, load_router
from skr_graphs import GraphAnswerer
from skr_learn import calibrate, collect
from skr_store import Store

country = load_country()
model = load_model(os.environ["SKR_MODEL"]) if "SKR_MODEL" in os.environ else country.model()

with Store.ephemeral() as store:
    store.add(list(country.corpus))
    records = collect(country.questions[:100], GraphAnswerer(Settings.of(model, store)))

    found = calibrate(records, routers=["ladder", "question"])  # or leave routers out: tries all
    print(found)
    for name, figures in found.compared.items():
        print(f"{name}: {figures.accuracy.mean:.2f} right at {figures.cost.mean:.2f}")

    found.save("router")  # found.curve.plot("curve.png") draws it, with skr-rag[plots]
    router = load_router("router", model=model, retriever=store)
    print(router.decide("Who is the mayor of Hallerfeld?").reason)
