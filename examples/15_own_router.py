"""A router of one's own in thirty lines: retrieve for what changes, remember what does not."""

import os
import re

from langchain_skr import create_skr_graph, load_model
from skr_app.country import load_country
from skr_core import Decision
from skr_graphs import answer_of
from skr_store import Store


class RetrieveWhatChanges:
    """Any object with these two methods is a router."""

    CHANGES = re.compile(r"\b(is|are|now|today|cost|price|mayor|record)\b", re.IGNORECASE)

    def decide(self, question: str) -> Decision:
        found = self.CHANGES.search(question)
        reason = f"{found[0]!r} may have changed" if found else "this does not change"
        return Decision(retrieve=bool(found), reason=reason)

    async def adecide(self, question: str) -> Decision:
        return self.decide(question)


country = load_country()
model = load_model(os.environ["SKR_MODEL"]) if "SKR_MODEL" in os.environ else country.model()

with Store.ephemeral() as store:
    store.add(list(country.corpus))
    graph = create_skr_graph(model, store, router=RetrieveWhatChanges())
    for question in ("Who painted The Ferry at Dusk?", "Who is the governor of the Central Bank?"):
        answer = answer_of(graph.invoke({"question": question}))
        print(question, "->", answer.text, f"({answer.decision.reason})")
