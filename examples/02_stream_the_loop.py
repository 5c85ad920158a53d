"""Watch the loop: what is searched, what is found, what is missing, and the answer's tokens."""

import os

from langchain_skr import create_skr_graph, load_model
from skr_app.country import load_country
from skr_graphs import SKRContext
from skr_store import Store

country = load_country()  # an invented country: put your retriever in its place
model = load_model(os.environ["SKR_MODEL"]) if "SKR_MODEL" in os.environ else country.model()
question = "Where was the engineer who designed the Marrow Bay lighthouse born?"

with Store.ephemeral() as store:
    store.add(list(country.corpus))
    graph = create_skr_graph(model, store)

    eager = SKRContext(stream=True)  # ask the model for tokens as it makes them
    for event in graph.stream({"question": question}, context=eager, stream_mode="custom"):
        if event["type"] == "query":
            print(f"search {event['round']}: {event['query']}")
        elif event["type"] == "references":
            print(f"  {len(event['added'])} new references")
        elif event["type"] == "reflection" and not event["reflection"]["sufficient"]:
            print(f"  {event['reflection']['reason']}")
        elif event["type"] == "token":
            print(event["text"], end="", flush=True)
print()
