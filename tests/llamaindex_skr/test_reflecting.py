"""A learned reflector's folder behind LlamaIndex's engine."""

from __future__ import annotations

import asyncio
from pathlib import Path
from shutil import rmtree

import pytest

from llamaindex_skr import SKRQueryEngine
from skr_learn import LearnedReflector
from tests.langchain_skr.test_reflecting import QUESTION, model, teams
from tests.skr_learn.reflectors.test_learned import record


@pytest.mark.parametrize("colour", ["sync", "async"])
async def test_a_folder_is_read_once_and_sends_drafts_back(colour: str, tmp_path: Path):
    LearnedReflector.fit([record(number) for number in range(120)]).save(tmp_path)
    engine = SKRQueryEngine.from_defaults(teams(), llm=model(), reflector=tmp_path)
    rmtree(tmp_path)
    if colour == "sync":
        response = await asyncio.to_thread(engine.query, QUESTION)
    else:
        response = await engine.aquery(QUESTION)
    assert str(response) == "Ada 7 [2]."
