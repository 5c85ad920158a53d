"""Does routing pay? Calibrate on records, read the curve, and keep the router."""

import os

from langchain_skr import load_model
from skr_app.country import load_country
from skr_core import Settings, load_router
from skr_graphs import GraphAnswerer
from skr_learn import calibrate, collect
from skr_store import ChromaStore

country = load_country()
model = load_model(os.environ["SKR_MODEL"]) if "SKR_MODEL" in os.environ else country.model()

with ChromaStore.ephemeral() as store:
    store.add(list(country.corpus))
    records = collect(country.questions[:100], GraphAnswerer(Settings.of(model, store)))

    # Give neither routers nor arbiter to have all of them tried; that takes longer.
    found = calibrate(records, model=model, routers=["combined"], arbiter=False)
    curve = found.curve
    print(curve.sentence)
    for action, accuracy in curve.constants.items():
        print(f"always {action:6} {accuracy.mean:.2f} right at {curve.constant_costs[action]:.2f}")
    for cost, accuracy in zip(curve.costs, curve.accuracy, strict=True):
        print(f"{curve.router} {accuracy:.2f} right at {cost:.2f} {curve.unit}")
    print(f"chosen: {curve.chosen.mean:.2f} right at {curve.chosen_cost:.2f}")

    found.save("router")  # found.curve.plot("curve.png") draws it, with skr-rag[plots]
    router = load_router("router", model=model, retriever=store)
    print(router.decide("Who is the mayor of Hallerfeld?").reason)
