"""A RouterQueryEngine whose selector asks one question only: does the model know?"""

import os

from llama_index.core import Document, SimpleKeywordTableIndex
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RouterQueryEngine
from llama_index.core.tools import QueryEngineTool

from llamaindex_skr import SKRQueryEngine, SKRSelector
from skr_core import Decision
from skr_core.routers import NeverRetrieve


class KnowsCapitals:
    """A router of one's own: any object with these two methods is one."""

    def decide(self, question: str) -> Decision:
        known = "capital" in question
        return Decision(not known, reason="a capital is known" if known else "this is not known")

    async def adecide(self, question: str) -> Decision:
        return self.decide(question)


documents = [
    Document(text="Jaws was directed by Steven Spielberg."),
    Document(text="Steven Spielberg was born in Cincinnati, Ohio."),
    Document(text="Paris is the capital of France."),
]
index = SimpleKeywordTableIndex.from_documents(documents, llm=MockLLM())
memory = SKRQueryEngine.from_defaults(llm=MockLLM(max_tokens=3), router=NeverRetrieve())
lookup = SKRQueryEngine.from_defaults(index, llm=os.environ.get("SKR_MODEL", "extractive"))

engine = RouterQueryEngine(
    SKRSelector(KnowsCapitals(), retrieving=1),
    [
        QueryEngineTool.from_defaults(memory, description="from memory"),
        QueryEngineTool.from_defaults(lookup, description="from the index"),
    ],
    llm=MockLLM(),
)
for question in ("What is the capital of France?", "Who directed Jaws?"):
    response = engine.query(question)
    print(question, "->", response, f"({response.metadata['selector_result'].reason})")
