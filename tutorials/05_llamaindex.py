# %% [markdown]
# # 5. LlamaIndex: an engine that goes on searching
#
# [![Open in Colab](../pictures/colab.svg)](https://colab.research.google.com/github/skr-rag/skr-rag/blob/main/docs/tutorials/05_llamaindex.ipynb)
#
# **At the end** you have a chat engine, a query engine and a retriever over your own index that go
# on searching until the nodes suffice, and have held them beside LlamaIndex's. **Time:** 20
# minutes. **You need** to have built one index before; no key.
#
# `index.as_chat_engine()` searches once for each message. People ask in steps: "How tall is it?",
# "And who built it?", "Where was she born?". Such messages lean on what was said before, and the
# answer to the last one may stand in a node that no search for its words finds.

# %%
import os
from importlib.util import find_spec

from IPython import get_ipython

if find_spec("skr_core") is None:  # on Colab nothing is installed yet
    source = "git+https://github.com/skr-rag/skr-rag"
    get_ipython().run_line_magic("pip", f"install -q 'skr-rag[all] @ {source}'")

# %%
from llama_index.core import VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.schema import TextNode

from skr_app.country import load_country
from skr_core import HashingEmbedder

country = load_country()  # an invented country


class SharedWords(BaseEmbedding):
    """Finds shared words, without a download. Yours: OpenAIEmbedding, HuggingFaceEmbedding ..."""

    def _get_text_embedding(self, text):
        return HashingEmbedder().embed([text])[0].tolist()

    def _get_query_embedding(self, query):
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query):
        return self._get_text_embedding(query)


nodes = [
    TextNode(text=passage.text, metadata={"title": passage.title}) for passage in country.corpus
]
index = VectorStoreIndex(nodes, embed_model=SharedWords())

# %% [markdown]
# ## A model for both engines
#
# With `SKR_MODEL=openai:gpt-4.1-mini`, or the id of any other model, both engines get that model.
# Without, both get a stand-in, which quotes the sentences that speak most of the question. It
# cannot rewrite a message, because that takes a language, so the two rewritings that this
# conversation needs are written down here. A real model writes them itself. You can skip the
# cell: what matters is that both engines have the same reader, so that all that differs is what
# it is given.

# %%
import re
from dataclasses import replace

from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata

from skr_app.extractive import ExtractiveModel
from skr_core import Reference
from skr_core.prompts import answer_anyway

REWRITTEN = {
    "And where was the founder of its growers' guild born?": (
        "Where was the founder of the mussel growers' guild in Marrow Bay born?"
    ),
    "What age did she reach?": "What age did Hanne Pry reach?",
}
PASSAGE = re.compile(r"title: (.*?)\n\n(.*?)(?=\n\ntitle: |\n\n +Instruction)", re.DOTALL)
QUESTION = re.compile(r"^user: (.*)$", re.MULTILINE)


class Reader(ExtractiveModel):
    """The stand-in for this project's engine."""

    def generate(self, prompt, *, on_token=None):
        generation = super().generate(prompt, on_token=on_token)
        if prompt.task == "condense":  # asked for the message without its conversation
            return replace(generation, text=REWRITTEN.get(prompt.question, prompt.question))
        return generation


class PlainReader(CustomLLM):
    """The same for LlamaIndex's own engine: reads the passages off its prompt."""

    @property
    def metadata(self):
        return LLMMetadata()

    def complete(self, prompt, formatted=False, **kwargs):
        for message, rewritten in REWRITTEN.items():
            if f"Follow Up Input: {message}" in prompt:
                return CompletionResponse(text=rewritten)
        passages = [Reference.of(text, title) for title, text in PASSAGE.findall(prompt)]
        asked = answer_anyway(QUESTION.findall(prompt)[-1], passages)
        return CompletionResponse(text=Reader().generate(asked).text)

    def stream_complete(self, prompt, formatted=False, **kwargs):
        raise NotImplementedError


if "SKR_MODEL" in os.environ:
    from llamaindex_skr import openai_like  # yours may be any LLM of LlamaIndex's

    llm = plain_llm = openai_like(os.environ["SKR_MODEL"].removeprefix("openai:"))
else:
    llm, plain_llm = Reader(), PlainReader()

# %% [markdown]
# ## One line changes

# %%
from llamaindex_skr import SKRChatEngine

plain = index.as_chat_engine(chat_mode="condense_plus_context", llm=plain_llm, similarity_top_k=4)
chat = SKRChatEngine.from_defaults(index, llm=llm, similarity_top_k=4)

# %% [markdown]
# ## A conversation
#
# The first message stands alone, and one search finds its passage. Both engines answer it.

# %%
from textwrap import fill


def show(name, text):
    """Prints a text in lines that fit."""
    print(fill(text, 96, initial_indent=f"{name:7}", subsequent_indent=" " * 7))


first = "How are the mussels of Marrow Bay grown?"
show("plain:", plain.chat(first).response)
show("SKR:", chat.chat(first).response)

# %% [markdown]
# The second one leans on the first ("And", "its"), and its answer takes two steps: one passage
# names the founder, another says where she was born. Both engines have the message rewritten. The
# plain one searches for that once, and the model makes the best of what came up.

# %%
second = "And where was the founder of its growers' guild born?"
from_plain = plain.chat(second)
response = chat.chat(second)
show("plain:", from_plain.response)
show("SKR:", response.response)

print("\nWhat each was given:")
show("plain:", ", ".join(node.metadata["title"] for node in from_plain.source_nodes))
show("SKR:", ", ".join(node.metadata["title"] for node in response.source_nodes))

# %% [markdown]
# The passage that answers, *Hanne Pry*, shares hardly a word with the question, so a search for
# the question does not find it among the first four. How did the other engine get there? The
# response's `metadata` tells each round: what was searched, what the model concluded, and why the
# loop ended. It costs one call for the rewriting and one for each round; the plain engine makes
# one for the rewriting and one for its answer.

# %%
for number, round_ in enumerate(response.metadata["rounds"], start=1):
    print(f"round {number} searched: {round_['queries']}")
    print(f"        sufficient: {round_['reflection']['sufficient']}")
print("stopped:", response.metadata["stop_reason"])
print("rests on passages:", response.metadata["grounded"])

print("\nWhat it cost:")
for task, usage in response.metadata["usage"].items():
    print(f"{task:24} calls: {usage['calls']}, tokens sent: {usage['prompt_tokens']}")

# %% [markdown]
# ## Citations
#
# `[n]` in the answer is the n-th of `source_nodes`: the very nodes of your index, with their ids
# and metadata. Each citation also carries the sentence of the node that supports it, so that a
# page can show it beside the answer.

# %%
for citation in response.metadata["citations"]:
    node = response.source_nodes[citation["marker"] - 1]
    print(f"[{citation['marker']}] {node.metadata['title']}: {citation['quote']}")

# %% [markdown]
# ## Streaming
#
# `stream_chat` yields the final answer's tokens, and only these: no drafts that were set aside,
# no queries. Searching happens before the first token, so the sources are there from the start.
# The exchange joins the conversation when the stream has been read to its end. (The passage names
# no number: that it suffices is the model's opinion.)

# %%
stream = chat.stream_chat("What age did she reach?")
print("sources:", [node.metadata["title"] for node in stream.source_nodes][:3])
print("tokens: ", "|".join(stream.response_gen))
print("stopped:", stream.metadata["stop_reason"])

# %% [markdown]
# Awaited, everything has the same names with an `a` in front. Nothing blocks the event loop:

# %%
stream = await chat.astream_chat("Who is the mayor of Penmarrow?")
print("".join([token async for token in stream.async_response_gen()]))

# %% [markdown]
# ## In front of an engine that you keep
#
# `SKRQueryEngine` is the same without a conversation, and `SKRRetriever` the search alone, for a
# query engine of yours. Here are all questions of Varnland that take two documents: how often does
# what was found hold the answer?

# %%
import matplotlib.pyplot as plt

from llamaindex_skr import SKRRetriever

once = index.as_retriever(similarity_top_k=4)
until_it_suffices = SKRRetriever(once, llm=llm)
two_hops = [each for each in country.questions if "two hops" in each.types]

holds = {}
for name, retriever in (("as_retriever", once), ("SKRRetriever", until_it_suffices)):
    holds[name] = 0
    for each in two_hops:
        text = " ".join(node.text for node in retriever.retrieve(each.asked))
        holds[name] += any(gold in text for gold in each.gold)

figure, axes = plt.subplots(figsize=(6.4, 1.6), dpi=80)
bars = axes.barh(list(holds), list(holds.values()), color=["#8fb8e0", "#1f66b8"])
axes.bar_label(bars, padding=4)
axes.invert_yaxis()
axes.set(xlim=(0, len(two_hops) + 3), xlabel=f"answer among what was found, of {len(two_hops)}")
figure.tight_layout()

# %% [markdown]
# ## The same with a real model
#
# R1-Searcher is a model of seven billion parameters that was trained to search ([MIT
# licence](https://github.com/RUCAIBox/R1-Searcher)). On a question of the same form it does by
# itself what the engine did above, the second query made of what the first one found:
#
# > - **question:** Where was the director of film Revenge Of The Ninja born?
# > - **search:** Revenge of the Ninja director
# > - **model:** From the search results, I can see that the director of "Revenge of the Ninja" is
# >   Sam Firstenberg.
# > - **search:** Sam Firstenberg birthplace
# > - **model:** From the search results, I can see that Sam Firstenberg was born in Poland.
#
# Most models were not trained for that. The engine asks any of them for a verdict and the next
# queries, and keeps count. Where `SKR_DATA` names a folder of recorded data, this cell shows all:

# %%
import gzip
import json
from pathlib import Path

TRACES = Path(os.environ.get("SKR_DATA", "nowhere")) / "multistep_traces.jsonl.gz"
if TRACES.exists():
    with gzip.open(TRACES, "rt", encoding="utf-8") as lines:
        traces = {each["id"]: each for each in map(json.loads, lines)}
    for step in traces["r1searcher-2wiki_qwen-9"]["steps"]:
        show("query:", step["query"])
        show("model:", step["text_after"])

# %% [markdown]
# ## Exercises
#
# **1.** Ask the chat engine for something that stands nowhere. What do your users see, and how do
# you make it a plain refusal?
#
# <details markdown="1"><summary>Solution</summary>
#
# ```python
# for wish in ("best_draft", "refuse"):
#     strict = SKRChatEngine.from_defaults(index, llm=llm, when_insufficient=wish)
#     refused = strict.chat("What did Queen Mathilda eat on the morning of her coronation?")
#     show("", refused.response)
#     print(wish, refused.metadata["stop_reason"], refused.metadata["sufficient"])
# ```
#
# By default the best draft, under a line that says that it is not a full answer.
#
# </details>
#
# **2.** Which messages cost a call for their rewriting? Look at `chat.chat_history` and at the
# `usage` of a message that stands alone and of one that leans on others.
#
# <details markdown="1"><summary>Solution</summary>
#
# ```python
# for message in chat.chat_history:
#     print(message.role.value, "-", message.content)
# print("stood alone:", list(stream.metadata["usage"]))
# print("leaned:     ", list(response.metadata["usage"]))
# ```
#
# Only those with words that point back, such as "its", "she" and "And": that is found out without a
# model. The history is LlamaIndex's own; `memory=` takes yours.
#
# </details>
#
# ## Read on
#
# A [router](03_when_to_retrieve.ipynb), `node_postprocessors`, tools, selectors, agents and
# instrumentation: [LlamaIndex](../llamaindex.md). The examples from
# [20](../../examples/README.md) on show one each. Last: [6. The papers](06_the_papers.ipynb).
