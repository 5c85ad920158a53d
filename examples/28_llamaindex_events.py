"""What happens inside a query, through LlamaIndex's instrumentation."""

import os

from llama_index.core import Document, SimpleKeywordTableIndex
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.llms import MockLLM

from llamaindex_skr import SKRQueryEngine, SKRQueryEvent, SKRReflectionEvent, SKRRouteEvent
from skr_core.testing import ScriptedModel


class Show(BaseEventHandler):
    def handle(self, event: object, **_: object) -> None:
        match event:
            case SKRRouteEvent(decision=decision):
                print("retrieve:", decision.retrieve, "-", decision.reason)
            case SKRQueryEvent(round=number, query=query):
                print(f"round {number}: {query}")
            case SKRReflectionEvent(reflection=reflection):
                print("sufficient:", reflection.sufficient, "-", reflection.reason)


get_dispatcher().add_event_handler(Show())
documents = [
    Document(text="Jaws was directed by Steven Spielberg."),
    Document(text="Steven Spielberg was born in Cincinnati, Ohio."),
    Document(text="Paris is the capital of France."),
]
index = SimpleKeywordTableIndex.from_documents(documents, llm=MockLLM())
retriever = index.as_retriever(num_chunks_per_query=1)
scripted = ScriptedModel(
    [
        "INSUFFICIENT\nSteven Spielberg directed it [1].\nSearch: Steven Spielberg born",
        "SUFFICIENT\nIn Cincinnati, Ohio [2], as Steven Spielberg, who directed it [1].",
    ]
)
engine = SKRQueryEngine.from_defaults(retriever, llm=os.environ.get("SKR_MODEL") or scripted)
engine.query("Where was the man who directed Jaws born?")
