"""What the workers of `test_ray` import: light, because each of them is a new process."""

from __future__ import annotations

import asyncio
import json
import os
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from skr_core.errors import BudgetError, DataError, MissingDependency
from skr_core.flow import Flow, call
from skr_core.models.embedders import HashingEmbedder
from skr_core.models.limited import Spending
from skr_core.ports import OnToken
from skr_core.questions import Question
from skr_core.settings import Settings
from skr_core.testing import MappingRetriever
from skr_core.types import Generation, Prompt, Usage
from skr_graphs import GraphAnswerer
from skr_learn.evaluation.asking import System
from skr_learn.self_knowledge import Judge

SECRET = "correct-horse-battery"


class Held:
    """What a worker holds; it leaves a file with its process in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / f"made-{os.getpid()}").touch()

    def double(self, item: int) -> tuple[int, int]:
        return 2 * item, os.getpid()

    async def adouble(self, item: int) -> tuple[int, int]:
        return 2 * item, os.getpid()


def double(held: Held, item: int) -> Flow[tuple[int, int]]:
    return (yield from call(held.double, held.adouble, item))


def fail(held: Held, item: int) -> Flow[int]:
    errors = [
        DataError("questions.jsonl", 3, f"no JSON, Bearer {SECRET}"),
        MissingDependency("bs4", "documents"),
        BudgetError("2 of 2 calls are made"),
        LookupError(f"Authorization: Bearer {SECRET}"),
    ]
    if item >= 0:
        raise errors[item]
    return item
    yield


def end(held: Held, item: int) -> Flow[int]:
    os._exit(1)
    yield


def begin(spending: Spending, held: Held, item: int) -> Flow[float]:
    return (yield from call(spending.begin, spending.abegin))


class Marking(HashingEmbedder):
    """Tells a file which process it works in."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def embed(self, texts: Sequence[str]) -> Any:
        with self.file.open("a") as file:
            file.write(f"{os.getpid()}\n")
        return super().embed(texts)


def marking(file: Path) -> Marking:
    return Marking(file)


class Model:
    """Asks a server for a reply, with the standard library alone."""

    name = "test"

    def __init__(self, url: str) -> None:
        self.url = url

    def generate(self, prompt: Prompt, *, on_token: OnToken | None = None) -> Generation:
        body = json.dumps({"messages": [{"role": "user", "content": prompt.text}]}).encode()
        with urllib.request.urlopen(f"{self.url}/chat/completions", body) as response:
            text = json.load(response)["choices"][0]["message"]["content"]
        return Generation(text, Usage(10, 5, calls=1))

    async def agenerate(self, prompt: Prompt, *, on_token: OnToken | None = None) -> Generation:
        return await asyncio.to_thread(self.generate, prompt)


QUESTIONS = [Question(f"{n}", f"Where is port {n}?", (f"Coast {n}",)) for n in range(16)]


def system(url: str, folder: Path) -> GraphAnswerer:
    """What a worker makes: a client of its own."""
    (folder / f"made-{os.getpid()}").touch()
    return GraphAnswerer(Settings(Model(url), searched()))


def searched() -> MappingRetriever:
    passages = {each.question: [f"Port {each.id} is on {each.gold[0]}."] for each in QUESTIONS}
    return MappingRetriever(passages)


def judging(url: str) -> Judge:
    return Judge(Model(url))


def systems(url: str, folder: Path) -> dict[str, System]:
    answerer = system(url, folder)
    return {name: System.of(name, answerer, action=name) for name in ("loop", "direct")}
