"""What an answer costs over two hops.

Questions of HotpotQA and 2WikiMultihopQA, the same store (words, the pooled passages) and the
same model for all, four passages a search, three rounds of searching at most where a system goes
on by itself. Everything else is each framework's default, its own prompts among it; a round of
ours searches for up to four queries, a step of MultiStepQueryEngine for one. Right is an answer
that contains a gold one; calls and tokens are counted at the model (o200k), and money is at 0.40
USD for a million tokens sent and 1.60 for a million received.

The model is a stand-in (`benchmarks/stand_in.py`): it quotes sentences, by the rules of the
extractive model, and answers every system's prompts by the same rules, so counts are exact while
accuracy is an extractive stand-in's. A language model would answer more, write other queries,
and split questions where the stand-in asks them whole. An answer that a system makes of earlier
answers repeats all sentences that they quote, up to twelve, where one of ours quotes four at
most: that favours the others. Our loop was developed beside these rules, the others were not.
The last columns are ours against each in the same questions, with paired 95 % intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, MessageRole
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from benchmarks.peers import create_adaptive_rag, peers
from benchmarks.rows import needed
from benchmarks.stand_in import Spent, StandIn
from skr_core.budget import Price, cost
from skr_core.match import contains_gold
from skr_core.questions import Question, read_questions
from skr_core.settings import Settings
from skr_core.types import Reference, Usage
from skr_graphs import GraphAnswerer
from skr_learn.metrics import Interval, bootstrap, bootstrap_ratio
from skr_store import Store
from skr_store.loaders import load_file

SETS = {"HotpotQA": "hotpotqa", "2WikiMultihopQA": "2wikimultihopqa"}
ASKED, PASSAGES = 100, 4
PRICE = Price(prompt=0.40, completion=1.60)
ABOUT = "Provides passages of an encyclopedia about people, places, works and events."
OURS = "`create_skr_chain`, `SKRQueryEngine`"


@dataclass(frozen=True)
class Costs:
    """A system over the questions of a set; means of a question.

    Attributes:
        dataset: Its name.
        n: Questions.
        system: Its name.
        right: Share of right answers.
        searches: In the store.
        calls: Of the model.
        sent: Tokens of prompts.
        received: Tokens of replies.
        usd: For a thousand questions.
        gain: Share of right answers, ours less this one's: mean, low, high.
        calls_ratio: Calls, ours over this one's.
        usd_ratio: Money, ours over this one's.
    """

    dataset: str
    n: int
    system: str
    right: float
    searches: float
    calls: float
    sent: float
    received: float
    usd: float
    gain: tuple[float, float, float]
    calls_ratio: tuple[float, float, float]
    usd_ratio: tuple[float, float, float]


Ask = Callable[[str], str]
Taken = list[tuple[bool, Spent, float]]
"""Of each question: whether the answer is right, what it took, and the money."""


def rows(quick: bool) -> Iterator[Costs]:
    """Each system over each set."""
    for dataset, name in list(SETS.items())[: 1 if quick else None]:
        files = f"corpus_{name}.jsonl.gz", f"multihop_{name}_contexts.jsonl.gz"
        corpus, path = needed(*files)
        every = list(read_questions(path))
        count = 10 if quick else ASKED
        questions = every[:: len(every) // count][:count]
        with TemporaryDirectory() as folder, Store.open(folder, k=PASSAGES) as store:
            store.add([Reference.of(each.text, each.title) for each in load_file(corpus, stop)])
            stand_in = StandIn(store.retrieve)
            taken = {
                system: [answered(ask, each, stand_in) for each in questions]
                for system, ask in systems(stand_in).items()
            }
        for system, each in taken.items():
            yield costs(dataset, system, each, taken[OURS])


def stop(error: Exception) -> None:
    """A corpus with a broken line is none."""
    raise error


def answered(ask: Ask, question: Question, stand_in: StandIn) -> tuple[bool, Spent, float]:
    """One question to one system."""
    stand_in.begin()
    answer = ask(question.question)
    spent = stand_in.spent
    usd = cost(Usage(spent.sent, spent.received, spent.calls), PRICE)
    return contains_gold(answer, question.gold), spent, usd


def costs(dataset: str, system: str, taken: Taken, ours: Taken) -> Costs:
    """Means, and ours beside them on the same questions."""
    gain = [float(one[0]) - float(other[0]) for one, other in zip(ours, taken, strict=True)]
    calls, calls_of_ours = ([float(spent.calls) for _, spent, _ in each] for each in (taken, ours))
    usd, usd_of_ours = ([money for _, _, money in each] for each in (taken, ours))
    return Costs(
        dataset,
        len(taken),
        system,
        right=mean([float(right) for right, _, _ in taken]),
        searches=mean([float(spent.searches) for _, spent, _ in taken]),
        calls=mean(calls),
        sent=mean([float(spent.sent) for _, spent, _ in taken]),
        received=mean([float(spent.received) for _, spent, _ in taken]),
        usd=1_000 * mean(usd),
        gain=ends(bootstrap(gain)),
        calls_ratio=ends(bootstrap_ratio(calls_of_ours, calls)),
        usd_ratio=ends(bootstrap_ratio(usd_of_ours, usd)),
    )


def mean(values: Sequence[float]) -> float:
    """Of the questions."""
    return sum(values) / len(values)


def ends(interval: Interval) -> tuple[float, float, float]:
    """Mean, low and high."""
    return interval.mean, interval.low, interval.high


def systems(stand_in: StandIn) -> dict[str, Ask]:
    """Each way of answering, by its name."""
    llm, retriever = Spoken(stand_in), Nodes(stand_in)
    found: dict[str, Ask] = {
        f"`{name}`": lambda question, engine=engine: str(engine.query(question))
        for name, engine in peers(llm, retriever, ABOUT).items()
    }
    graph = create_adaptive_rag(
        stand_in.reply,
        lambda query: [f"{each.title}\n{each.text}" for each in stand_in.retrieve(query)],
    )
    found["adaptive RAG in LangGraph"] = lambda question: graph.invoke({"question": question})[
        "answer"
    ]
    answerer = GraphAnswerer(Settings(stand_in, stand_in))
    found[f"{OURS}, one round"] = lambda question: answerer.answer(question, "single").text
    found[OURS] = lambda question: answerer.answer(question).text
    return found


class Spoken(CustomLLM):
    """The stand-in as LlamaIndex's model, which chats."""

    _stand_in: Any

    def __init__(self, stand_in: StandIn) -> None:
        super().__init__()
        self._stand_in = stand_in

    @property
    def metadata(self) -> LLMMetadata:
        """A window that no prompt fills."""
        return LLMMetadata(context_window=128_000, is_chat_model=True, model_name="stand-in")

    def chat(self, messages: Sequence[ChatMessage], **_: Any) -> ChatResponse:
        """A reply to a request."""
        said = self._stand_in.reply(*(message.content or "" for message in messages))
        return ChatResponse(message=ChatMessage(role=MessageRole.ASSISTANT, content=said))

    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        """The same of a text."""
        return CompletionResponse(text=self._stand_in.reply(prompt))

    def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> Any:
        """Nothing asks for it."""
        raise NotImplementedError


class Nodes(BaseRetriever):
    """The store as LlamaIndex's retriever."""

    def __init__(self, stand_in: StandIn) -> None:
        super().__init__()
        self._stand_in = stand_in

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [
            NodeWithScore(node=TextNode(text=each.text, metadata={"title": each.title}), score=1.0)
            for each in self._stand_in.retrieve(query_bundle.query_str)
        ]
