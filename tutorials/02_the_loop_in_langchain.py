# %% [markdown]
# # 2. The loop in LangChain: by hand, then by us
#
# [![Open in Colab](../pictures/colab.svg)](https://colab.research.google.com/github/skr-rag/skr-rag/blob/main/docs/tutorials/02_the_loop_in_langchain.ipynb)
#
# **At the end** you have built a chain that goes on searching until the documents suffice, know
# what its thirty lines leave out, and have put one line in their place. **Time:** 20 minutes.
# **You need** to have built one chain of retriever, prompt and model before; no key.

# %%
import os
from importlib.util import find_spec

from IPython import get_ipython

if find_spec("skr_core") is None:  # on Colab nothing is installed yet
    source = "git+https://github.com/skr-rag/skr-rag"
    get_ipython().run_line_magic("pip", f"install -q 'skr-rag[all] @ {source}'")

# %% [markdown]
# ## A retriever and a model, as you have them
#
# The documents are those of *Varnland*, an invented country that comes with the package, in
# LangChain's own `InMemoryVectorStore`. The two classes stand for an embedding and a chat model of
# yours, so that this runs offline; you can skip what is in them. With
# `SKR_MODEL=openai:gpt-4.1-mini` a real model takes the second one's place.

# %%
import re

from langchain.chat_models import init_chat_model
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.vectorstores import InMemoryVectorStore

from skr_app.country import load_country
from skr_core import HashingEmbedder, Reference
from skr_core.prompts import answer_with_references

country = load_country()


class SharedWords(Embeddings):
    """Finds shared words. Yours: OpenAIEmbeddings, HuggingFaceEmbeddings ..."""

    def embed_documents(self, texts):
        return HashingEmbedder().embed(texts).tolist()

    def embed_query(self, text):
        return self.embed_documents([text])[0]


class StandIn(BaseChatModel):
    """Quotes sentences of the passages that it is shown, or says what to search for."""

    @property
    def _llm_type(self):
        return "stand-in"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        shown = "\n".join(message.text for message in messages)
        question = re.search(r"^Question: (.*)", shown, re.MULTILINE)[1]
        passage = re.compile(r'^\[\d+\] ([^\n]*)\n"""\n(.*?)\n"""$', re.DOTALL | re.MULTILINE)
        passages = [Reference.of(text, title) for title, text in passage.findall(shown)]
        reply = country.model().generate(answer_with_references(question, passages))
        return ChatResult(generations=[ChatGeneration(message=AIMessage(reply.text))])


documents = [Document(each.text, metadata={"title": each.title}) for each in country.corpus]
store = InMemoryVectorStore.from_documents(documents, SharedWords())
retriever = store.as_retriever(search_kwargs={"k": 4})
model = init_chat_model(os.environ["SKR_MODEL"]) if "SKR_MODEL" in os.environ else StandIn()

# %% [markdown]
# ## Why a loop
#
# One document names the engineer, another says where she was born. The question shares
# hardly a word with the second, so a search for the question does not find it:

# %%
QUESTION = "Where was the engineer who designed the Marrow Bay lighthouse born?"
print(*[found.metadata["title"] for found in retriever.invoke(QUESTION)], sep="\n")

# %% [markdown]
# A model that reads these four knows what is missing: a name has turned up, and a birth has not.
# So let it say so, search for that, and ask again.
#
# ## By hand, in thirty lines
#
# Two nodes and one condition of LangGraph. The model replies with a verdict; if that is not
# `SUFFICIENT`, the line that begins with `Search:` is the next query.

# %%
from typing import TypedDict

from langgraph.graph import END, START, StateGraph

PROMPT = """Begin with SUFFICIENT if the passages answer the question, else with INSUFFICIENT.
If they do, answer below it and cite passages like [1].
If not, write one line "Search: " and what to search for next.\n\nQuestion: {}\n\n{}"""


class State(TypedDict):
    question: str
    query: str
    found: list
    reply: str
    rounds: int


def retrieve(state):
    known = state.get("found", [])
    new = retriever.invoke(state.get("query") or state["question"])
    return {"found": known + [each for each in new if each not in known]}


def answer(state):
    numbered = [
        f'[{number}] {each.metadata["title"]}\n"""\n{each.page_content}\n"""'
        for number, each in enumerate(state["found"], start=1)
    ]
    reply = model.invoke(PROMPT.format(state["question"], "\n".join(numbered))).text
    query = re.search(r"^Search: (.*)", reply, re.MULTILINE)
    return {"reply": reply, "query": query and query[1], "rounds": state.get("rounds", 0) + 1}


def enough(state):
    return END if state["reply"].startswith("SUFFICIENT") or state["rounds"] == 3 else "retrieve"


by_hand = StateGraph(State).add_node("retrieve", retrieve).add_node("answer", answer)
by_hand.add_edge(START, "retrieve").add_edge("retrieve", "answer")
graph = by_hand.add_conditional_edges("answer", enough, ["retrieve", END]).compile()

# %%
from textwrap import fill

for update in graph.stream({"question": QUESTION}):
    for node, changes in update.items():
        titles = [each.metadata["title"] for each in changes.get("found", ())]
        for line in (changes.get("reply") or ", ".join(titles)).splitlines():
            print(fill(line, 96, initial_indent=f"{node:9} ", subsequent_indent=" " * 10))
            node = ""

# %% [markdown]
# That is the whole idea, and it works. [Lesson 1](01_what_happens_to_one_question.ipynb) drew the
# same loop with its proper names: `answer` and `reflect` are your `answer` and `enough`,
# `follow_up` is your `Search:` line.
#
# ## By us, in one line

# %%
from langchain_skr import create_skr_chain

chain = create_skr_chain(model, retriever, return_sources=True)

found = chain.invoke(QUESTION)
print(fill(found["answer"], 96))
print("\nsearched:", [query for each in found["rounds"] for query in each["queries"]])
print("stopped: ", found["stop_reason"])
for citation in found["citations"]:
    print(f"[{citation['marker']}]", fill(citation["quote"], 90, subsequent_indent="    "))

# %% [markdown]
# `chain` is a `Runnable`: `invoke`, `batch`, `stream` and their async forms. Without
# `return_sources` it returns the answer as a string, as your chain does today.
#
# ## Is it any better?
#
# Here are all questions of Varnland that take two documents: with one search, by the thirty lines
# and by the chain. An answer is right where it contains the right words.

# %%
import matplotlib.pyplot as plt

from skr_core import Budget

two_hops = [each for each in country.questions if "two hops" in each.types]
once = create_skr_chain(model, retriever, budget=Budget(max_rounds=1))
ways = {
    "one search": once.invoke,
    "by hand": lambda question: graph.invoke({"question": question})["reply"],
    "create_skr_chain": lambda question: chain.invoke(question)["answer"],
}
right = {
    name: sum(any(gold in ask(each.asked) for gold in each.gold) for each in two_hops)
    for name, ask in ways.items()
}

figure, axes = plt.subplots(figsize=(6.4, 1.9), dpi=80)
bars = axes.barh(list(right), list(right.values()), color=["#8fb8e0", "#1f66b8", "#1f66b8"])
axes.bar_label(bars, padding=4)
axes.invert_yaxis()
axes.set(xlim=(0, len(two_hops) + 3), xlabel=f"right of {len(two_hops)} questions of two hops")
figure.tight_layout()

# %% [markdown]
# The loop is what helps; ours is no cleverer than yours where the model does as it is told. What
# the other lines of a library are for is the rest of the time.
#
# ## When the model does not do as it is told
#
# Real models cite what is not there, repeat themselves and forget the verdict. LangChain's
# `FakeListChatModel` says what we want it to say, so here are three such replies, given to both:

# %%
from langchain_core.language_models import FakeListChatModel

REPLIES = {
    "cites a passage that is not there": ["SUFFICIENT\nShe was born in Hallerfeld [1][12]."],
    "asks for the same again": ["INSUFFICIENT\nSearch: engineers"] * 3,
    "says that it suffices, citing nothing": ["SUFFICIENT\nShe was born in Kelder."] * 3,
}
for name, replies in REPLIES.items():
    print(f"A model that {name}")
    model = FakeListChatModel(responses=replies)  # the nodes above use whatever `model` is
    state = graph.invoke({"question": QUESTION})
    print(f"  by hand: {state['reply']!r}, calls: {state['rounds']}")
    ours = create_skr_chain(model, retriever, return_sources=True).invoke(QUESTION)
    calls = sum(each["calls"] for each in ours["usage"].values())
    print(f"  by us:   {ours['answer']!r}, calls: {calls}, {ours['stop_reason']}\n")

# %% [markdown]
# - A marker that names no passage is taken out. Those that stay carry the sentence they rest on.
# - A query is never searched twice; where nothing new is found, the loop ends and says why.
# - An answer that cites nothing is not taken for sufficient, whatever the model says of it: the
#   stop reason is `uncited`.
#
# The rest is in [LangChain and LangGraph](../langchain.md): tokens streamed only when the verdict
# is known, limits of calls, tokens and money (`Budget`), conversations, errors of a retriever, and
# passages fenced so that they do not pose as instructions.
#
# ## The same with a real model
#
# The loop is older than this library: *ReAct* (2022) lets a model think, search and read in turn.
# Here is a published trace of it, over Wikipedia ([Reflexion, MIT
# licence](https://github.com/noahshinn/reflexion)). The second search finds the wrong thing, and
# the model sees that. It is what a verdict is for:
#
# > - **question:** Jaclyn Stapp is married to the former frontman of a band that disbanded in what
# >   year?
# > - **search:** Search[Jaclyn Stapp]
# > - **search:** Search[Creed]
# > - **model:** Creed is not the band I am looking for. I need to search Creed (band) instead.
# > - **search:** Search[Creed (band)]
# > - **model:** Creed disbanded in 2004, so the answer is 2004.
#
# Where `SKR_DATA` names a folder of recorded data, this cell shows the whole of it:

# %%
import gzip
import json
from pathlib import Path

TRACES = Path(os.environ.get("SKR_DATA", "nowhere")) / "multistep_traces.jsonl.gz"
if TRACES.exists():
    with gzip.open(TRACES, "rt", encoding="utf-8") as lines:
        traces = {each["id"]: each for each in map(json.loads, lines)}
    for step in traces["5a8e27d45542995a26add46a"]["steps"]:
        print(fill(f"{step['thought']} {step['action']}", 96, subsequent_indent="    "))

# %% [markdown]
# ## Exercises
#
# **1.** Your users wait. Stream the chain's answer, and print the titles of its sources before its
# first token. Its chunks are dictionaries: `context` once, then `answer` in pieces.
#
# <details markdown="1"><summary>Solution</summary>
#
# ```python
# for chunk in chain.stream(QUESTION):
#     if "context" in chunk:
#         print("sources:", [each.metadata["title"] for each in chunk["context"]])
#     print(chunk.get("answer", ""), end="")
# ```
#
# The sources come first: what is shown is never taken back, so tokens begin when the verdict is
# known.
#
# </details>
#
# **2.** Some questions must not cost more than one call. Build that chain, and find out whether its
# answer admits that it is not the whole one.
#
# <details markdown="1"><summary>Solution</summary>
#
# ```python
# cheap = create_skr_chain(
#     StandIn(), retriever, budget=Budget(max_calls=1), return_sources=True
# ).invoke(QUESTION)
# print(cheap["answer"], cheap["stop_reason"], cheap["sufficient"], sep="\n")
# ```
#
# It does: the stop reason is `max_calls`, `sufficient` is false, and the text is a refusal,
# because the stand-in drafts nothing. A part of an answer would stand under a line that says so.
#
# </details>
#
# ## Read on
#
# Nothing here asked *whether* to search. [3. When to retrieve](03_when_to_retrieve.ipynb) does.
# [Which node is which](../beside.md) holds the loop beside CRAG, Self-RAG and Adaptive-RAG.
