"""Mistakes of users: both checkers find each of them. It is read, never run."""
# pyright: strict, reportMissingTypeStubs=false, reportUnknownMemberType=false

from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core import MockEmbedding, VectorStoreIndex
from llama_index.core.llms import MockLLM

import langchain_skr
import llamaindex_skr
from langchain_skr import (
    SKRMiddleware,
    SKRRetriever,
    create_skr_chain,
    create_skr_graph,
    create_skr_tool,
)
from llamaindex_skr import SKRQueryEngine, SKRSelector
from skr_core import Budget, Settings
from skr_core.reflectors import JudgeReflector
from skr_core.routers import AlwaysRetrieve, PromptRouter
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_graphs import (
    GraphAnswerer,
    SKRContext,
    StateKeys,
    answer_of,
    create_follow_up_node,
    create_reflect_node,
    create_route_node,
    create_self_completion_graph,
)
from skr_learn import collect

model = FakeListChatModel(responses=["Paris [1]."])
store = InMemoryVectorStore.from_texts(["It is Paris."], DeterministicFakeEmbedding(size=16))
scripted, mapping = ScriptedModel(), MappingRetriever({})
llm, index = MockLLM(), VectorStoreIndex([], embed_model=MockEmbedding(8))


def texts(query: str) -> list[str]:
    return [query]


# LangChain.

create_skr_chain(42, store)  # error
create_skr_chain(model, "x")  # error
create_skr_chain(store, model)  # error
create_skr_chain(model, llm)  # error
create_skr_chain(store.as_retriever(), store)  # error
create_skr_chain(model, RunnableLambda(texts))  # error
create_skr_chain(model, {"library": model})  # error
create_skr_chain(model, [store])  # error
create_skr_chain(model, store, compressor=store)  # error
create_skr_chain(model)  # error
create_skr_chain(model, store, budgett=3)  # error
create_skr_chain(model, store, budget=3)  # error
create_skr_chain(model, store, router=AlwaysRetrieve)  # error
create_skr_chain(model, store, reflector=scripted)  # error
create_skr_chain(model, store, reference_store=store)  # error
create_skr_chain(model, store, scope=3)  # error
SKRContext(scope="amber")  # error
create_skr_chain(model, store, when_insufficient="abstain")  # error
create_skr_chain(model, store, on_retriever_error=True)  # error
create_skr_chain(model, store, review_queries=True)  # error
create_skr_chain(model, store, document_prompt="{page_content}")  # error
create_skr_chain(model, store).invoke(42)  # error
create_skr_chain(model, store, return_sources=True).invoke("Capital?").strip()  # error
create_skr_chain(model, store, return_sources=True).invoke("Capital?")["sources"]  # error
create_skr_chain(model, store).configurable_fields(router="never")  # error
create_skr_graph(42, store)  # error
create_skr_graph(model, store, store=store)  # error
create_skr_graph(model, store, when="refuse")  # error
create_skr_graph(model, store).invoke({"query": "Capital?"})  # error
create_skr_graph(model, store).invoke({"messages": "Capital?"})  # error
create_skr_graph(model, store).invoke({"question": "Capital?"}, context=3)  # error
answer_of("Paris.")  # error
create_skr_tool(model, 42)  # error
create_skr_tool(model, store, nam="ask")  # error
SKRRetriever(retriever=42)  # error
SKRRetriever(retriever=store, model=42)  # error
SKRRetriever(retriever=store, top_k=2)  # error
SKRMiddleware(retriever=42)  # error
SKRMiddleware(store)  # error
SKRMiddleware(budget=3)  # error
PromptRouter("openai:gpt-4.1-mini")  # error
PromptRouter(store)  # error
JudgeReflector(42)  # error
langchain_skr.LangChainModel(store)  # error
langchain_skr.LangChainRetriever(model)  # error
langchain_skr.as_language_model(42)  # error
langchain_skr.as_retriever(42)  # error
langchain_skr.load_model(model)  # error

collect([], GraphAnswerer(Settings.of(model, store)), outt="records.jsonl")  # error
collect([], create_skr_chain(model, store), metric=3)  # error

# LangGraph.

create_self_completion_graph(model=model, retriever=mapping)  # error
create_self_completion_graph(model=scripted, retriever=store)  # error
create_self_completion_graph(model=scripted, retriever=mapping, budgett=3)  # error
Settings.of(scripted, mapping, budgett=3)  # error
Settings(model, mapping)  # error
GraphAnswerer(Settings(scripted)).answer("Capital?", "twice")  # error
SKRContext(budgett=3)  # error
SKRContext(model=model)  # error
Budget(max_round=3)  # error
create_route_node(AlwaysRetrieve(), model="openai:gpt-4.1-mini")  # error
create_reflect_node(scripted)  # error
create_follow_up_node(42)  # error
StateKeys(documents="documents")  # error

# LlamaIndex.

SKRQueryEngine.from_defaults(42)  # error
SKRQueryEngine.from_defaults(index, llm=42)  # error
SKRQueryEngine.from_defaults(index, llm=model)  # error
SKRQueryEngine.from_defaults(store, llm=llm)  # error
SKRQueryEngine.from_defaults(index, budgett=3)  # error
SKRQueryEngine.from_defaults(index, k=4)  # error
SKRQueryEngine.from_defaults(index, when_insufficient="abstain")  # error
SKRQueryEngine.from_defaults(index, similarity_top_k="4")  # error
SKRQueryEngine.from_defaults(index, filters={"year": 2020})  # error
SKRQueryEngine.from_defaults(index, node_postprocessors=[llm])  # error
SKRQueryEngine.from_defaults({"library": store}, llm=llm)  # error
SKRQueryEngine(index)  # error
llamaindex_skr.SKRChatEngine.from_defaults(index, memory="a buffer")  # error
llamaindex_skr.SKRRetriever(index, similarity_top_k=4)  # error
llamaindex_skr.SKRRetriever(42)  # error
llamaindex_skr.SKRRetriever(index, llm=42)  # error
llamaindex_skr.SKRRetriever(index, budget=3)  # error
SKRSelector(42)  # error
llamaindex_skr.create_skr_tool(index)  # error
llamaindex_skr.LlamaIndexModel("openai:gpt-4.1-mini")  # error
llamaindex_skr.LlamaIndexRetriever(index)  # error
llamaindex_skr.openai_like("qwen3:8b", streams=True)  # error
llamaindex_skr.as_language_model(42)  # error
llamaindex_skr.as_retriever(42)  # error
llamaindex_skr.load_model("qwen3:8b", url="http://localhost:11434/v1")  # error
