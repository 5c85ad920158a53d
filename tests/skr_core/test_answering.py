"""A model's reply as it enters: without its thoughts, for every reader of it."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core import Budget, Decision, Reference
from skr_core.answering import decompose, generate, self_complete
from skr_core.conversation import condense
from skr_core.flow import arun, run
from skr_core.ports import LanguageModel
from skr_core.prompts import ask_is_right
from skr_core.reflectors import JudgeEntailment, JudgeReflector
from skr_core.replies import parse_certainty, parse_right, read_reply
from skr_core.routers import (
    CertaintyLevelRouter,
    ConfidenceRouter,
    PromptRouter,
    UncertaintyRouter,
)
from skr_core.settings import decided
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_core.types import Generation, Prompt
from skr_graphs import SKRContext, answer_of, create_self_completion_graph

PROMPT = Prompt("judge", "Is it right?", "Is it right?")
PARIS = Reference.of("Paris is the capital of France.")
CAPITAL = "What is the capital of France?"
SEARCHED = MappingRetriever({CAPITAL: ["Paris is the capital of France."]})

TAGS = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<Thought>", "</Thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("<scratchpad>", "</scratchpad>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|channel|>analysis<|message|>", "<|end|>"),
    ("<|channel|>analysis<|message|>", "<|channel|>final<|message|>"),
    ("", "</think>"),  # the chat template has written the opening one
]


class Recorded:
    """A model that gives one reply as it is."""

    name = "recorded"

    def __init__(self, reply: Generation) -> None:
        self.reply = reply

    def generate(self, prompt: Prompt, *, on_token: Any = None) -> Generation:
        if on_token is not None:
            on_token(self.reply.text)
        return self.reply

    async def agenerate(self, prompt: Prompt, *, on_token: Any = None) -> Generation:
        return self.generate(prompt, on_token=on_token)


def entered(text: str) -> str:
    """What a reader is given of a reply."""
    return run(generate(ScriptedModel([text]), PROMPT)).text


# Judgements


JUDGEMENTS = {
    **{"Right.": True, "Wrong: it was Bob.": False, "**Correct**": True, "Incorrect.": False},
    **{"The given answer is wrong.": False, "Verdict: right": True},
}
ENTAILMENTS = {
    **{"entailment": "entailment", "Neutral.": "neutral", "**Contradiction**": "contradiction"},
    **{"Verdict: entailment": "entailment", "neutral\n": "neutral"},
    **{"Contradiction - it denies it.": "contradiction"},
}


@pytest.mark.parametrize(("opens", "closes"), TAGS)
def test_twelve_of_twelve_judgements_are_read_behind_thoughts(opens: str, closes: str) -> None:
    read = 0
    for reply, right in JUDGEMENTS.items():
        judge = ScriptedModel([f"{opens}Is it wrong, or is it right?{closes}\n\n{reply}"])
        said = run(generate(judge, ask_is_right("Who?", ["Ada"], "Ada")))
        read += parse_right(said.text) is right
    for reply, verdict in ENTAILMENTS.items():
        judge = ScriptedModel([f"{opens}Neutral? It may be entailment.{closes}\n\n{reply}"])
        read += JudgeEntailment(judge).predict([("She is Ada.", "Ada is she.")]) == [verdict]
    assert read == 12


# Every reader


def decision(router: Any) -> object:
    made = router.decide(CAPITAL)
    return made.retrieve, made.score, made.draft, made.reason


GRAPH = create_self_completion_graph(retriever=SEARCHED, budget=Budget(max_rounds=2)).compile()


def answer(model: LanguageModel, **options: Any) -> object:
    context = SKRContext(model=model, **options)
    made = answer_of(GRAPH.invoke({"question": CAPITAL}, context=context))
    drafts = [(each.draft, each.queries, each.reflection) for each in made.rounds]
    reflections = [each and (each.sufficient, each.missing) for _, _, each in drafts]
    return made.text, made.stop_reason, reflections, [each[:2] for each in drafts]


def judged(model: LanguageModel) -> object:
    made = JudgeReflector(model).reflect(CAPITAL, [PARIS], "Paris [1].")
    return made.sufficient, made.missing


READERS: dict[str, tuple[Callable[[LanguageModel], object], list[str]]] = {
    "right": (lambda model: parse_right(run(generate(model, PROMPT)).text), ["Wrong: it is Bob."]),
    "entailment": (lambda model: JudgeEntailment(model).predict([("a", "b")]), ["Neutral."]),
    "sufficient": (judged, ["Insufficient: the year"]),
    "need": (lambda model: decision(PromptRouter(model)), ["No, I don't."]),
    "confidence": (lambda model: decision(ConfidenceRouter(model)), ["Paris (certain)"]),
    "two steps": (
        lambda model: decision(ConfidenceRouter(model, strategy="generate")),
        ["Paris.", "Uncertain."],
    ),
    "levels": (lambda model: decision(CertaintyLevelRouter(model)), ["Paris.", "Certain"]),
    "samples": (
        lambda model: decision(UncertaintyRouter(model, samples=2)),
        ["Paris.", "Lyon, I am told."],
    ),
    "queries": (
        lambda model: run(self_complete(model, CAPITAL, [PARIS], ()))[0],
        ["Search: its river\nSearch: its mayor"],
    ),
    "parts": (lambda model: run(decompose(model, CAPITAL))[0], ["1. its river\n2. its mayor"]),
    "rewriting": (
        lambda model: run(condense(model, "And its river?", [CAPITAL, "Paris."])).question,
        ["Which river flows through Paris?"],
    ),
    "known": (lambda model: answer(model, router="never"), ["It is Paris."]),
    "loop": (
        lambda model: answer(model),
        ["INSUFFICIENT\nIt is in France [1].\nMissing: its name\nSearch: its name", "Paris [1]."],
    ),
    "own words": (
        lambda model: answer(model, when_insufficient="own_knowledge", budget=Budget(max_rounds=1)),
        ["The references do not say.", "Paris, I believe."],
    ),
}

musings = st.lists(
    st.sampled_from(
        [
            *("Is it Lyon?", "Wrong. Right?", "entailment", "I am certain.", "I don't know.", "No"),
            *("Search: Lyon", "- Lyon [1]", "So the answer is Lyon [2].", "\n", '{"answer": "Lyon'),
            *("Insufficient: the references do not mention it", "Yes, I need more", "`x` is it"),
        ]
    ),
    min_size=1,
    max_size=4,
).map("\n".join)


@cache
def without_thoughts(reader: str) -> object:
    """What is read of the replies as they are."""
    read, replies = READERS[reader]
    return read(ScriptedModel(replies))


@pytest.mark.parametrize("reader", READERS)
@given(
    tags=st.sampled_from(TAGS),
    thought=musings,
    before=st.sampled_from(["", "\n"]),
    between=st.sampled_from(["", "\n", "\n\n", " \n"]),
)
def test_each_reader_reads_the_same_with_and_without_thoughts(
    reader: str, tags: tuple[str, str], thought: str, before: str, between: str
) -> None:
    read, replies = READERS[reader]
    opens, closes = tags
    thoughts = f"{before}{opens}Hm. {thought}{closes}{between}"
    thinks = ScriptedModel([f"{thoughts}{reply}" for reply in replies])
    assert read(thinks) == without_thoughts(reader)


@given(
    tags=st.sampled_from([each for each in TAGS if each[0]]),
    thought=musings,
    is_closed=st.booleans(),
    reply=st.sampled_from(["SUFFICIENT\nParis [1].", "It is Paris [1].", "Wrong.", "x = arr[0]"]),
)
def test_thoughts_behind_a_reply_are_none_of_it(
    tags: tuple[str, str], thought: str, is_closed: bool, reply: str
) -> None:
    behind = f"\n{tags[0]}Hm. {thought}{tags[1] if is_closed else ''}"
    assert entered(f"{reply}{behind}") == f"{reply}\n"


@pytest.mark.parametrize("opens", [opens for opens, _ in TAGS if opens])
def test_a_reply_that_was_cut_off_in_its_thoughts_says_nothing(opens: str) -> None:
    assert entered(f"{opens}\nRight. SUFFICIENT. Paris [1].") == ""


def test_the_space_of_code_stays_and_blank_lines_behind_thoughts_go() -> None:
    assert entered("<think>Code.</think>\n \n    x = arr[0]\n") == "    x = arr[0]\n"
    assert entered("\n    x = arr[0]\n") == "\n    x = arr[0]\n"
    quoted = "The tag `<think>` opens a thought, and `</think>` closes it."
    assert entered(quoted) == quoted


def test_awaited_and_streamed_replies_enter_alike() -> None:
    thinks = "<think>Lyon?</think>\nParis."
    pieces: list[str] = []
    streamed = run(generate(ScriptedModel([thinks]), PROMPT, pieces.append))
    awaited = asyncio.run(arun(generate(ScriptedModel([thinks]), PROMPT)))
    assert streamed.text == awaited.text == "Paris."
    assert "".join(pieces) == thinks  # who shows them leaves the thoughts out


def test_a_draft_of_anybodys_router_enters_without_thoughts_too() -> None:
    class Thinks:
        name = "thinks"
        actions = ("direct", "loop")

        def decide(self, question: str) -> Decision:
            return Decision(False, draft="<think>Lyon?</think>\nParis.")

        async def adecide(self, question: str) -> Decision:
            return self.decide(question)

    assert run(decided(Thinks(), CAPITAL)).draft == "Paris."
    assert answer(ScriptedModel(), router=Thinks())[0] == "Paris."  # type: ignore[index]


# The probabilities of an answer


THOUGHT = ("<think>", "Paris", "?", "</think>")
SAID = ("\n\n", "Paris", ".")
SURE, UNSURE = (-0.125,) * 3, (-4.0,) * 4


@pytest.mark.parametrize(
    ("text", "tokens", "logprobs", "kept"),
    [
        ("<think>Paris?</think>\n\nParis.", (*THOUGHT, *SAID), (*UNSURE, *SURE), SURE),
        # Servers that read the thoughts out of the text may leave them among the tokens.
        ("\n\nParis.", (*THOUGHT, *SAID), (*UNSURE, *SURE), SURE),
        ("Paris.", ("Paris", ".", "<eos>"), SURE, SURE),
        ("Paris.", (), SURE, SURE),
        ("<think>Paris?</think>\n\nParis.", (), (*UNSURE, *SURE), (*UNSURE, *SURE)),
        ("<think>Paris?</think>\n\nParis.", THOUGHT, (*UNSURE, *SURE), (*UNSURE, *SURE)),
        ("<think>Paris?</think>\n\nParis.", ("?",) * 7, (*UNSURE, *SURE), (*UNSURE, *SURE)),
        ("<think>Paris?", THOUGHT[:3], UNSURE[:3], ()),
        ("Paris.", (), None, None),
    ],
)
def test_the_tokens_of_thoughts_say_nothing_of_the_answer(
    text: str, tokens: tuple[str, ...], logprobs: Any, kept: Any
) -> None:
    reply = Generation(text, logprobs=logprobs, tokens=tokens)
    assert run(generate(Recorded(reply), PROMPT)).logprobs == kept


def test_a_router_is_as_sure_as_the_answer_behind_the_thoughts() -> None:
    reply = Generation(f"{''.join(THOUGHT)}Paris.", logprobs=(*UNSURE, *SURE[:2]))
    unaligned = UncertaintyRouter(Recorded(reply), threshold=0.5).decide(CAPITAL)
    named = Generation(reply.text, logprobs=reply.logprobs, tokens=(*THOUGHT, *SAID[1:]))
    aligned = UncertaintyRouter(Recorded(named), threshold=0.5).decide(CAPITAL)
    assert (unaligned.retrieve, aligned.retrieve) == (True, False)


# Replies of real models


def recorded_replies(data: Path) -> Iterator[str]:
    """All that models said, in the files whose models show no thoughts."""
    fields = ("reply", "text", "answer_direct", "answer_retrieved")
    extra = (
        *("generation_direct", "generation_retrieved", "direct_chain_of_thought"),
        *("chain_of_thought_direct", "chain_of_thought_retrieved", "first_pass_answer"),
    )
    sources = ("replies", "wordings", "adarague", "skr_", "realtimeqa", "whentoretrieve", "reflex")
    for path in sorted(path for path in data.glob("*.gz") if path.name.startswith(sources)):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for row in map(json.loads, file):
                said = [row.get(each) for each in fields]
                said += [row.get("extra", {}).get(each) for each in extra]
                yield from (each for each in said if isinstance(each, str))


@pytest.mark.data
def test_replies_without_thoughts_enter_as_they_are(data_dir: Path) -> None:
    count = 0
    for reply in recorded_replies(data_dir):
        made = Generation(reply)
        assert run(generate(Recorded(made), PROMPT)) is made
        count += 1
    assert count > 15_000


@pytest.mark.data
def test_what_gpt_4_said_is_read_the_same_behind_thoughts(data_dir: Path) -> None:
    path = data_dir / "replies_financebench_gpt4.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        replies = [json.loads(line)["reply"] for line in file]
    for number, reply in enumerate(replies):
        opens, closes = TAGS[number % len(TAGS)]
        said = entered(f"{opens}Hm, is it [1]? I don't know.{closes}\n\n{reply}")
        assert read_reply(said, 5) == read_reply(reply, 5)
        assert parse_certainty(said) == parse_certainty(reply)
