"""Batches on Ray beside this process.

Questions are collected by every action, with calls of a server on loopback that replies after 100
ms, 32 at a time; the ideal is what those calls take where nothing else takes any time. Passages of
a hundred random words are put into a folder that is searched by words, and into one with the
vectors of `HashingEmbedder`. Both sides are this library's: two workers of Ray, which run before
anything is timed, and the threads and tasks of one process. The server, the workers and the process
share the processor.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from skr_core.engines import Engine, EngineEmbedder, LocalEngine, RayEngine

from benchmarks.rows import ROOT, LeftOut, Row
from langchain_skr import load_model
from skr_core.errors import MissingDependency
from skr_core.models.embedders import HashingEmbedder
from skr_core.questions import Question
from skr_core.settings import Settings
from skr_core.testing import MappingRetriever
from skr_graphs import GraphAnswerer
from skr_learn.self_knowledge import acollect
from skr_store.chroma_store import ChromaStore
from skr_store.ingestion import ingest
from tests.servers import OpenAIServer

WORKERS, CONCURRENCY, DELAY_S, CALLS = 2, 32, 0.1, 2
RAY, HERE, IDEAL = f"Ray, {WORKERS} workers", "this process", "the ideal"
VOCABULARY = [f"word{number}" for number in range(50_000)]


def rows(quick: bool) -> Iterator[Row]:
    """Questions collected and passages added, by both engines."""
    questions, passages = (40, 300) if quick else (600, 10_000)
    # Workers import what they are sent from the repository.
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "graphs")])
    try:
        ray = RayEngine(workers=WORKERS)
    except MissingDependency as error:
        raise LeftOut(str(error)) from error
    with ray, tempfile.TemporaryDirectory() as folder:
        engines: dict[str, Engine] = {RAY: ray, HERE: LocalEngine()}
        seconds = {name: collected(engine, questions) for name, engine in engines.items()}
        seconds[IDEAL] = questions * CALLS * DELAY_S / CONCURRENCY
        for ours, peer in ((RAY, HERE), (RAY, IDEAL), (HERE, IDEAL)):
            what = f"collecting, {ours}"
            yield Row(what, seconds[ours], "s", peer, seconds[peer], questions, "questions")
        corpus = Path(folder, "corpus.jsonl")
        write_corpus(corpus, passages)
        for kind in ("words", "vectors"):
            taken = {name: ingested(engine, corpus, kind) for name, engine in engines.items()}
            what = f"adding passages, searched by {kind}, {RAY}"
            yield Row(what, taken[RAY], "s", HERE, taken[HERE], passages, "passages")


def collected(engine: Engine, count: int) -> float:
    """Seconds that collecting so many questions takes."""
    with OpenAIServer(reply, delay=DELAY_S) as server:
        make = partial(system, server.url, count)
        ask = partial(acollect, engine=engine, concurrency=CONCURRENCY)
        asyncio.run(ask(questions_of(16), make))  # workers open their systems
        before, begin = server.calls, time.perf_counter()
        records = asyncio.run(ask(questions_of(count), make))
        seconds = time.perf_counter() - begin
        if (len(records), server.calls - before) != (count, CALLS * count):
            raise RuntimeError(f"{len(records)} of {count} questions are on record")
        return seconds


def system(url: str, count: int) -> GraphAnswerer:
    """What is asked, made in each worker."""
    passages = {each.question: ["It is on the coast."] for each in questions_of(count)}
    model = load_model("openai:test", base_url=url, api_key="none")
    return GraphAnswerer(Settings(model, MappingRetriever(passages)))


def questions_of(count: int) -> list[Question]:
    return [Question(f"{n}", f"Where is port {n}?", ("the coast",)) for n in range(count)]


def reply(messages: list[dict[str, Any]]) -> str:
    return "SUFFICIENT\nIt is on the coast [1]." if "[1]" in messages[-1]["content"] else "No."


def ingested(engine: Engine, corpus: Path, kind: str) -> float:
    """Seconds that a corpus takes into a new folder."""
    embedder = EngineEmbedder(HashingEmbedder, engine) if kind == "vectors" else None
    with tempfile.TemporaryDirectory() as folder, ChromaStore.open(folder, embedder=embedder) as to:
        begin = time.perf_counter()
        ingest([corpus], to, engine=engine)
        return time.perf_counter() - begin


def write_corpus(path: Path, count: int) -> None:
    """Passages of a hundred random words, always the same."""
    draw = random.Random(3)
    with path.open("w") as file:
        for number in range(count):
            text = " ".join(draw.choices(VOCABULARY, k=100))
            file.write(json.dumps({"title": f"T{number}", "text": text}) + "\n")
