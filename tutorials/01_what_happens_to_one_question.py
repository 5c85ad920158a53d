# %% [markdown]
# # 1. What happens to one question
#
# [![Open in Colab](../pictures/colab.svg)](https://colab.research.google.com/github/skr-rag/skr-rag/blob/main/docs/tutorials/01_what_happens_to_one_question.ipynb)
#
# **At the end** you can say of any answer what was searched, what the model was shown, what it
# replied, and why it stopped there. **Time:** 20 minutes. **You need** no key and no documents:
# the package brings an invented country, *Varnland*, of some hundred short documents.
#
# If you know LangChain, you need four words more:
#
# - A **reference** is a document that was found for this question. Each stands once in a prompt,
#   however often it was found.
# - A **round** is one turn of the loop: search, let the model answer, look at what it says.
# - The **verdict** is how a reply begins: `SUFFICIENT` or `INSUFFICIENT`. It ends the loop, or not.
# - A **stop reason** says why the loop ended.

# %%
import os
from importlib.util import find_spec

from IPython import get_ipython

if find_spec("skr_core") is None:  # on Colab nothing is installed yet
    source = "git+https://github.com/skr-rag/skr-rag"
    get_ipython().run_line_magic("pip", f"install -q 'skr-rag[all] @ {source}'")

# %% [markdown]
# ## A question that one search does not answer
#
# The model here is a *stand-in*: it quotes sentences, and knows no language. With
# `SKR_MODEL=openai:gpt-4.1-mini`, or another id of LangChain's `init_chat_model`, a real one takes
# its place; it may take another course than the text describes.

# %%
from skr_app.country import load_country
from skr_store import Store

country = load_country()
store = Store.ephemeral(k=4)  # in memory; each search finds four documents
added = store.add(list(country.corpus))

QUESTION = "Where was the engineer who designed the Marrow Bay lighthouse born?"

# %% [markdown]
# The answer stands in no single passage. One names the engineer, another says where she was born.
#
# `create_skr_graph` is a LangGraph graph like any other. To see each prompt, a recorder stands
# between it and the model: anything with a `name`, `generate` and `agenerate` is a model.

# %%
from langchain_skr import create_skr_graph, load_model


class Recorder:
    """Passes each call on and keeps it."""

    def __init__(self, model):
        self.model, self.name, self.calls = model, model.name, []

    def generate(self, prompt, *, on_token=None):
        generation = self.model.generate(prompt, on_token=on_token)
        self.calls.append((prompt, generation))
        return generation

    async def agenerate(self, prompt, *, on_token=None):
        return self.generate(prompt, on_token=on_token)


if "SKR_MODEL" in os.environ:
    from langchain_skr import as_language_model

    model = Recorder(as_language_model(load_model(os.environ["SKR_MODEL"])))
else:
    model = Recorder(country.model())

from langgraph.checkpoint.memory import InMemorySaver

graph = create_skr_graph(model, store, checkpointer=InMemorySaver())
thread = {"configurable": {"thread_id": "lighthouse"}}

told, wrote = [], []  # what the steps tell while they run, and what they write into the state
for kind, item in graph.stream({"question": QUESTION}, thread, stream_mode=["custom", "updates"]):
    if kind == "custom":
        told.append(item)
    else:
        wrote += item.items()

# %% [markdown]
# ## The graph
#
# These are the steps that there are, drawn from `graph.get_graph()`. Solid arrows are always taken,
# dashed ones on a condition. The steps that this question went through are filled.

# %%
import matplotlib.pyplot as plt

PLACES = {
    "__start__": (0, 3), "condense": (1, 3), "route": (2, 3), "answer_directly": (3.3, 3),
    "decompose": (1, 2), "retrieve": (2, 2), "merge": (3.3, 2),
    "follow_up": (1, 1), "reflect": (2, 1), "answer": (3.3, 1),
    "finish": (2, 0), "arbitrate": (3.3, 0), "__end__": (4.3, 0),
}  # fmt: skip
visited = {"__start__", "__end__", *(node for node, _ in wrote)}

figure, axes = plt.subplots(figsize=(6.4, 3.6), dpi=80)
boxes = {}
for name, (x, y) in PLACES.items():
    colour = "#cfe2f6" if name in visited else "white"
    box = {"boxstyle": "round,pad=0.35", "facecolor": colour, "edgecolor": "#1f66b8"}
    label = name.strip("_").replace("_", " ")
    boxes[name] = axes.text(x, y, label, ha="center", va="center", bbox=box).get_bbox_patch()
for edge in graph.get_graph().edges:
    (x, y), (to_x, to_y) = PLACES[edge.source], PLACES[edge.target]
    passes_others = (x == to_x and abs(to_y - y) > 1) or (y == to_y and abs(to_x - x) > 1.5)
    style = {
        "arrowstyle": "-|>",
        "color": "0.4",
        "linestyle": "--" if edge.conditional else "-",
        "connectionstyle": f"arc3,rad={-0.4 if passes_others else 0}",
        "patchA": boxes[edge.source],
        "patchB": boxes[edge.target],
    }
    axes.annotate("", (to_x, to_y), (x, y), arrowprops=style)
axes.set(xlim=(-0.3, 4.6), ylim=(-0.5, 3.3))
axes.axis("off")
figure.tight_layout(pad=0.2)

# %% [markdown]
# - `condense` reads the question. In a conversation it rewrites one that leans on earlier turns.
# - `route` asks the router. Without a router every question is searched for.
# - `retrieve` runs once for each query, side by side; `merge` joins what they found.
# - `answer` makes the one call of a round: verdict, answer and next queries in one reply.
# - `reflect` reads the verdict. If the references suffice, or a limit is reached, the loop ends.
# - `follow_up` takes the reply's queries, drops those asked before, and sends the rest out.
# - `finish` chooses the answer, resolves its citations and says whether it rests on references.
# - Not needed here: `answer_directly` answers what the router finds known, `decompose` asks for
#   the parts of a question first, and `arbitrate` weighs the model's own answer against this one.
#
# ## What it tells while it runs
#
# The events of `stream_mode="custom"` are plain dictionaries with a `type`. They are what a page
# shows while its user waits.

# %%
from textwrap import fill


def show(text, before=""):
    """Prints a text in lines that fit."""
    for line in text.splitlines():
        print(fill(line, 96, initial_indent=before, subsequent_indent=" " * len(before)))


def in_words(event):
    match event["type"]:
        case "start":
            return event["task"]
        case "route":
            return event["decision"]["reason"]
        case "query":
            return event["query"]
        case "references":
            return f"{event['total']} in hand, new: {[new['title'] for new in event['added']]}"
        case "draft" | "answer":
            return event.get("text", event.get("stop_reason"))
        case "reflection":
            return (
                f"sufficient: {event['reflection']['sufficient']}, {event['reflection']['reason']}"
            )
        case "token":
            return event["text"]
    return ""


for event in told:
    show(in_words(event) or "-", before=f"{event.get('round', ''):1} {event['type']:11}")

# %% [markdown]
# What round 1 finds names Ottilie Brandt, but says nothing of her birth. The loop notices that and
# searches for her. `start` comes before whatever may call a model, so that a page can say what is
# being waited for. The answer's tokens begin only when the verdict is known, so nothing that was
# shown is taken back.
#
# ## What each step writes down
#
# The state is one dictionary of plain values. Each step returns the keys that it changes;
# `condense` also resets what an earlier question left in the thread. `pool`
# holds every reference once, by its id, and `rounds` names them by id:

# %%
for node, update in wrote:
    show(", ".join(sorted(update)), before=f"{node:11}")

_, update = next(each for each in wrote if each[0] == "merge")
print("\nAfter the first merge:")
for place, key in enumerate(update["rounds"][0]["given"], start=1):
    print(f"[{place}] {key[:8]}... {update['pool'][key]['title']}")

# %% [markdown]
# ## Each prompt and each reply
#
# Two rounds, two calls. This is the first prompt, as the model got it. The references are fenced:
# each stands between two lines that no text in it can imitate. The reply begins with the verdict
# on a line of its own, then comes what the references do support, and last what to search for
# next.

# %%
prompt, generation = model.calls[0]
show(prompt.text)

print("\n=== reply ===")
show(generation.text)
usage = generation.usage
print(f"\n({usage.prompt_tokens} tokens sent, {usage.completion_tokens} received)")

# %% [markdown]
# The second prompt is the same with more references, and with what the first one lacks: what was
# searched beside the question, so that nothing is asked twice, and the part of an answer that was
# supported so far, if there was one.

# %%
second, generation = model.calls[-1]
begin, end = second.text.find("Searched so far"), second.text.find("Do the references")
show(second.text[begin:end])
print("\n=== reply ===")
show(generation.text)

# %% [markdown]
# ## The answer
#
# `answer_of` makes an object of the state. Each citation says which sentence of which reference
# supports it, and `grounded` says whether the answer rests on references at all.

# %%
from skr_graphs import answer_of

answer = answer_of(graph.get_state(thread).values)
show(answer.text)
print()
titles = {reference.id: reference.title for reference in answer.references}
for citation in answer.citations:
    show(f"{titles[citation.reference_id]}: {citation.quote}", before=f"[{citation.marker}] ")
print("\nstopped:", answer.stop_reason, "| grounded:", answer.grounded)
print("cost:", {task: usage.total_tokens for task, usage in answer.usage.items()}, "tokens")

# %% [markdown]
# ## Budgets, and why the loop stops
#
# Every way out has a name, the *stop reason*. `sufficient`, `known` and `confirmed` (lesson 3) are
# as it should be. Any other says what ended the loop first; the answer is then the best that there
# was, and it is up to you what to do with it: `when_insufficient` is `"best_draft"`,
# `"own_knowledge"` or `"refuse"`.

# %%
from skr_core import Budget

for budget in ({}, {"max_rounds": 1}, {"max_calls": 1}, {"max_tokens": 300}):
    limited = create_skr_graph(country.model(), store, budget=Budget(**budget))
    found = answer_of(limited.invoke({"question": QUESTION}))
    right = "answers" if "Hallerfeld" in found.text else "does not answer"
    cost = f"rounds: {len(found.rounds)}, calls: {found.total_usage.calls}"
    print(f"{budget!s:20} {found.stop_reason:11} {cost}, {right}")

# %% [markdown]
# ## Time travel
#
# With a checkpointer every step is kept. The history of the thread, from the latest step to the
# first:

# %%
history = list(graph.get_state_history(thread))
for state in history:
    rounds = len(state.values.get("rounds", ()))
    following = ", ".join(state.next) or "nothing"
    print(f"step {state.metadata['step']:2}, rounds: {rounds}, next: {following}")

# %% [markdown]
# Suppose you want to know what another second search would have found. Go back to the moment
# before it, put in a query of your own, and let the graph go on from there. What came before is
# not run again: no search and no call is repeated.

# %%
first_follow_up = [state for state in history if state.next == ("follow_up",)][-1]
edited = graph.update_state(
    first_follow_up.config, {"queries": ["famous lighthouses"]}, as_node="follow_up"
)
calls = len(model.calls)
again = answer_of(graph.invoke(None, edited))
for number, round_ in enumerate(again.rounds, start=1):
    print(f"round {number}: searched {list(round_.queries)}")
print("stopped:", again.stop_reason, "| further calls of the model:", len(model.calls) - calls)
show(again.text)

# %% [markdown]
# ## The same with a real model
#
# A stand-in cannot show how a model reasons. This is a published trace of R1-Searcher, a model of
# seven billion parameters that was trained to search ([MIT
# licence](https://github.com/RUCAIBox/R1-Searcher)). It also needs two rounds, and its second
# query holds a name that only the first round could find:
#
# > - **question:** When was the anthology, in which fisrt pages of The Incal" were released,
# >   created?
# > - **search:** first pages of "The Incal" in which anthology
# > - **model:** From the search results, I can see that "The Incal" has its first pages originally
# >   released as "Une aventure de John Difool" ("A John Difool Adventure") in "Métal hurlant"
# > - **search:** creation date of "Métal hurlant"
# > - **model:** From the search results, I can see that "Métal hurlant" is a French comics
# >   anthology created in December 1974.
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
    for step in traces["r1searcher-hotpotqa_qwen-28"]["steps"]:
        show(step["query"], before="search: ")
        show(step["text_after"], before="model:  ")

# %% [markdown]
# ## Exercises
#
# **1.** The store finds four documents for each search. Before you run it: what does the loop do
# when it finds one, and how many calls does that cost?
#
# <details markdown="1"><summary>Solution</summary>
#
# ```python
# narrow = Store.ephemeral(k=1)
# narrow.add(list(country.corpus))
# answer = answer_of(create_skr_graph(model, narrow).invoke({"question": QUESTION}))
# for round_ in answer.rounds:
#     print(list(round_.queries), len(round_.found), round_.reflection.sufficient)
# print(answer.stop_reason, answer.total_usage.calls)
# ```
#
# (A round that leaves no draft has no reflection.) The same two rounds and two calls, with fewer
# tokens: the right document is the first in both rounds. Your documents are seldom so kind. A
# small `k` costs recall, a large one costs tokens.
#
# </details>
#
# **2.** Ask something that no document answers, such as what Queen Mathilda ate on the morning of
# her coronation. What is the stop reason, and what would your users see?
#
# <details markdown="1"><summary>Solution</summary>
#
# ```python
# ASKED = "What did Queen Mathilda eat on the morning of her coronation?"
# for wish in ("best_draft", "refuse"):
#     strict = create_skr_graph(model, store, when_insufficient=wish)
#     answer = answer_of(strict.invoke({"question": ASKED}))
#     print(wish, answer.stop_reason, answer.sufficient, answer.text, sep=" | ")
# ```
#
# The loop ends without a sufficient verdict, and here both refuse, because the stand-in drafts
# nothing. Of a model that has a part of the answer users see that part by default, under a line
# that says so; with `when_insufficient="refuse"` they see a refusal (lesson 5 shows the
# difference).
#
# </details>
#
# ## Read on
#
# [2. The loop in LangChain](02_the_loop_in_langchain.ipynb) builds this by hand.
# [Concepts](../concepts.md) has every stop reason and every setting.
