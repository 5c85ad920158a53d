# %% [markdown]
# # A LlamaIndex chat engine that keeps looking
#
# `index.as_chat_engine()` searches once for each message and answers from what came up. People,
# though, ask in steps: "How tall is it?", "And who built it?", "Where was she born?". Such
# messages lean on what was said before, and the answer to the last one may stand in a passage
# that no search for the question's words finds. `SKRChatEngine` takes the place of the plain
# engine, rewrites a message that leans on others, and goes on searching until the passages
# suffice.
#
# This tutorial holds both engines side by side: the same index, the same model, the same
# messages. It runs offline over Varnland, an invented country of 117 passages.

# %%
from llama_index.core import VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.schema import TextNode

from skr_app.country import load_country
from skr_core import HashingEmbedder

country = load_country()


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
import os
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
# The exchange joins the conversation when the stream has been read to its end.

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
# ## What it remembers
#
# The conversation is LlamaIndex's own: `chat_history`, `reset()`, and `memory=` for a memory of
# yours. The model is shown the latest turns that fit `Budget(max_history_tokens=...)`.

# %%
for message in chat.chat_history:
    text = message.content
    print(f"{message.role.value:9} {text if len(text) < 90 else text[:87] + '...'}")

# %% [markdown]
# The last message stood alone, so it was not rewritten and cost no call for that. The decision is
# made without a model, by words that point back such as "its", "she" and "And":

# %%
print("tasks of the last message: ", list(stream.metadata["usage"]))
print("tasks of the second message:", list(response.metadata["usage"]))

# %% [markdown]
# ## When nothing is found
#
# Where the loop ends and the passages still do not suffice, you decide what is said. By default
# that is the best draft, marked as it is; with `when_insufficient="refuse"` it is always a
# refusal.

# %%
strict = SKRChatEngine.from_defaults(index, llm=llm, similarity_top_k=4, when_insufficient="refuse")
refused = strict.chat("What did Queen Mathilda eat on the morning of her coronation?")
print(refused.response)
print("\nstopped:", refused.metadata["stop_reason"], "| grounded:", refused.metadata["grounded"])

# %% [markdown]
# ## What to change
#
# - `budget=Budget(max_rounds=2)` bounds the rounds, and with them the calls of a message.
# - `router="router"`, the file of a [calibrated router](01_does_my_rag_need_retrieval.ipynb),
#   answers messages without a search where your model knows.
# - `node_postprocessors=[...]`, rerankers among them, work on each search with its own query.
# - `reference_store=` and `scope=` [remember](../store.md#a-store-that-remembers) what was found,
#   and search there too.
# - `SKRQueryEngine` is the same without a conversation, and `SKRRetriever` the search alone, for
#   an engine that you keep. All of it is described in [LlamaIndex](../llamaindex.md).
