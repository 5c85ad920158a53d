"""A saved router in LangChain: a chain that retrieves only where the model does not know."""

import os
from pathlib import Path

from langchain_skr import create_skr_chain, load_model
from skr_app.country import load_country
from skr_learn import calibrate, collect
from skr_store import Store

country = load_country()
model = load_model(os.environ["SKR_MODEL"]) if "SKR_MODEL" in os.environ else country.model()

with Store.ephemeral() as store:
    store.add(list(country.corpus))
    records = collect(country.questions, create_skr_chain(model, store))
    # The best accuracy where half of the questions are retrieved for.
    found = calibrate(records, routers=["ladder"], retrieval_rate=0.5)
    found.save("router")

    chain = create_skr_chain(model, store, router=Path("router"), return_sources=True)
    for question in ("What is the flower of Varnland?", "Who is the mayor of Penmarrow now?"):
        answer = chain.invoke({"question": question})
        print(question, "->", answer["answer"], f"({answer['stop_reason']})")
