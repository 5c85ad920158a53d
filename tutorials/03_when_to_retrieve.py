# %% [markdown]
# # 3. When to retrieve
#
# [![Open in Colab](../pictures/colab.svg)](https://colab.research.google.com/github/skr-rag/skr-rag/blob/main/docs/tutorials/03_when_to_retrieve.ipynb)
#
# **At the end** you have one sentence that says whether it pays to search only for some questions,
# for your model and your documents, and a file that decides it. **Time:** 25 minutes. **You need**
# no key here; for your own system later, some hundred questions with right answers.
#
# A model answers some of your users' questions as well without your documents, and some even
# better, because a passage that is only near the topic can mislead it. Nobody can tell from outside
# which these are, so this lesson measures it. Four words more:
#
# - An **action** is a way to answer: `direct` (no search), `single` (one search), `loop` (until the
#   documents suffice).
# - A **record** is what each action answered to one question, whether it was right, what it cost.
# - A **router** decides for a question which action to take. It is fitted on records.
# - The **verdict** of a calibration is its one sentence: is that worth it?

# %%
import os
from importlib.util import find_spec

from IPython import get_ipython

if find_spec("skr_core") is None:  # on Colab nothing is installed yet
    source = "git+https://github.com/skr-rag/skr-rag"
    get_ipython().run_line_magic("pip", f"install -q 'skr-rag[all] @ {source}'")

# %%
from skr_app.country import load_country, write_country
from skr_core import read_questions
from skr_store import Store

country = load_country()  # an invented country, with questions and a model for it
if "SKR_MODEL" in os.environ:  # a real model, such as openai:gpt-4.1-mini
    from langchain_skr import load_model

    model = load_model(os.environ["SKR_MODEL"])
else:
    model = country.model()  # quotes passages, or a memory that is partly out of date

# %% [markdown]
# **Your questions.** A file with one JSON object a line: `question`, the right `answers`, and if
# you like a `type`, to look at kinds of questions apart. None yet? `skr questions make` writes some
# from your documents for you to review.
#
# **Your documents.** `Store("folder").add(...)`, or any retriever of LangChain or LlamaIndex in its
# place. A real model knows nothing of an invented country, so bring both, and replace this cell.

# %%
from pathlib import Path

write_country(Path("varnland"))  # writes questions.jsonl, corpus.jsonl and memory.jsonl
print(*Path("varnland/questions.jsonl").read_text().splitlines()[5:9], sep="\n")

questions = read_questions("varnland/questions.jsonl")
store = Store.ephemeral(k=4)  # in memory; each search returns four passages
added = store.add(list(country.corpus))

# %% [markdown]
# ## Ask everything in three ways
#
# `collect` asks your own system, the one that you serve, each question by three *actions*:
#
# - `direct`: the model alone, without any passage.
# - `single`: one search, and an answer from what it found.
# - `loop`: as many searches as it takes, up to three by default.
#
# `GraphAnswerer` is the graph of [lesson 1](01_what_happens_to_one_question.ipynb) with all its
# settings in one object. `collect` compares each answer with the right ones and keeps what it
# cost. With `out="records.jsonl"` the records are kept in a file, and a run that was interrupted
# goes on where it stopped. `Settings.of` takes any chat model and retriever of LangChain or
# LlamaIndex.

# %%
from textwrap import fill

from skr_core import Settings
from skr_graphs import GraphAnswerer
from skr_learn import collect


def show(text, before=""):
    """Prints a text in lines that fit."""
    print(fill(text, 96, initial_indent=before, subsequent_indent=" " * len(before)))


records = collect(questions, GraphAnswerer(Settings.of(model, store)), out="records.jsonl")

record = records[2]
print(record.question, "Right is:", record.gold[0], "\n")
for action, outcome in record.outcomes.items():
    spent = f"{outcome.usage.total_tokens} tokens, searches: {outcome.retrievals:.0f}"
    print(f"{action:6} {'right' if outcome.score else 'wrong'}, {spent}")
    show(outcome.answer, before="       ")

# %% [markdown]
# This question takes two steps: one passage names the builder of the crane, another says where
# his workbench stands. The first search finds only the one.
#
# ## What does the model know?
#
# All records together, by kind of question. *Known* is what the memory holds and what is still
# true; *outdated* is what was true once; *unknown* stands in one passage and *two hops* in two;
# *unanswerable* stands nowhere, and the right answer is to say so.

# %%
from statistics import fmean

from IPython.display import Markdown


def table(head, rows):
    """A table in Markdown, which notebooks draw."""
    lines = [head, ["---"] * len(head), *rows]
    return Markdown("\n".join(f"| {' | '.join(map(str, line))} |" for line in lines))


ACTIONS = ("direct", "single", "loop")
kinds = {question.asked: question.types[0] for question in questions}


def accuracy(some, action):
    return f"{fmean(record.outcomes[action].score for record in some):.2f}"


rows = []
for kind in ("known", "outdated", "unknown", "two hops", "unanswerable"):
    some = [record for record in records if kinds[record.question] == kind]
    rows.append([kind, len(some), *(accuracy(some, action) for action in ACTIONS)])
rows.append(["**all**", len(records), *(accuracy(records, action) for action in ACTIONS)])
table(["kind", "questions", *ACTIONS], rows)

# %% [markdown]
# There is something to gain on both sides. Known questions are right without a search, and fewer of
# them with one, because passages speak of something similar and mislead this reader. What is
# outdated or unknown needs the passages, and what takes two hops the loop.
#
# An *oracle* that always took the best action would show how much there is to gain at most:

# %%
best = fmean(max(outcome.score for outcome in record.outcomes.values()) for record in records)
helps = sum(record.effect == "helps" for record in records)
hurts = sum(record.effect == "hurts" for record in records)
print(f"always the loop: {accuracy(records, 'loop')}   oracle: {best:.2f}")
print(f"retrieval helps {helps} questions, hurts {hurts}, and changes nothing for the rest")

# %% [markdown]
# ## Does routing pay?
#
# A *router* decides for each question which action to take. `calibrate` fits several on the
# records, judges each by what it would serve of questions that it was not fitted on, and takes
# the most accurate, unless a cheaper one is nearly as good. Where no router can be trusted it
# says so, and recommends one action for all questions.

# %%
from skr_learn import calibrate

found = calibrate(records)
show(found.summary.verdict)

# %% [markdown]
# Read the sentence slowly, because all that you need is in it: how many are right with the
# router, how many with the best single action, and what that costs. The bracket is the 95 %
# interval of the gain, in questions of 200: if it lies around zero, the accuracy may have risen
# or fallen, and only the saving is certain. The last words say how many calls of the model a
# question takes, and whether answers stream.
#
# The picture shows what the router reaches at each cost; further to the right a question costs
# more. The band is a 95 % interval, the dots are the three actions taken for every question, and
# the diamond is the sentence's. It may lie below the line, because it is the stricter estimate: its
# threshold was chosen without the questions that it is judged on.
#
# (`skr demo` shows ten passages for each search and this lesson four, so its figures differ.)

# %%
from IPython.display import Image

found.curve.plot("curve.png")
Image("curve.png", width=500, alt="Accuracy against cost: the router and the constant actions")

# %% [markdown]
# ## What does each router cost?
#
# A router that looks at more can decide better, but looking costs something. `ladder` reads the
# answer that the model gives without passages, and again the answer of the first round; `arbiter`
# asks for every answer; `confirm` asks for the direct answer and searches, and where the passages
# contain that answer it is served and they are not read. The others read the question alone. Each
# row uses the threshold that would be saved.

# %%
rows = []
for name, figures in found.compared.items():
    right = figures.accuracy
    said = f"{right.mean:.2f} ({right.low:.2f} to {right.high:.2f})"
    rows.append([name, said, f"{figures.cost.mean:.2f}", f"{figures.calls.mean:.1f}"])
table(["router", "accuracy (95 % interval)", "thousand tokens", "calls"], rows)

# %% [markdown]
# More routers, such as those that ask the model how certain it is, are in [the
# list](../routing.md). They have to be asked while records are collected.
#
# ## Put the router in its place
#
# A saved router is one file without pickle. It knows the model, the store and the prompts it was
# made with, and refuses to decide for others. Every chain, graph and engine takes the file.

# %%
from langchain_skr import create_skr_chain

found.save("router")
chain = create_skr_chain(model, store, router=Path("router"), return_sources=True)

for question in ("What is the flower of Varnland?", "Who is the mayor of Penmarrow?"):
    answer = chain.invoke({"question": question})
    print(question)
    show(answer["answer"], before="  ")
    print(f"  stopped: {answer['stop_reason']}, rests on passages: {answer['grounded']}\n")

# %% [markdown]
# The first answer is the model's own, which the passages found confirm; they were not read, so it
# is not `grounded`, and says so. For the second the memory holds a name that is no longer right:
# no passage confirms it, so they were read.
#
# ## When the answer is no
#
# Routing does not always pay, and it is as important to be told that. Here are only the records of
# questions that take two hops, as if the model knew nothing of your field:

# %%
unfamiliar = [each for each in records if kinds[each.question] == "two hops"]
never_pays = calibrate(unfamiliar, routers=["question"])
show(never_pays.summary.verdict)
print("the router that is saved:", type(never_pays.router).__name__)

# %% [markdown]
# ## The same with a real model
#
# Do real models know when to search? R1-Searcher, a model of seven billion parameters trained to
# search by itself ([MIT licence](https://github.com/RUCAIBox/R1-Searcher)), answered these two
# without any search, in the same tone. The first answer is right and the second wrong:
#
# > - **question:** What country does Washington Dulles International Airport and
# >   Baltimore–Washington metropolitan area have in common?
# > - **answer:** United States
# > - **question:** What do Woodstock and American Dream have in common?
# > - **answer:** aspiration
#
# (Both are films.) How sure it sounds does not tell them apart; records do. Where `SKR_DATA` names
# a folder of recorded data, this cell shows all that it answered without a search:

# %%
import gzip
import json

TRACES = Path(os.environ.get("SKR_DATA", "nowhere")) / "multistep_traces.jsonl.gz"
if TRACES.exists():
    with gzip.open(TRACES, "rt", encoding="utf-8") as lines:
        traces = [each for each in map(json.loads, lines) if "r1-searcher" in each["source"]]
    for trace in traces:
        if not trace["steps"]:
            show(trace["question"])
            print(f"  said: {trace['answer']}, right is: {trace['gold'][0]}")

# %% [markdown]
# ## Exercises
#
# **1.** You need not take what was chosen. Calibrate for at most 0.3 thousand tokens a question,
# for a search for half of the questions, and for answers that stream: `budget=` (a number here, not
# lesson 1's `Budget`), `retrieval_rate=` and `stream=`. What does each cost you? `summary.promised`
# tells.
#
# <details markdown="1"><summary>Solution</summary>
#
# ```python
# for aim in ({"budget": 0.3}, {"retrieval_rate": 0.5}, {"stream": True}):
#     summary = calibrate(records, routers=["ladder"], **aim).summary
#     served = summary.promised
#     print(aim, f"{served.accuracy.mean:.2f} right at {served.cost.mean:.2f} thousand tokens")
# ```
#
# Accuracy is what you pay with; `summary.shares` says how many questions take each action.
#
# </details>
#
# **2.** How many records does it take? Calibrate on the first 20, 50, 100 and 200, and look at
# `summary.gain`.
#
# <details markdown="1"><summary>Solution</summary>
#
# ```python
# for n in (20, 50, 100, 200):
#     gain = calibrate(records[:n], routers=["ladder"]).summary.gain
#     print(f"{n:3} records: {100 * gain.mean:+.0f} points ({100 * gain.low:+.0f} to "
#           f"{100 * gain.high:+.0f})")
# ```
#
# With few records nothing can be promised, so the advice is one action for everything, which gains
# nothing; then the interval narrows. The questions of Varnland part cleanly into known and unknown.
# Real ones do not: below about 500 records expect the advice to retrieve for everything ([measured
# results](../results.md)).
#
# </details>
#
# ## With yours
#
# ```sh
# skr collect questions.jsonl --retriever app:retriever --model app:model   # what your app.py has
# skr calibrate self-knowledge.jsonl --out router
# ```
#
# Calibrate anew when you change the model, the documents or the prompts: a router is about them.
# The measures and the other routers: [choosing a router](../routing.md). Next: [4. An agent that
# knows](04_an_agent_that_knows.ipynb).
