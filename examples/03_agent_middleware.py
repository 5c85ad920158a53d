"""An agent that knows when to retrieve: references join its instructions only when needed."""

import os

from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import RunnableLambda

from langchain_skr import SKRMiddleware
from skr_core import Decision


class KnowsCapitals:
    """A router of one's own: two methods. `skr_core.routers` has those of the papers."""

    def decide(self, question: str) -> Decision:
        return Decision("capital" not in question, reason="capitals are known")

    async def adecide(self, question: str) -> Decision:
        return self.decide(question)


library = RunnableLambda(lambda query: [Document("The lighthouse is 31 metres tall.")])
agent = create_agent(
    os.environ.get("SKR_MODEL") or FakeListChatModel(responses=["Paris.", "31 metres [1]."]),
    # Tools of yours that retrieve are withheld by their names: tools=["search"]
    middleware=[SKRMiddleware(KnowsCapitals(), retriever=library)],
)

for question in ("What is the capital of France?", "How tall is the lighthouse?"):
    state = agent.invoke({"messages": [("user", question)]})
    print(question, "→", state["messages"][-1].text)
    print("  retrieved:", [reference["text"] for reference in state["skr_references"]])
