"""Back to an earlier round with another query: what came before it is not run again."""

import os
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from langchain_skr import create_skr_graph, load_model
from skr_app.country import load_country
from skr_store import Store

country = load_country()
model = load_model(os.environ["SKR_MODEL"]) if "SKR_MODEL" in os.environ else country.model()
thread: Any = {"configurable": {"thread_id": "1"}}

with Store.ephemeral() as store:
    store.add(list(country.corpus))
    graph = create_skr_graph(model, store, checkpointer=InMemorySaver())
    question = "Where was the engineer who designed the Marrow Bay lighthouse born?"
    first = graph.invoke({"question": question}, thread)
    print("first:", [searched for each in first["rounds"] for searched in each["queries"]])

    # The latest step comes first, so this is before the last search, be it of round 1 or 3.
    history = graph.get_state_history(thread)
    earlier = next(state for state in history if "retrieve" in state.next)
    edited = graph.update_state(
        earlier.config, {"queries": ["clockmakers of Hallerfeld"]}, as_node="follow_up"
    )
    again = graph.invoke(None, edited)
    print("again:", [searched for each in again["rounds"] for searched in each["queries"]])
    print(again["answer"])
