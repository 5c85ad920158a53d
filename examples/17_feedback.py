"""What users say of answers becomes records, and the router learns from them."""

import os

from langchain_skr import create_skr_graph, load_model
from skr_app.country import load_country
from skr_core import Settings
from skr_graphs import GraphAnswerer, answer_of
from skr_learn import collect, record_of_feedback
from skr_learn.routers import KNNRouter
from skr_store import Store

country = load_country()
model = load_model(os.environ["SKR_MODEL"]) if "SKR_MODEL" in os.environ else country.model()
QUESTION = "Whose picture does the ten-crown note bear?"

with Store.ephemeral() as store:
    store.add(list(country.corpus))
    records = collect(country.questions[:40], GraphAnswerer(Settings.of(model, store)))
    router = KNNRouter.fit(records, rule="benefit")

    graph = create_skr_graph(model, store, router=router)
    answer = answer_of(graph.invoke({"question": QUESTION}))
    print(answer.decision.action, "->", answer.text)
    before = router.decide(QUESTION).score

    # A thumb up. What the other action would have scored is not known: its mean is expected.
    other = "loop" if answer.decision.action == "direct" else "direct"
    expected = sum(record.outcomes[other].score for record in records) / len(records)
    vote = record_of_feedback(answer, right=True, expected_other=expected, stamp=records[0].stamp)
    router.update([vote])
    print(f"expected gain of retrieval: {before:+.2f}, then {router.decide(QUESTION).score:+.2f}")
