"""Rates of batches: questions and passages a second, here and on Ray, and what a passage takes.

Questions are collected by every action, from a server on loopback that replies after a delay.
Passages are a hundred random words each. They enter a store that is searched by words, and one with
the vectors of `HashingEmbedder`. Ray is running before anything is timed.

Usage: python benchmarks/scale.py [--questions 200] [--passages 10000] [--workers 2]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))  # of Ray's workers too

from langchain_skr import load_model
from skr_core.engines import Engine, EngineEmbedder, LocalEngine, RayEngine
from skr_core.ingest.ingestion import ingest
from skr_core.models.embedders import HashingEmbedder
from skr_core.questions import Question
from skr_core.self_knowledge import acollect
from skr_core.settings import Settings
from skr_core.store.chroma_store import ChromaStore
from skr_core.store.server import serve
from skr_core.testing import MappingRetriever
from skr_graphs import GraphAnswerer
from tests.integration.test_served_stores import free_port
from tests.servers import OpenAIServer

WORDS = [f"word{number}" for number in range(50_000)]


def reply(messages: list[dict[str, Any]]) -> str:
    return "SUFFICIENT\nIt is on the coast [1]." if "[1]" in messages[-1]["content"] else "No."


def questions_of(count: int) -> list[Question]:
    return [Question(f"{n}", f"Where is port {n}?", ("the coast",)) for n in range(count)]


def system(url: str, count: int) -> GraphAnswerer:
    passages = {each.question: ["It is on the coast."] for each in questions_of(count)}
    model = load_model("openai:test", base_url=url, api_key="none")
    return GraphAnswerer(Settings(model, MappingRetriever(passages)))


def questions_a_second(
    engine: Engine, count: int, delay_s: float, concurrency: int
) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder, OpenAIServer(reply, delay=delay_s) as server:
        make = partial(system, server.url, count)
        out = Path(folder, "records.jsonl")
        asked = partial(acollect, engine=engine, concurrency=concurrency)
        asyncio.run(asked(questions_of(16), make))
        started, calls = time.perf_counter(), server.calls
        records = asyncio.run(asked(questions_of(count), make, out=out))
        seconds = time.perf_counter() - started
        if len(records) != count:
            sys.exit(f"{len(records)} of {count} questions are on record")
        return {
            "questions_a_second": round(count / seconds, 1),
            "calls_a_question": (server.calls - calls) / count,
            "bytes_a_record": round(out.stat().st_size / count),
        }


SEARCH = """
import json, os, sys, time
from pathlib import Path
from skr_core.store.chroma_store import ChromaStore

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def seconds(work):
    began = time.perf_counter()
    work()
    return time.perf_counter() - began

before, place = resident(), sys.argv[1]
with (ChromaStore.connect if "://" in place else ChromaStore.open)(place) as store:
    first = seconds(lambda: store.retrieve("word1 word2 word3"))
    each = [seconds(lambda: store.retrieve(f"word{n} word{n + 1} word{n + 2}")) for n in range(50)]
    print(json.dumps([resident() - before, first, sorted(each)[25]]))
"""


def searched(place: str) -> tuple[float, float, float]:
    """Bytes that a process takes to search, and seconds of the first search and of any other."""
    command = [sys.executable, "-c", SEARCH, place]
    told = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    grown, first, each = json.loads(told.splitlines()[-1])
    return grown, first, each


def passages_a_second(engine: Engine, corpus: Path, count: int, embedder: Any) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        with ChromaStore.open(folder, embedder=embedder) as store:
            started = time.perf_counter()
            report = ingest([corpus], store, engine=engine)
            seconds = time.perf_counter() - started
        files = [path for path in Path(folder).rglob("*") if path.is_file()]
        total = sum(path.stat().st_size for path in files)
        journal = Path(folder, "references.jsonl").stat().st_size
        grown, first, each = searched(folder)
        with serve(folder, port=(port := free_port())):
            served = searched(f"http://127.0.0.1:{port}")
    return {
        "passages_a_second": round(report.passages / seconds),
        "bytes_on_disk": round(total / count),
        "bytes_of_journal": round(journal / count),
        "megabytes_to_search": round(grown / 1e6),
        "first_search_s": round(first, 2),
        "search_s": round(each, 4),
        "served_megabytes_to_search": round(served[0] / 1e6),
        "served_first_search_s": round(served[1], 2),
        "served_search_s": round(served[2], 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--passages", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--delay-ms", type=float, default=100, help="of each call of the model")
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--parts", nargs="+", default=["questions", "words", "vectors"])
    parser.add_argument("--engines", nargs="+", default=["here", "ray"])
    options = parser.parse_args()
    draw = random.Random(3)
    report: dict[str, Any] = {**vars(options)}
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder, "corpus.jsonl")
        with corpus.open("w") as file:
            for number in range(options.passages):
                text = " ".join(draw.choices(WORDS, k=100))
                file.write(json.dumps({"title": f"T{number}", "text": text}) + "\n")
        with RayEngine(workers=options.workers) as ray:
            for name, engine in (("here", LocalEngine()), ("ray", ray)):
                if name not in options.engines:
                    continue
                measured: dict[str, Any] = {}
                if "questions" in options.parts:
                    measured["questions"] = questions_a_second(
                        engine, options.questions, options.delay_ms / 1000, options.concurrency
                    )
                for part, embedder in (
                    ("words", None),
                    ("vectors", EngineEmbedder(HashingEmbedder, engine)),
                ):
                    if part in options.parts:
                        measured[part] = passages_a_second(
                            engine, corpus, options.passages, embedder
                        )
                report[name] = measured
    json.dump(report, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
