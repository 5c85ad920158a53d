"""Killed at random moments and started again: nothing lost, nothing twice, the same results."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import textwrap
import time
from collections import Counter
from pathlib import Path

import orjson
import pytest

pytestmark = pytest.mark.integration

MODEL = """
    import asyncio, sys, time
    from pathlib import Path
    from skr_core.prompts.templates import QUERY_LEAD, REFUSAL
    from skr_core.testing import MappingRetriever
    from skr_core.types import Generation

    folder = Path(sys.argv[1])
    QUESTIONS = [f"Where was engineer {n} born?" for n in range(6)]

    class Model:
        name = "by-what-it-is-shown"
        def generate(self, prompt, *, on_token=None):
            with open(folder / "asked.txt", "a") as asked:
                asked.write(f"{prompt.task} {len(prompt.references)} {prompt.question}\\n")
            time.sleep(0.02)
            number = prompt.question.split()[3]
            if prompt.task == "self_complete":
                return Generation(f"{QUERY_LEAD}\\n1. Where was Ada {number} born?")
            found = any("Port" in each.text for each in prompt.references)
            return Generation(f"In Port {number} [2]." if found else REFUSAL)
        async def agenerate(self, prompt, *, on_token=None):
            return await asyncio.to_thread(self.generate, prompt)

    passages = {q: [f"Ada {n} was engineer {n}."] for n, q in enumerate(QUESTIONS)}
    passages |= {f"Where was Ada {n} born?": [f"Ada {n} was born in Port {n}."] for n in range(6)}
    retriever = MappingRetriever(passages)
"""

SYNC = """
    from langgraph.checkpoint.sqlite import SqliteSaver
    from skr_graphs import create_self_completion_graph
    with SqliteSaver.from_conn_string(str(folder / "state.sqlite")) as saver:
        graph = create_self_completion_graph(model=Model(), retriever=retriever)
        graph = graph.compile(checkpointer=saver)
        for n, question in enumerate(QUESTIONS):
            thread = {"configurable": {"thread_id": str(n)}}
            state = graph.get_state(thread)
            if state.tasks or not state.values:  # tasks: also one whose writes alone are kept
                given = None if state.tasks else {"question": question}
                graph.invoke(given, thread, durability="sync")
            print(graph.get_state(thread).values["answer"], flush=True)
"""

ASYNC = """
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
    from skr_graphs import create_self_completion_graph
    async def main():
        async with AsyncSqliteSaver.from_conn_string(str(folder / "state.sqlite")) as saver:
            graph = create_self_completion_graph(model=Model(), retriever=retriever)
            graph = graph.compile(checkpointer=saver)
            for n, question in enumerate(QUESTIONS):
                thread = {"configurable": {"thread_id": str(n)}}
                state = await graph.aget_state(thread)
                if state.tasks or not state.values:
                    given = None if state.tasks else {"question": question}
                    await graph.ainvoke(given, thread, durability="sync")
                print((await graph.aget_state(thread)).values["answer"], flush=True)
    asyncio.run(main())
"""

COLLECT = """
    from skr_core.questions import Question
    from skr_core.self_knowledge import collect
    from skr_core.settings import Settings
    from skr_graphs import GraphAnswerer
    records = collect(
        [Question(q, q, (f"Port {n}",)) for n, q in enumerate(QUESTIONS)],
        GraphAnswerer(Settings(Model(), retriever)),
        out=folder / "records.jsonl", concurrency=1,
    )
    for record in records:
        print(record.question, [(a, record.outcomes[a].answer) for a in sorted(record.outcomes)])
"""

INGEST = """
    from skr_core.ingest.ingestion import ingest
    from skr_core.store.chroma_store import ChromaStore
    corpus = folder / "corpus.jsonl"
    if not corpus.exists():
        import random
        draw = random.Random(3)
        texts = [" ".join(str(draw.randrange(900)) for _ in range(9)) for n in range(4000)]
        rows = [f'{{"id": "{n}", "title": "T{n}", "text": "{t}"}}' for n, t in enumerate(texts)]
        corpus.with_suffix(".draft").write_text("\\n".join(rows))
        corpus.with_suffix(".draft").rename(corpus)
    (folder / "asked.txt").touch()
    # By its words: two graphs of vectors differ in what they miss, also where nobody was killed.
    with ChromaStore.open(folder / "store", k=3, search="bm25") as store:
        report = ingest([corpus], store)
        print(report.passages, store.count(), len(store._folder.journal.ids))
        for n in range(0, 4000, 500):
            print([found.title for found in store.retrieve(f"T{n} {n % 900} {n % 700}")])
"""

WORK = {"sync": SYNC, "async": ASYNC, "collect": COLLECT, "ingest": INGEST}


def start(work: str, folder: Path) -> subprocess.Popen[str]:
    folder.mkdir(exist_ok=True)
    script = textwrap.dedent(MODEL) + textwrap.dedent(WORK[work])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(
        [sys.executable, "-c", script, str(folder)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(work: str, folder: Path) -> str:
    said, told = start(work, folder).communicate(timeout=120)
    assert said, told
    return said


def begun(work: str, folder: Path) -> bool:
    return (folder / ("store/references.jsonl" if work == "ingest" else "asked.txt")).exists()


def kill(work: str, times: int, tmp_path: Path) -> None:
    """Each of the runs is killed once, from its first call on, and started again."""
    expected = finish(work, tmp_path / "whole")
    asked = Counter((tmp_path / "whole" / "asked.txt").read_text().splitlines())
    draw = random.Random(5)
    killed = 0
    for turn in range(times):
        folder = tmp_path / str(turn)
        with start(work, folder) as process:
            while process.poll() is None and not begun(work, folder):
                time.sleep(0.002)
            time.sleep(draw.uniform(0, 0.5))
            process.kill()
            process.wait()
        killed += process.returncode < 0
        assert finish(work, folder) == expected
        again = Counter((folder / "asked.txt").read_text().splitlines()) - asked
        if work == "collect":  # a question is the unit: the one under way is asked again
            assert len({call.split(maxsplit=2)[2] for call in again}) <= 1, again
            assert all(times == 1 for times in again.values()), again
        else:
            assert again.total() <= 1, again
        assert finish(work, folder) == expected  # and a whole one is left as it is
        rows = folder / "records.jsonl"
        if rows.exists():
            keys = [orjson.loads(line)["key"] for line in rows.read_bytes().splitlines()]
            assert len(keys) == len(set(keys)) == 6
    assert killed


@pytest.mark.parametrize("work", WORK)
def test_three_kills(work: str, tmp_path: Path):
    kill(work, 3, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("work", WORK)
def test_fifty_kills(work: str, tmp_path: Path):
    kill(work, 50, tmp_path)
