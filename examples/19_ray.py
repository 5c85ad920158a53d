"""Collect self-knowledge on Ray: each worker makes the system of its own; this process records.

Run it again and nothing is asked twice. Needs ``pip install "skr-rag[ray,learning]"``.
"""

from __future__ import annotations

import os
from pathlib import Path

from langchain_skr import load_model
from skr_core import Question, Settings
from skr_core.testing import MappingRetriever
from skr_graphs import GraphAnswerer
from skr_learn import RayWorkers, collect

CAPITALS = {"France": "Paris", "Italy": "Rome", "Spain": "Madrid", "Peru": "Lima"}
QUESTIONS = [
    Question(land, f"What is the capital of {land}?", (city,)) for land, city in CAPITALS.items()
]


def system() -> GraphAnswerer:
    """What each worker calls once: it is sent this function, never a client."""
    model = load_model(os.environ.get("SKR_MODEL", "extractive"))
    passages = {
        each.question: [f"{each.gold[0]} is the capital of {each.id}."] for each in QUESTIONS
    }
    return GraphAnswerer(Settings(model, MappingRetriever(passages)))


def main() -> None:
    with RayWorkers(count=2) as workers:
        records = collect(
            QUESTIONS,
            system,
            out=Path("collected-on-ray.jsonl"),
            concurrency=4,
            workers=workers,
        )
    for record in records:
        print(f"{record.question} retrieval {record.effect}")


if __name__ == "__main__":
    main()
