"""A small library with three questions, and a model that answers them by what stands in its prompt.

It stands in for a language model behind an OpenAI-compatible server, so that what systems spend can
be compared without one. It is the same for all: it takes a fact for given where its sentence stands
in the prompt, writes in the form that the prompt asks for, and asks next for the first fact that is
missing. By heart it knows one, for those that let it.
"""

from __future__ import annotations

import json
import re
from typing import Any

import bm25s

from skr_core.texts import words

CAPITAL = "Paris is the capital of France."
DESIGNED = "The lighthouse of Gull Rock was designed by Ada Quill."
BORN = "Ada Quill was born in Port Elm."

KNOWN = "What is the capital of France?"
EASY = "Who designed the lighthouse of Gull Rock?"
TWO_HOPS = "Where was the designer of the lighthouse of Gull Rock born?"
SECOND_HOP = "Where was Ada Quill born?"

NEEDED = {KNOWN: [CAPITAL], EASY: [DESIGNED], TWO_HOPS: [DESIGNED, BORN], SECOND_HOP: [BORN]}
"""The facts that answer a question, in the order in which they can be asked for."""
ASKS_FOR = {CAPITAL: KNOWN, DESIGNED: EASY, BORN: SECOND_HOP}
PARTS = {TWO_HOPS: [EASY, TWO_HOPS]}
"""What a question can be taken apart into by one who has read nothing yet."""
GOLD = {KNOWN: "Paris", EASY: "Ada Quill", TWO_HOPS: "Port Elm"}

FOUND_PER_SEARCH = 4
SYSTEM = "You answer questions. The tool `search` finds passages of a library."
"""What an agent is told; by it the model knows that it may search."""

_PLACES = "Elder Ness, Fallow Head, Gull Rock, Hern Point, Ivy Sound, Kestrel Bay".split(", ")
_DESIGNERS = "Abel Thorn, Amy Lark, Ada Quill, Alan Moss, Agnes Reed, Arne Holt".split(", ")
_TOWNS = "Aldmouth, Brine, Port Elm, Corfield, Dunmere, Eastwick".split(", ")
_LIGHTHOUSE = (
    "The lighthouse of {place} was designed by {designer}. Its tower of grey granite stands on a "
    "ledge that the tide covers twice a day, and every stone was cut on the mainland and carried "
    "over by boat in the calm months. The lamp burned colza oil, later paraffin, and was trimmed "
    "by three keepers in turn; since the last of them left it has been worked by a cable from the "
    "shore. In clear weather its beam is seen for eighteen miles, and the fog signal sounds twice "
    "a minute."
)
_PERSON = (
    "{designer} was born in {town}. The family kept a chandler's shop by the harbour, and the "
    "child drew the ships that came in before it could write. After an apprenticeship with a "
    "surveyor of bridges came thirty years in the service of the coast, of which nine notebooks "
    "and some two hundred drawings are kept. Letters to a sister tell of storms, late wages, and "
    "the quarrels of masons; the last was written a week before the end."
)
_COUNTRY = (
    "{capital} is the capital of {country}. It lies on a river, has been the seat of the "
    "government for centuries, and draws more visitors in a year than it has inhabitants. Its "
    "museums, its markets and the railway stations of the last century but one are known far "
    "beyond the country."
)
PASSAGES = [
    *(
        _LIGHTHOUSE.format(place=place, designer=designer)
        for place, designer in zip(_PLACES, _DESIGNERS, strict=True)
    ),
    *(
        _PERSON.format(designer=designer, town=town)
        for designer, town in zip(_DESIGNERS, _TOWNS, strict=True)
    ),
    *(
        _COUNTRY.format(capital=capital, country=country)
        for capital, country in [("Paris", "France"), ("Rome", "Italy"), ("Lisbon", "Portugal")]
    ),
]

_index = bm25s.BM25(method="lucene")
_index.index([words(passage) for passage in PASSAGES], show_progress=False)


def search(query: str) -> list[str]:
    """What the library has on a query, best first."""
    scores = _index.get_scores(words(query)).tolist()
    best = sorted(range(len(PASSAGES)), key=lambda place: -scores[place])[:FOUND_PER_SEARCH]
    return [PASSAGES[place] for place in best if scores[place] > 0]


def reply(messages: list[dict[str, Any]]) -> str | dict[str, Any]:
    """What the model says to the messages of a request: a text, or the call of a tool."""
    told = "\n".join(str(message.get("content") or "") for message in messages)
    asked = [message["content"] for message in messages if message["role"] == "user"][-1]
    seen = {fact for fact in ASKS_FOR if fact in told}
    if "The original question is as follows" in asked:  # MultiStepQueryEngine's next step
        question = next(each for each in NEEDED if f"as follows: {each}" in asked)
        return next((ASKS_FOR[fact] for fact in NEEDED[question] if fact not in seen), "None")
    question = max(NEEDED, key=asked.rfind)
    if "<User Question>" in asked:  # SubQuestionQueryEngine's plan
        parts = PARTS.get(question, [question])
        items = [{"sub_question": part, "tool_name": "library"} for part in parts]
        return f"```json\n{json.dumps({'items': items})}\n```"
    if "internal knowledge" in asked or SYSTEM in told:
        seen.add(CAPITAL)
    missing = [fact for fact in NEEDED[question] if fact not in seen]
    supported = " ".join(_cited(fact, asked) for fact in NEEDED[question] if fact in seen)
    if SYSTEM in told and missing:
        return _call_of_search(ASKS_FOR[missing[0]] if supported else question, len(messages))
    if asked.endswith("Verdict:"):  # the loop's
        if not missing:
            return f"SUFFICIENT\n{supported}"
        return f"INSUFFICIENT\n{supported}\nSearch: {ASKS_FOR[missing[0]]}"
    return f"{supported} I do not know the rest." if missing else supported


def _cited(fact: str, prompt: str) -> str:
    """The fact with the number of the source it stands in, where the sources have numbers."""
    before = prompt[: max(prompt.find(fact), 0)]
    numbers = re.findall(r"^(?:\[(\d+)\]|Source (\d+):)", before, re.MULTILINE)
    return f"{fact[:-1]} [{''.join(numbers[-1])}]." if numbers else fact


def _call_of_search(query: str, number: int) -> dict[str, Any]:
    called = {"name": "search", "arguments": json.dumps({"query": query})}
    call = {"id": f"call-{number}", "type": "function", "function": called}
    return {"role": "assistant", "content": None, "tool_calls": [call]}
