"""Code as users write it: both checkers, strict, have nothing to say. It is read, never run."""
# pyright: strict
# Not reported are the methods and functions of frameworks whose own types are partly unknown.
# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false

from pathlib import Path
from typing import Any, NotRequired

from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType]
from langchain_classic.evaluation import ExactMatchStringEvaluator
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import FakeListChatModel, FakeListLLM
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.prompts import PromptTemplate
from langchain_core.runnables import (
    ConfigurableField,
    ConfigurableFieldSingleOption,
    RunnableConfig,
    RunnableLambda,
)
from langchain_core.vectorstores import InMemoryVectorStore
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from llama_index.core import MockEmbedding, VectorStoreIndex
from llama_index.core.evaluation import CorrectnessEvaluator
from llama_index.core.llms import MockLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.query_engine import RouterQueryEngine
from llama_index.core.response_synthesizers import CompactAndRefine, ResponseMode
from llama_index.core.tools import QueryEngineTool
from llama_index.core.vector_stores import MetadataFilters
from typing_extensions import TypedDict

import langchain_skr
import llamaindex_skr
from langchain_skr import (
    SKRChain,
    SKRMiddleware,
    SKRRetriever,
    SKRSourcesChain,
    create_skr_chain,
    create_skr_graph,
    create_skr_tool,
)
from llamaindex_skr import SKRQueryEngine, SKRSelector
from skr_core import (
    Answer,
    Budget,
    Question,
    ReferenceStore,
    Settings,
)
from skr_core.reflectors import JudgeReflector
from skr_core.routers import (
    AlwaysRetrieve,
    ConfidenceRouter,
    NeverRetrieve,
    PromptRouter,
    UncertaintyRouter,
)
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
from skr_learn import calibrate, collect, rescore
from skr_store import Store

model = FakeListChatModel(responses=["Paris [1]."])
store = InMemoryVectorStore.from_texts(["It is Paris."], DeterministicFakeEmbedding(size=16))
llm = MockLLM()
scripted, mapping = ScriptedModel(), MappingRetriever({})


def search(query: str) -> list[Document]:
    return [Document(query)]


# LangChain: models and retrievers of every kind, and every option.

chain = create_skr_chain(model, store)
text: str = chain.invoke("Capital?")
texts: list[str] = chain.batch(["Capital?", {"question": "Capital?"}])
chain.invoke({"question": "And of Italy?", "history": [("user", "Capital?"), ("ai", "Paris.")]})
chain.invoke([HumanMessage("Capital?"), AIMessage("Paris."), HumanMessage("And of Italy?")])
shouting: str = (chain | str.upper).invoke({"question": "Capital?"})
cheap = chain.with_config(configurable={"router": NeverRetrieve()})
routers = {"always": AlwaysRetrieve(), "never": NeverRetrieve()}
chosen: SKRChain = chain.configurable_fields(
    router=ConfigurableFieldSingleOption("search", routers, default="always"),
    budget=ConfigurableField(id="limits"),
)
chosen.with_config(configurable={"search": "never"}).invoke("Capital?")
either_chain = chain.configurable_alternatives(ConfigurableField(id="which"), other=cheap)
(either_chain | str.upper).batch(["Capital?"])
with_sources = create_skr_chain(model, store, return_sources=True)
either: SKRChain | SKRSourcesChain = create_skr_chain(model, store, return_sources=bool(text))
sourced: str = with_sources.invoke("Capital?")["context"][0].page_content
asked: str = with_sources.invoke({"input": "Capital?"}).get("input", "")
run_id: str = with_sources.invoke("Capital?")["run_id"]
calls: int = sum(each["calls"] for each in with_sources.invoke("Capital?")["usage"].values())
create_skr_chain(model, {"library": store, "letters": RunnableLambda(search), "own": mapping})
create_skr_chain("openai:gpt-4.1-mini", store.as_retriever())
create_skr_chain(FakeListLLM(responses=["Paris."]), mapping)
create_skr_chain(scripted, RunnableLambda(search))
create_skr_chain(scripted, {"wiki": store, "web": RunnableLambda(search), "own": mapping})
create_skr_chain(model.with_retry(), RunnableLambda(search).with_retry())
create_skr_chain(model.bind(stop=["."]), store)
create_skr_chain(
    model,
    store,
    router=Path("router"),
    reflector=JudgeReflector(scripted),
    budget=Budget(max_rounds=2),
    when_insufficient="refuse",
    on_retriever_error="continue",
    demonstrations=[],
)
create_skr_chain(model, store, router=AlwaysRetrieve(), budget=None)
create_skr_chain(model, store, router="router", reflector="reflector")
create_skr_chain(model, store, document_prompt=PromptTemplate.from_template("{page_content}"))


def remembering(memory: ReferenceStore) -> None:
    create_skr_chain(model, store, reference_store=Store.ephemeral(), scope="shared")
    create_skr_chain(model, store, reference_store=Store.ephemeral().searched_by("bm25"), scope="a")
    create_skr_chain(model, store, reference_store=memory, scope="shared", ttl=3600)
    create_skr_chain(model, store, reference_store=memory, scope=lambda config: config["tags"][0])
    SKRQueryEngine.from_defaults(mapping, reference_store=memory, scope=lambda: "amber")


create_skr_graph(model, store, router="never", store=InMemoryStore(), name="librarian")
graph = create_skr_graph(model, store, checkpointer=InMemorySaver(), review_queries=True)
thread: RunnableConfig = {"configurable": {"thread_id": "1"}}
answer: Answer = answer_of(graph.invoke({"question": "Capital?"}, thread))
answer_of(graph.invoke(Command(resume=["Capital"]), thread))
answer_of(graph.invoke({"messages": [HumanMessage("Capital?")]}, thread))
answer_of(graph.invoke({"question": "Capital?"}, context=SKRContext(budget=Budget(max_calls=1))))
answer_of(graph.invoke({"question": "Capital?"}, version="v2").value)


async def awaited() -> Answer:
    await chain.ainvoke("Capital?")
    return answer_of(await graph.ainvoke({"question": "Capital?"}))


SKRRetriever(retriever=store, k=2).invoke("Capital?")
SKRRetriever(retriever=mapping, router=Path("router"), model="openai:gpt-4.1-mini")
SKRRetriever(retriever=RunnableLambda(search), model=model, budget=Budget(max_rounds=2))

tool = create_skr_tool(model, store, name="ask", budget=Budget(max_rounds=1))
agent = create_agent(
    model,
    tools=[tool],
    middleware=[SKRMiddleware(NeverRetrieve(), retriever=store, tools=["search"])],
)
SKRMiddleware(Path("router"), model=model, budget=Budget(max_references=3))
SKRMiddleware("router", retriever=store)
SKRRetriever(retriever=store, router="confidence:explain", model=model)
create_skr_chain(model, store).as_tool(name="ask")

PromptRouter(model).decide("Capital?")
ConfidenceRouter(model.with_retry(), strategy="vanilla")
UncertaintyRouter(llm, threshold=0.3)
PromptRouter(scripted, template="can_answer")
create_skr_chain(model, store, router=PromptRouter(model), reflector=JudgeReflector(llm))


def right(answer: Answer, question: Question) -> bool:
    return answer.text in question.gold


async def waited(answer: Answer, question: Question) -> float:
    return float(right(answer, question))


records = collect(
    [Question("1", "Capital?", ("Paris",))],
    GraphAnswerer(Settings.of(model, store)),
    out="records.jsonl",
)
collect([Question("1", "Capital?", ("Paris",))], create_skr_chain(model, store), metric=waited)
collect([], create_skr_graph(model, store), metric="f1", on_progress=print)
rescore(records, right).write("rescored.jsonl")
rescore(records.where(model="gpt-4.1"), CorrectnessEvaluator(llm))
rescore(list(records), ExactMatchStringEvaluator())
calibrate(records).save(Path("router"))
langchain_skr.load_model("openai:gpt-4.1-mini", temperature=None, logprobs=True)


# LangGraph: the uncompiled graph, and its nodes in a graph of one's own.

builder = create_self_completion_graph(model=scripted, retriever=mapping, router=NeverRetrieve())
answer_of(builder.compile(checkpointer=InMemorySaver()).invoke({"question": "Capital?"}))


system = Settings.of(scripted, mapping, router=Path("router"), budget=Budget(max_rounds=1))
whole: Answer = GraphAnswerer(system).answer("Capital?", "direct")
SKRContext(router=NeverRetrieve(), when_insufficient="refuse", stream=True)


class Mine(TypedDict):
    question: str
    decision: NotRequired[dict[str, Any]]
    queries: NotRequired[list[str]]
    documents: NotRequired[list[Document]]


def retrieve(state: Mine) -> dict[str, Any]:
    return {"documents": [Document(query) for query in state.get("queries", [])]}


def after_route(state: Mine) -> str:
    return "retrieve" if state.get("decision", {}).get("retrieve") else END


keys = StateKeys(references="documents")
own = StateGraph(Mine)
own.add_node("route", create_route_node(AlwaysRetrieve(), keys=keys))
own.add_node("route_again", create_route_node(Path("router"), model=model))
own.add_node("route_once_more", create_route_node("confidence", model=model))
own.add_node("retrieve", retrieve)
own.add_node("ask", graph)
own.add_node("reflect", create_reflect_node(JudgeReflector(llm), keys=keys))
own.add_node("follow_up", create_follow_up_node(model, keys=keys))
own.add_edge(START, "route")
own.add_conditional_edges("route", after_route, ["retrieve", END])
own.compile().invoke({"question": "Capital?"})


# LlamaIndex.

index = VectorStoreIndex([], embed_model=MockEmbedding(8))
engine = SKRQueryEngine.from_defaults(index, llm=llm, budget=Budget(max_rounds=2))
engine.query("Capital?")
SKRQueryEngine.from_defaults(index.as_retriever(), llm="openai:gpt-4.1-mini", streaming=True)
SKRQueryEngine.from_defaults(
    {"library": index, "letters": index.as_retriever()},
    llm=llm,
    node_postprocessors=[SimilarityPostprocessor(similarity_cutoff=0.5)],
)
SKRQueryEngine.from_defaults(index, similarity_top_k=4, filters=MetadataFilters(filters=[]))
SKRQueryEngine.from_defaults(mapping, llm=scripted, router=Path("router"))
SKRQueryEngine.from_defaults(mapping, llm=scripted, router="router", reflector="reflector")
SKRQueryEngine.from_defaults([index, index.as_retriever(), mapping], llm=llm, router="router")
keeping = SKRQueryEngine.from_defaults(
    index, response_synthesizer=CompactAndRefine(llm=llm, streaming=True)
)
for_amber: SKRQueryEngine = keeping.with_options(
    filters=MetadataFilters(filters=[]), scope="amber", router="router"
)
found: str = for_amber.retrieve("Capital?")[0].text
SKRQueryEngine.from_args(index, llm=llm, when_insufficient="refuse", metadata_keys=["year"])
llamaindex_skr.SKRChatEngine.from_defaults(index, llm=llm, decompose=True).chat("Capital?")
SKRQueryEngine.from_defaults(llm=llm, router=NeverRetrieve())
SKRQueryEngine(builder.compile(), SKRContext(), streaming=True)
SKRQueryEngine(graph)
nodes = llamaindex_skr.SKRRetriever(index, k=2, llm=llm, router=NeverRetrieve()).retrieve("Who?")
llamaindex_skr.SKRRetriever(mapping)
llamaindex_skr.SKRRetriever([index, mapping], router="router").with_options(k=2).retrieve("Who?")
chat = llamaindex_skr.SKRChatEngine.from_defaults(index, llm=llm, router="router")
chat.with_options(scope=lambda: "amber").with_memory(ChatMemoryBuffer.from_defaults()).chat("Who?")
SKRSelector("router")
RouterQueryEngine(
    selector=SKRSelector(Path("router"), retrieving=1),
    query_engine_tools=[
        QueryEngineTool.from_defaults(engine),
        QueryEngineTool.from_defaults(index.as_query_engine(response_mode=ResponseMode.NO_TEXT)),
    ],
    llm=llm,
)
SKRSelector(NeverRetrieve())
llamaindex_skr.create_skr_tool(engine, name="ask")
llamaindex_skr.load_model("qwen3:8b", base_url="http://localhost:11434/v1")
