"""Made-up worlds: questions, a retriever and a model, whose every word follows from the question.

A question is of one of a few kinds, which differ in how many of them the model knows, and asks of
now or of once, which shifts it. Passages may be missing, out of date, or hold half of the way; the
model may guess, misread, or say that it does not know. So words tell something of what the model
knows, and what it says tells more, but nothing tells all. The model stands behind an OpenAI-like
server on loopback, whose tokens are words.
"""

from __future__ import annotations

import json
import math
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from skr_core import Question, Reference
from skr_core.match import contains_gold
from skr_core.types import Answer

KINDS = {
    "main sea of the river": 0.9,
    "chief metal of the mine at": 0.75,
    "league of the football club": 0.6,
    "painter of the altar of": 0.4,
    "founder of the abbey of": 0.2,
    "keeper of the books of the firm": 0.05,
}
"""What is asked for, and how often the model knows it."""
TWO_HOPS = frozenset(KINDS) - {"main sea of the river", "league of the football club"}
"""The kinds whose passages name only where to look on, in a world of two hops."""
CHANGING = {"league of the football club": 2.0, "keeper of the books of the firm": 1.5}
"""The kinds whose passages are out of date more often than others'."""
FIRST = "Ada Ben Cleo Dan Eva Finn Gus Hana Ines Jon Kai Lea".split()
LAST = "Moor Stone Hart Frost Lark Reed Holt Thorn Quill Vane Marsh Dale".split()
SYLLABLES = [f"{one}{two}" for one in "bdfgklmnprstvw" for two in ("an", "el", "ir", "or", "um")]
FILLER = (
    "Visitors come in summer and the records of the parish go back a long way though much of what "
    "was written there burned in the great fire and only letters tell of storms late wages and "
    "quarrels among masons over every stone that was cut by hand and carried up from the harbour"
).split()
FOUND = 4
"""Passages of a search."""


@dataclass(frozen=True)
class World:
    """A world, whose chances are all that it differs in from others.

    Attributes:
        name: Its name.
        known: What the chance of knowing is raised to the power of: 0 knows all; None nothing.
        outdated: The chance that a passage is out of date.
        hops: Whether some kinds take two hops.
        sentences: Whether the right answer is a sentence, which has to be said in its very words.
        flipped: The share of scores that are turned round.
    """

    name: str
    known: float | None = 1.0
    outdated: float = 0.05
    hops: bool = False
    sentences: bool = False
    flipped: float = 0.0

    def chance(self, *key: object) -> float:
        """A number from 0 to 1 that follows from the key, and looks as if drawn at random."""
        told = repr((self.name, *key)).encode()
        return int.from_bytes(blake2b(told, digest_size=6).digest()) / 2**48

    def items(self, count: int) -> list[Item]:
        """The first questions of the world."""
        return [Item(self, number) for number in range(count)]

    def metric(self, answer: Answer, question: Question) -> bool:
        """Whether the answer has the gold one in it; turned round for a share of them."""
        right = contains_gold(answer.text, question.gold)
        return right != (self.chance("flip", question.id, answer.text) < self.flipped)


WORLDS = (
    World("outdated passages", outdated=0.3),
    World("two hops", known=1.5, hops=True),
    World("sentences", sentences=True),
    World("noise", outdated=0.15, flipped=0.1),
    World("knows nothing", known=None),
    World("knows all", known=0.0, outdated=0.2),
)


@dataclass(frozen=True)
class Item:
    """A question of a world, with what its model and its passages say.

    Attributes:
        world: The world.
        number: The question's number there.
    """

    world: World
    number: int

    def chance(self, *key: object) -> float:
        """A number from 0 to 1, which follows from the question and the key."""
        return self.world.chance(self.number, *key)

    @cached_property
    def name(self) -> str:
        """What is asked about; no two questions of a world share it."""
        places = [self.number // 70**place % 70 for place in range(2)]
        return "".join(SYLLABLES[each] for each in places).capitalize() + "ia"

    @cached_property
    def kind(self) -> str:
        """What is asked for."""
        return list(KINDS)[int(self.chance("kind") * len(KINDS))]

    @cached_property
    def once(self) -> bool:
        """Whether it asks of the past, of which the model knows more and passages less."""
        return self.chance("once") < 0.5

    @cached_property
    def text(self) -> str:
        """The question."""
        when = "in the old days" if self.once else "today"
        return f"Who or what is {when} the {self.kind} {self.name}?"

    @cached_property
    def known(self) -> bool:
        """Whether the model knows the answer."""
        if self.world.known is None:
            return False
        power = self.world.known * (0.6 if self.once else 1.4)
        return self.chance("known") < math.pow(KINDS[self.kind], power)

    @cached_property
    def value(self) -> str:
        """What is right."""
        return self._name("value")

    def said(self, value: str) -> str:
        """The sentence that states a value."""
        return f"The {self.kind} {self.name} is {value}."

    @cached_property
    def question(self) -> Question:
        """The question with its right answer."""
        gold = self.said(self.value) if self.world.sentences else self.value
        return Question(str(self.number), self.text, (gold,))

    @cached_property
    def middle(self) -> str:
        """The archive that is to be asked next, where it takes two hops."""
        hop = self.world.hops and self.kind in TWO_HOPS
        return f"{self.name} Archive {self.number}" if hop else ""

    @cached_property
    def passage(self) -> str:
        """The sentence of the passages that holds the answer, which may be out of date."""
        often = self.world.outdated * CHANGING.get(self.kind, 0.6)
        outdated = self.chance("outdated") < often
        return self.said(self._name("old") if outdated else self.value)

    def find(self, query: str) -> list[str]:
        """The sentences that a search finds of it."""
        if self.middle:
            found = self.passage if self.middle in query else f"Ask the {self.middle} about it."
        else:
            found = self.passage
        missed = 0.12 if query == self.text else 0.3
        return [] if self.chance("missed", query) < missed else [found]

    def reply(self, prompt: str) -> str:
        """What the model says to a prompt about it."""
        number, read = self.read(prompt)
        if "Verdict:" not in prompt:
            if read and "internal knowledge" in prompt and "given information" in prompt:
                return f"{self.worded(read)} [{number}]"
            return self.remembered()
        if read:
            return f"SUFFICIENT\n{self.worded(read)} [{number}]"
        if self.middle and f"Ask the {self.middle}" in prompt:
            return f"INSUFFICIENT\nIt lies with an archive.\nSearch: {self.middle} {self.name}"
        return f"INSUFFICIENT\n\nSearch: {self.kind} {self.name} in the records"

    def _name(self, *key: object) -> str:
        one, two = self.chance(*key, 1), self.chance(*key, 2)
        return f"{FIRST[int(one * len(FIRST))]} {LAST[int(two * len(LAST))]}"

    def read(self, prompt: str) -> tuple[str, str]:
        """The number of the reference that has the answer, and the value read in it; or nothing."""
        before, found, _ = prompt.partition(self.passage)
        if not found:
            return "", ""
        value = self.passage.rpartition(" is ")[2][:-1]
        if self.chance("misread") < 0.06:
            value = self._name("misread")
        return re.findall(r"^\[(\d+)\]", before, re.MULTILINE)[-1], value

    def remembered(self) -> str:
        """What the model says by itself."""
        if self.known:
            return self.worded(self.value, sure=self.chance("sure") < 0.9)
        if self.chance("gives up") < 0.3:
            return "I do not know."
        return self.worded(self._name("guess"), sure=self.chance("sure") < 0.5)

    def worded(self, value: str, sure: bool = True) -> str:
        """The words in which it states a value."""
        if not sure:
            return f"It might be {value}, I suppose."
        wordy = self.chance("wordy", value) < (0.85 if self.world.sentences else 0.4)
        return self.said(value) if wordy else f"It is {value}."


class MadeRetriever:
    """Finds the passages of the item that a query names, among others' that do not help.

    Args:
        items: All items of a world.
    """

    name = "made"

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = items
        self._by_name = {item.name: item for item in items}

    def retrieve(self, query: str) -> list[Reference]:
        """Return the passages, the best first."""
        names = [name for name in re.findall(r"\w+", query) if name in self._by_name]
        sentences: list[tuple[Item, str]] = []
        for name in names[:1]:
            item = self._by_name[name]
            sentences += [(item, said) for said in item.find(query)]
        asked = self._by_name[names[0]] if names else self._items[0]
        while len(sentences) < FOUND:
            place = int(asked.chance("other", query, len(sentences)) * len(self._items))
            other = self._items[place]
            sentences.append((other, f"Many have heard of {other.name}."))
        return [Reference.of(_padded(item, said), item.name) for item, said in sentences]

    async def aretrieve(self, query: str) -> list[Reference]:
        """Async version of `retrieve`."""
        return self.retrieve(query)


def _padded(item: Item, said: str) -> str:
    start = int(item.chance("filler") * len(FILLER))
    words = (FILLER * 2)[start : start + 5 + int(item.chance("length") * 35)]
    return f"{said} {' '.join(words).capitalize()}."


@contextmanager
def served(items: Sequence[Item]) -> Iterator[str]:
    """Serve the model of a world as OpenAI does; yields the server's address."""
    by_text = {item.text: item for item in items}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            prompt = request["messages"][-1]["content"]
            asked = re.findall(r"Question: (.*\?)", prompt)[-1]
            data = json.dumps(_completion(request, by_text[asked].reply(prompt))).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *told: object) -> None:
            """Say nothing of each request."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()


def _completion(request: Mapping[str, Any], said: str) -> dict[str, Any]:
    sent = sum(len(message["content"].split()) for message in request["messages"])
    made = len(said.split())
    message = {"role": "assistant", "content": said}
    return {
        "id": "made",
        "object": "chat.completion",
        "created": 0,
        "model": request["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": sent, "completion_tokens": made, "total_tokens": sent + made},
    }
