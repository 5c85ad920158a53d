"""A saved router in LlamaIndex: an engine that retrieves only where the LLM does not know."""

import os
from pathlib import Path

from llamaindex_skr import SKRQueryEngine, load_model
from skr_app.country import load_country
from skr_learn import calibrate, collect
from skr_store import Store

country = load_country()
llm = load_model(os.environ["SKR_MODEL"]) if "SKR_MODEL" in os.environ else country.model()

with Store.ephemeral() as store:  # yours: an index, or a retriever of LlamaIndex's
    store.add(list(country.corpus))
    served = SKRQueryEngine.from_defaults(store, llm=llm)
    records = collect(country.questions, served)
    # The best accuracy where half of the questions are retrieved for.
    found = calibrate(records, routers=["ladder"], retrieval_rate=0.5)
    found.save("router")

    engine = SKRQueryEngine.from_defaults(store, llm=llm, router=Path("router"))
    for question in ("What is the flower of Varnland?", "Who is the mayor of Penmarrow now?"):
        response = engine.query(question)
        print(question, "->", response, f"({response.metadata['stop_reason']})")
