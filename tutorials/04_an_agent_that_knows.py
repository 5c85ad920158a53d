# %% [markdown]
# # 4. An agent that knows
#
# [![Open in Colab](../pictures/colab.svg)](https://colab.research.google.com/github/skr-rag/skr-rag/blob/main/docs/tutorials/04_an_agent_that_knows.ipynb)
#
# **At the end** you have a LangChain agent that searches only where it has to, and then until the
# documents suffice. **Time:** 25 minutes. **You need** to have used `create_agent` once; no key.
#
# An agent with a search tool tends to search for everything, or too little: it reads one page of
# results and answers. It lacks two things, a decision *whether* to search and a search that goes on
# *until* the documents suffice. You give it both in two ways:
#
# 1. as **middleware**: the decision and the documents come before the model, which has no tool;
# 2. as a **tool**: the model decides when to call it, and the whole loop runs inside.

# %%
import os
from importlib.util import find_spec

from IPython import get_ipython

if find_spec("skr_core") is None:  # on Colab nothing is installed yet
    source = "git+https://github.com/skr-rag/skr-rag"
    get_ipython().run_line_magic("pip", f"install -q 'skr-rag[all] @ {source}'")

# %%
from skr_app.country import load_country
from skr_store import Store

country = load_country()  # an invented country
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
# A *router* says of a question whether the model needs a search for it. It is learnt from records
# of your own model: [lesson 3](03_when_to_retrieve.ipynb) shows how, and how to find out whether
# that pays at all. In short:

# %%
from skr_core import Settings
from skr_graphs import GraphAnswerer
from skr_learn import calibrate, collect

known = [each for each in country.questions if "known" in each.types][:20]
unknown = [each for each in country.questions if "outdated" in each.types][:20]
learnt = [each for each in country.questions if each not in known + unknown]  # 40 are kept apart

records = collect(learnt, GraphAnswerer(Settings.of(model, store)))
# A router that looks at the question alone costs no call. The middleware only decides whether to
# search, so two actions are enough; 0.7 is the share of questions that are searched for.
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
# ### One search is not always enough
#
# Middleware searches once, for the question as it stands. Here that finds the lighthouse, but not
# the passage about the engineer who designed it; the model quotes what it can:

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
# ## What it brings
#
# The forty questions that the router has never seen, half of them known to the model, put to three
# agents: one that never searches, one with the tool, and one with the middleware.

# %%
import matplotlib.pyplot as plt

agents = {
    "no search": create_agent(agent_model),
    "tool": create_agent(agent_model, tools=[tool]),
    "middleware": create_agent(agent_model, middleware=[SKRMiddleware(router, retriever=patient)]),
}
right, calls = {}, {}
for name, agent in agents.items():
    seen = Seen()
    right[name] = 0
    for each in [*known, *unknown]:
        state = agent.invoke({"messages": [("user", each.asked)]}, {"callbacks": [seen]})
        right[name] += any(gold in state["messages"][-1].text for gold in each.gold)
    calls[name] = len(seen.calls)

figure, panels = plt.subplots(1, 2, figsize=(6.4, 1.9), dpi=80, sharey=True)
for axes, counts, label in zip(
    panels, (right, calls), ("right of 40", "calls of the agent's model"), strict=True
):
    axes.bar_label(axes.barh(list(counts), list(counts.values()), color="#1f66b8"), padding=3)
    axes.set(xlabel=label, xlim=(0, 1.25 * max(counts.values())))
panels[0].invert_yaxis()
figure.tight_layout()

# %% [markdown]
# The tool searches for everything, and this reader loses most of what it knew; the router searches
# only for about half. Forty questions are too few to tell a small difference from chance. The
# middleware costs the agent's own model no further call; the searches of both ask a model for
# themselves, which the right panel leaves out.
#
# | | middleware | tool |
# |---|---|---|
# | who decides to search | the router | the agent's model, or a router too |
# | calls of the agent's model | 1 | 2 |
# | searches until the documents suffice | with `SKRRetriever(model=...)` | yes |
# | the agent sees | documents in its system message | an answer with sources |
# | good for | a chat over one collection | an agent with several tools |
#
# A graph of your own takes the loop as a node: [05_subgraph.py](../../examples/05_subgraph.py).
#
# ## The same with a real model
#
# Why not leave it all to the model? This is a published trace of a ReAct agent over Wikipedia
# ([Reflexion, MIT licence](https://github.com/noahshinn/reflexion)). From the fourth step on it
# searches for the same again and again, until it is halted without an answer:
#
# > - **question:** Grown-Ups starred the actor who was best known for which role on "'Allo 'Allo!"?
# > - **model:** I need to search List of "'Allo 'Allo!" characters and find which actor was best
# >   known for which role.
# > - **search:** Search["List of 'Allo 'Allo! characters"]
# > - **found:** Could not find ["List of 'Allo 'Allo! characters"].
#
# Inside the loop no query is searched twice, and where nothing new is found it ends with the best
# there is. Where `SKR_DATA` names a folder of recorded data, this cell shows each step:

# %%
import gzip
import json
from pathlib import Path

TRACES = Path(os.environ.get("SKR_DATA", "nowhere")) / "multistep_traces.jsonl.gz"
if TRACES.exists():
    with gzip.open(TRACES, "rt", encoding="utf-8") as lines:
        traces = {each["id"]: each for each in map(json.loads, lines)}
    for step in traces["5add596f5542990dbb2f7e4d"]["steps"]:
        show(f"{step['thought']} {step['action']}", before="- ")

# %% [markdown]
# ## Exercises
#
# **1.** Replace the router by a rule of your own: search for whatever may have changed, and trust
# the model with the rest. Any object with `decide` and `adecide` that return a
# `skr_core.Decision(retrieve, reason=...)` is a router.
#
# <details markdown="1"><summary>Solution</summary>
#
# ```python
# from skr_core import Decision
#
#
# class WhatChanges:
#     def decide(self, question):
#         changes = re.search(r"\b(is|are|now|mayor|record)\b", question)
#         return Decision(bool(changes), reason=changes[0] if changes else "does not change")
#
#     async def adecide(self, question):
#         return self.decide(question)
#
#
# agent = create_agent(agent_model, middleware=[SKRMiddleware(WhatChanges(), retriever=store)])
# for question in ("Who painted The Ferry at Dusk?", "Who is the mayor of Penmarrow?"):
#     state = agent.invoke({"messages": [("user", question)]})
#     print(question, state["messages"][-1].text, titles(state), sep="\n  ")
# ```
#
# Measure such a rule before you trust it: it knows words, not what your model knows.
#
# </details>
#
# **2.** Bound what one question may cost the tool: no more than one round, then two.
#
# <details markdown="1"><summary>Solution</summary>
#
# ```python
# from skr_core import Budget
#
# for rounds in (1, 2):
#     bounded = create_skr_tool(model, store, budget=Budget(max_rounds=rounds))
#     call = {"name": bounded.name, "args": {"question": TWO_HOPS}, "id": "1", "type": "tool_call"}
#     message = bounded.invoke(call)
#     print(answer_of(message.artifact).stop_reason, message.text, sep=" | ")
# ```
#
# One round ends with `max_rounds`, and the agent is told that the answer is not a full one. Two are
# enough here. `max_calls`, `max_tokens`, `deadline_s` and `max_spend` bound in the same way.
#
# </details>
#
# ## Read on
#
# Conversations, checkpointers and the same numbers for the same sources: [LangChain and
# LangGraph](../langchain.md). The same for LlamaIndex: [lesson 5](05_llamaindex.ipynb).
