"""What the workers of `test_ray` import: light, because each of them is a new process."""

from __future__ import annotations

import asyncio
import json
import os
import urllib.request
from pathlib import Path
from typing import Any

from skr_core import Generation, OnToken, Prompt, Question, Settings, Usage
from skr_core.errors import BudgetError, DataError, MissingDependency
from skr_core.flow import Flow
from skr_core.testing import MappingRetriever
from skr_graphs import GraphAnswerer
from skr_learn.scoring import Judge

SECRET = "correct-horse-battery"


class Made:
    """What a worker makes; it leaves a file with its process in a folder."""

    def __init__(self, folder: Path) -> None:
        (folder / f"made-{os.getpid()}").touch()


def double(made: Made, item: int) -> Flow[tuple[int, int]]:
    return 2 * item, os.getpid()
    yield


def fail(made: Made, item: int) -> Flow[int]:
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


def end(made: Made, item: int) -> Flow[Any]:
    os._exit(1)
    yield


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
    passages = {each.question: [f"Port {each.id} is on {each.gold[0]}."] for each in QUESTIONS}
    return GraphAnswerer(Settings(Model(url), MappingRetriever(passages)))


def judging(url: str) -> Judge:
    return Judge(Model(url))
