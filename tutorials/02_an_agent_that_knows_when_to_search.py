# %% [markdown]
# # An agent that knows when to search
#
# An agent with a search tool tends to search for everything, or for too little: it sees one page
# of results and answers. This tutorial gives a LangChain agent the two things that it lacks, a
# decision *whether* to search and a search that goes on *until* the passages suffice, in three
# ways:
#
# 1. as **middleware**: the decision and the passages come before the model, which has no tool;
# 2. as a **tool**: the model decides when to call it, and the whole loop runs inside;
# 3. as a **sub-graph**: your own LangGraph graph has the loop as one of its nodes.
#
# Everything runs offline over Varnland, an invented country of 117 passages that ships with the
# package. At the end a table says which way is good for what.

# %%
import os

from skr_app.country import load_country
from skr_store import Store

country = load_country()
store = Store.ephemeral(k=4)  # any LangChain retriever or vector store does as well
added = store.add(list(country.corpus))

# %% [markdown]
# ## A model for the agent
#
# Set `SKR_MODEL=openai:gpt-4.1-mini`, or any other id of `init_chat_model`, and the agent has a
# real model. Without, a stand-in takes its place. It follows three rules that you would expect of
# a model, and knows no language: if it has a tool it calls it with the user's question; if a tool
# has replied it passes that on; otherwise it quotes from the passages that it is shown, or says
# what its memory holds. You can skip the cell. What matters is that it answers from what it is
# given.

# %%
import re

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool

from langchain_skr import load_model
from skr_core import Reference
from skr_core.prompts import answer_anyway

PASSAGE = re.compile(r'^\[\d+\] ([^\n]*)\n"""\n(.*?)\n"""$', re.DOTALL | re.MULTILINE)
reader = country.model()  # quotes from passages, or says what it remembers


class StandIn(BaseChatModel):
    @property
    def _llm_type(self):
        return "stand-in"

    def bind_tools(self, tools, **kwargs):
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools])

    def _generate(self, messages, stop=None, run_manager=None, tools=(), **kwargs):
        question = [each.text for each in messages if each.type == "human"][-1]
        if messages[-1].type == "tool":
            reply = AIMessage(messages[-1].text.partition("\n\nSources:")[0])
        elif tools:
            name = tools[0]["function"]["name"]
            call = {"name": name, "args": {"question": question}, "id": "call-1"}
            reply = AIMessage("", tool_calls=[call])
        else:
            shown = "\n".join(each.text for each in messages if each.type == "system")
            passages = [Reference.of(text, title) for title, text in PASSAGE.findall(shown)]
            reply = AIMessage(reader.generate(answer_anyway(question, passages)).text)
        return ChatResult(generations=[ChatGeneration(message=reply)])


agent_model = os.environ.get("SKR_MODEL") or StandIn()
model = load_model(agent_model) if isinstance(agent_model, str) else reader  # for the loop itself

# %% [markdown]
# ## A router
#
# Whether a question needs a search is learnt from records of your own model: [the first
# tutorial](01_does_my_rag_need_retrieval.ipynb) shows how, and how to find out whether that pays
# at all. In short:

# %%
from skr_core import Settings
from skr_graphs import GraphAnswerer
from skr_learn import calibrate, collect

records = collect(country.questions, GraphAnswerer(Settings.of(model, store)))
# What looks at the question alone costs no call. How often to search is nothing that the middleware
# decides, so the router chooses between none and as often as it takes.
router = calibrate(
    records, routers=["question"], actions=["direct", "loop"], retrieval_rate=0.7
).router

for question in ("How high is Mount Tarrow?", "Who is the mayor of Penmarrow?"):
    decision = router.decide(question)
    action = "search" if decision.retrieve else "answer from memory"
    print(
        f"{question}\n  {action}: a search is expected to change accuracy by {decision.score:+.1f}"
    )

# %% [markdown]
# ## 1. Middleware: decide and search before the model
#
# `SKRMiddleware` looks at the user's latest message before the agent's model is called. If the
# router says that the model knows, nothing happens. If not, the passages are fetched and join the
# system message. The model needs no tool and no extra call.

# %%
from textwrap import fill

from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler

from langchain_skr import SKRMiddleware


class Seen(BaseCallbackHandler):
    """Notes what each call of a chat model is shown: the names of its tools, and the messages."""

    def __init__(self):
        self.calls = []

    def on_chat_model_start(self, serialized, messages, *, invocation_params, **kwargs):
        tools = [tool["function"]["name"] for tool in invocation_params.get("tools") or ()]
        self.calls.append((tools, messages[0]))


def show(text, before=""):
    """Prints a text in lines that fit."""
    for line in text.splitlines() or [""]:
        print(fill(line, 96, initial_indent=before, subsequent_indent=" " * len(before)))
        before = " " * len(before)


def titles(state):
    return ", ".join(reference["title"] for reference in state["skr_references"]) or "nothing"


seen = Seen()
agent = create_agent(
    agent_model,
    system_prompt="You answer visitors of Varnland.",
    middleware=[SKRMiddleware(router, retriever=store)],
)
for question in ("How high is Mount Tarrow?", "Who is the mayor of Penmarrow?"):
    state = agent.invoke({"messages": [("user", question)]}, {"callbacks": [seen]})
    print(question)
    show(state["messages"][-1].text, before="  answer:  ")
    show(titles(state), before="  fetched: ")

# %% [markdown]
# What does the agent's model see? For the first question the system prompt alone. For the second
# the passages behind it: numbered, each between two lines that no passage can imitate, so that it
# is hard for a passage to pose as an instruction of yours.

# %%
for tools, messages in seen.calls:
    system, user = messages
    print(f"=== user: {user.text}   tools: {tools or 'none'}")
    show(system.text if len(system.text) < 560 else f"{system.text[:560]} ...")
    print()

# %% [markdown]
# When the answer comes back its markers are resolved. A marker that names no passage is taken out
# and counted, and each of the others carries the sentence of the passage that supports it:

# %%
for citation in state["skr_citations"]:
    source = state["skr_sources"][citation["marker"] - 1]
    show(f"{source['title']}: {citation['quote']}", before=f"[{citation['marker']}] ")
print("removed markers:", state["skr_removed_markers"])

# %% [markdown]
# ### One search is not always enough
#
# Middleware searches once, for the question as it stands. Here that finds the lighthouse and its
# engineer's name, but not the passage about her:

# %%
TWO_HOPS = "Where was the engineer who designed the Marrow Bay lighthouse born?"
state = agent.invoke({"messages": [("user", TWO_HOPS)]})
show(state["messages"][-1].text)

# %% [markdown]
# With a model, `SKRRetriever` is a retriever that goes on: it lets the model draft an answer,
# reads what is missing, and searches for that. Put it in the place of the store. The agent's own
# model is still called once, and sees only the passages that sufficed.

# %%
from langchain_skr import SKRRetriever

patient = SKRRetriever(retriever=store, model=model)
agent = create_agent(agent_model, middleware=[SKRMiddleware(router, retriever=patient)])
state = agent.invoke({"messages": [("user", TWO_HOPS)]})
show(state["messages"][-1].text, before="answer:  ")
show(titles(state), before="fetched: ")

# %% [markdown]
# ## 2. A tool: the agent decides, the loop runs inside
#
# `create_skr_tool` makes one tool of the whole loop. To the agent it looks like a colleague who
# is asked a question and comes back with an answer and its sources. Give the tool a description
# that says what it knows about: from it the model learns when to call it. The agent sees the
# answer's text and the list of sources, nothing else. How the answer came about is in the
# message's artifact, for you and not for the model.

# %%
from langchain_skr import create_skr_tool
from skr_graphs import answer_of

tool = create_skr_tool(
    model,
    store,
    name="ask_the_archive",
    description="Answers questions about Varnland, with citations.",
)
agent = create_agent(agent_model, tools=[tool])
state = agent.invoke({"messages": [("user", TWO_HOPS)]})
for message in state["messages"]:
    if message.text:
        show(message.text, before=f"{message.type:6}")
    for call in getattr(message, "tool_calls", ()):
        show(f"calls {call['name']}({call['args']['question']!r})", before=f"{message.type:6}")

print("\nIn the artifact:")
for message in state["messages"]:
    if message.type == "tool":
        answer = answer_of(message.artifact)
        for number, round_ in enumerate(answer.rounds, start=1):
            verdict = "sufficient" if round_.reflection.sufficient else "not yet"
            print(f"round {number}: {', '.join(round_.queries)}")
            print(f"         {len(round_.found)} new passages, {verdict}")
        print("stopped:", answer.stop_reason, "| model calls:", answer.total_usage.calls)

# %% [markdown]
# A tool and the middleware go together. Name the tool to the middleware, and it is withheld where
# the router says that the model knows: the model cannot call what it is not shown.

# %%
agent = create_agent(
    agent_model, tools=[tool], middleware=[SKRMiddleware(router, tools=["ask_the_archive"])]
)
for question in ("How high is Mount Tarrow?", "Who is the mayor of Penmarrow?"):
    seen = Seen()
    state = agent.invoke({"messages": [("user", question)]}, {"callbacks": [seen]})
    print(f"{question}  tools shown: {seen.calls[0][0] or 'none'}")
    show(state["messages"][-1].text, before="  ")

# %% [markdown]
# ## 3. A sub-graph: the loop as a node of your own graph
#
# If you build with LangGraph yourself, `create_skr_graph` is a compiled graph like any other.
# Where your state has the keys `question` and `answer`, add it as a node; otherwise call it in a
# node that translates. This desk answers a letter: its first node finds the question, the last
# one writes back.

# %%
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from langchain_skr import create_skr_graph


class Letter(TypedDict, total=False):
    letter: str
    question: str  # a key of the inner graph
    answer: str  # likewise
    reply: str


def find_question(state: Letter) -> Letter:
    sentences = re.split(r"(?<=[.!?])\s+", state["letter"])
    return {"question": next(each for each in sentences if each.endswith("?"))}


def write_back(state: Letter) -> Letter:
    return {"reply": f"Dear reader, here is what our archive says. {state['answer']}"}


desk = StateGraph(Letter)
desk.add_node("find_question", find_question)
desk.add_node("archive", create_skr_graph(model, store, router=router))
desk.add_node("write_back", write_back)
desk.add_edge(START, "find_question")
desk.add_edge("find_question", "archive")
desk.add_edge("archive", "write_back")
desk.add_edge("write_back", END)
graph = desk.compile()

LETTER = (
    f"Good morning. I have a question about my favourite building. {TWO_HOPS} Yours, a visitor."
)
show(graph.invoke({"letter": LETTER})["reply"])

# %% [markdown]
# While it runs you can watch from outside: with `subgraphs=True` the inner graph's events come
# through, each with the name of the node that it happened in.

# %%
stream = graph.stream({"letter": LETTER}, stream_mode="custom", subgraphs=True)
for path, event in stream:
    node = path[0].partition(":")[0]
    if event["type"] == "query":
        print(f"{node}: round {event['round']} searches {event['query']!r}")
    elif event["type"] == "reflection":
        print(f"{node}: sufficient: {event['reflection']['sufficient']}")

# %% [markdown]
# ## Which one to take
#
# | | middleware | tool | sub-graph |
# |---|---|---|---|
# | who decides to search | the router | the agent's model, or a router too | the router |
# | calls of the agent's model | 1 | 2 | none of its own |
# | searches until the passages suffice | with `SKRRetriever(model=...)` | yes | yes |
# | the agent sees | passages in its system message | an answer with sources | you decide |
# | good for | a chat over one collection | an agent with several tools | a fixed course of work |
#
# Things to change: `budget=Budget(max_rounds=2, max_calls=4)` bounds what one question may cost;
# `SKRMiddleware(..., model=model)` also rewrites a message such as "And where was she born?"
# before it is routed; a `checkpointer` lets a conversation go on, with the same number for the
# same source. All of it is described in [LangChain and LangGraph](../langchain.md).
