"""What does a model know by itself? Each question by each action, scored and recorded."""

import os

from langchain_skr import load_model
from skr_app.country import load_country
from skr_core import Settings
from skr_graphs import GraphAnswerer
from skr_learn import collect
from skr_store import Store

country = load_country()  # an invented country: put your questions and your retriever in its place
model = load_model(os.environ["SKR_MODEL"]) if "SKR_MODEL" in os.environ else country.model()

with Store.ephemeral() as store:
    store.add(list(country.corpus))
    # The same call with the same file goes on where it was interrupted.
    records = collect(
        country.questions[:20], GraphAnswerer(Settings.of(model, store)), out="self-knowledge.jsonl"
    )

for action in ("direct", "single", "loop"):
    right = sum(record.outcomes[action].score for record in records)
    searches = sum(record.outcomes[action].retrievals or 0 for record in records)
    print(f"{action:6} {right:.0f} of {len(records)} right, {searches:.0f} searches")
for record in records[:5]:
    print(f"retrieval {record.effect}: {record.question}")
