"""A model that reads: it answers any prompt by what stands in it, in the form that is asked for.

It stands in for a language model behind an OpenAI-compatible server, the same for all who ask. It
understands the questions of an invented coast (`island.py`), takes a fact for given where its
sentence, or its cell of a table, stands anywhere in the prompt, and goes on from one fact to the
next (`reading.py`). By heart it knows the capitals of countries, and says them where the prompt
does not forbid it. It never guesses: what is missing it asks for, in the words of two questions at
most, or says that it cannot tell.

The forms are those of the frameworks' own prompts: a plain answer, a verdict with queries, calls of
tools, Thought and Action, a plan of sub-questions, the next step, a standalone question, an answer
with its certainty. Nothing here knows who asks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from benchmarks.reading import (
    ASKING,
    NAME,
    WHO_SHE_IS,
    Facts,
    Question,
    Reading,
    Wanted,
    understood,
)

Reply = str | dict[str, Any]
CANNOT_TELL = "I cannot tell the rest from what I was given."
KNOWS_NOTHING = "I cannot tell that from what I was given."
_FORBIDS = ("not prior knowledge", "based solely on", "using only the references")
"""Of what the model knows by heart."""
_SPEAKER = re.compile(r"^(?:assistant|ai): (.*)$", re.IGNORECASE | re.MULTILINE)
"""A turn of a conversation that stands within a prompt."""


@dataclass(frozen=True)
class Request:
    """What the model is told.

    Attributes:
        messages: The messages, as OpenAI's protocol has them.
        tools: The tools that may be called, as that protocol describes them.
    """

    messages: Sequence[dict[str, Any]]
    tools: Sequence[dict[str, Any]] = ()

    @cached_property
    def text(self) -> str:
        """All of it."""
        return "\n\n".join(map(_text, self.messages))

    @cached_property
    def last(self) -> str:
        """The last message of the user."""
        return [_text(each) for each in self.messages if each["role"] == "user"][-1]

    @cached_property
    def earlier_answers(self) -> str:
        """What was answered before, in messages or within one."""
        said = [_text(each) for each in self.messages if each["role"] == "assistant"]
        return "\n".join([*said, *_SPEAKER.findall(self.text)])

    def questions(self, text: str) -> list[Question]:
        """All that a text asks; whom "she" means is told by the answers before."""
        found = []
        for asked in ASKING.findall(text):
            if asked == WHO_SHE_IS:
                people = re.findall(rf"designed by ({NAME})", self.earlier_answers)
                asked = f"Where was {people[-1]} born?" if people else ""
            if question := understood(asked):
                found.append(question)
        return found

    @cached_property
    def question(self) -> Question | None:
        """What the user asked last."""
        users = (_text(each) for each in self.messages if each["role"] == "user")
        found = [question for text in users for question in self.questions(text)]
        return found[-1] if found else None

    def read(self, question: Question) -> Reading:
        """What all of it says of a question, with what is known by heart where that may be said."""
        by_heart = not any(words in self.text for words in _FORBIDS)
        return Facts(self.text, by_heart=by_heart).read(question)


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, list):
        content = "\n".join(str(each.get("text", "")) for each in content)
    return str(content)


def reply(request: Request) -> Reply:
    """What the model says: a text, or a message that calls tools.

    Args:
        request: The messages, of which the last one asks or tells what a tool found, and the tools.
    """
    for words, answer in _FORMS.items():
        if words in request.text:
            return answer(request)
    return _call(request) if request.tools else _plain(request)


def _plain(request: Request) -> str:
    """The answer as far as it goes, and that the rest cannot be told."""
    question = request.question
    return _answer(request.read(question)) if question else KNOWS_NOTHING


def _answer(reading: Reading) -> str:
    if not reading.missing:
        return reading.said
    return f"{reading.said} {CANNOT_TELL}" if reading.said else KNOWS_NOTHING


def _queries(missing: Iterable[Wanted], tried: str) -> list[str]:
    """How to ask for each missing thing, in words that were not tried; nothing after two."""
    asked = ((each.asked(0), each.asked(1)) for each in missing)
    fresh = ([way for way in ways if way not in tried] for ways in asked)
    return [ways[0] for ways in fresh if ways]


def _call(request: Request) -> Reply:
    """The calls of a tool, side by side where several facts are missing, or the answer."""
    question = request.question
    if question is None:
        return KNOWS_NOTHING
    reading = request.read(question)
    tried = json.dumps([message.get("tool_calls") or [] for message in request.messages])
    queries = _queries(reading.missing, tried)
    if not queries:
        return _answer(reading)
    function = request.tools[0]["function"]
    argument = next(iter(function["parameters"]["properties"]))
    calls = [
        {
            "id": f"call-{len(request.messages)}-{number}",
            "type": "function",
            "function": {"name": function["name"], "arguments": json.dumps({argument: query})},
        }
        for number, query in enumerate(queries)
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def _verdict(request: Request) -> str:
    """Whether the references suffice, the answer or a part of it, and what to search for."""
    question = request.question
    if question is None:
        return f"INSUFFICIENT\nSearch: {ASKING.findall(request.last)[-1]}"
    reading = request.read(question)
    if not reading.missing:
        return f"SUFFICIENT\n{reading.said}"
    tried = "\n".join([question.text, *re.findall(r"^- (.*)$", request.last, re.MULTILINE)])
    # A query is demanded: where both ways were tried, the last one comes again.
    queries = _queries(reading.missing, tried) or [each.asked(1) for each in reading.missing]
    lines = ["INSUFFICIENT", reading.said, *(f"Search: {each}" for each in queries)]
    return "\n".join(filter(None, lines))


def _plan(request: Request) -> str:
    """The sub-questions of one who has read nothing yet: each hop, or each side."""
    question = request.question
    if question is None:
        parts = [ASKING.findall(request.last)[-1]]
    else:
        parts = [hop.asked() for wanted in question.wanted for hop in wanted.hops()]
    tool = re.findall(r'^    "(\w+)": ', request.text, re.MULTILINE)[-1]
    items = [{"sub_question": part, "tool_name": tool} for part in parts]
    return f"```json\n{json.dumps({'items': items}, ensure_ascii=False)}\n```"


def _step(request: Request) -> str:
    """The next question, or None where the answers so far suffice or nothing is left to ask."""
    before = request.last.rpartition("Previous reasoning: ")[2]
    question = request.questions(request.last.partition("\n")[0])[-1]
    reading = Facts(before, by_heart=False).read(question)
    return next(iter(_queries(reading.missing, before)), "None")


def _standalone(request: Request) -> str:
    """The question as it is asked without its conversation."""
    return request.question.text if request.question else request.last


def _react(request: Request) -> str:
    """A thought, and an action or the answer, as LlamaIndex's agent is told to write them."""
    question = request.question
    if question is None:
        return f"Thought: I cannot answer the question.\nAnswer: {KNOWS_NOTHING}"
    reading = request.read(question)
    tried = "\n".join(re.findall(r"^Action Input: (.*)$", request.text, re.MULTILINE))
    queries = _queries(reading.missing, tried)
    if not queries:
        return f"Thought: I can answer without using any more tools.\nAnswer: {_answer(reading)}"
    tool = re.findall(r"^> Tool Name: (\w+)$", request.text, re.MULTILINE)[0]
    described = request.text.partition("Tool Args: ")[2]
    argument = next(iter(json.loads(described.partition("\n")[0])["properties"]))
    told = json.dumps({argument: queries[0]})
    return f"Thought: I need to use a tool.\nAction: {tool}\nAction Input: {told}"


def _search_or_finish(request: Request) -> str:
    """A thought, and a search or the end."""
    asked, _, trajectory = request.last.partition("\nTrajectory:\n")
    found = request.questions(asked)
    queries = _queries(request.read(found[-1]).missing, trajectory) if found else []
    if not queries:
        return "Thought: Nothing is left to look up.\nTool: finish\nArguments: {}"
    told = json.dumps({"query": queries[0]})
    return f"Thought: One more fact is needed.\nTool: search\nArguments: {told}"


def _from_memory(request: Request) -> str:
    """What is known by heart, or that it is not known."""
    question = request.question
    reading = Facts("", by_heart=True).read(question) if question else None
    return "I do not know." if reading is None or reading.missing else reading.said


def _certain(request: Request) -> str:
    """The same with how certain it is."""
    said = _from_memory(request)
    return f"{said} ({'uncertain' if said == 'I do not know.' else 'certain'})"


_FORMS: dict[str, Callable[[Request], str]] = {
    "<User Question>": _plan,
    "The original question is as follows": _step,
    "tandalone question": _standalone,
    "Action Input": _react,
    "Tool: search or finish": _search_or_finish,
    'say "certain"': _certain,
    "SUFFICIENT or INSUFFICIENT": _verdict,
    "based on your internal knowledge": _from_memory,
}
"""The words by which each form is recognised, and how it is written."""
