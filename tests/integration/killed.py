"""Works that are killed and started again: each does it all, or goes on where it was.

A work is told a folder, keeps there what it keeps, and says what came out. Its model writes into
``asked.txt`` what it is asked.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import io
import random
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import orjson
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from skr_app import models
from skr_app.main import app
from skr_core import Generation, Prompt, Question, Settings
from skr_core.prompts import QUERY_LEAD, REFUSAL
from skr_core.testing import MappingRetriever
from skr_graphs import GraphAnswerer, create_self_completion_graph
from skr_learn import RayWorkers, Records, collect
from skr_learn.reply_cache import CachedModel, ReplyCache
from skr_store import Store, ingest

Work = Callable[[Path], str]

QUESTIONS = [f"Where was engineer {n} born?" for n in range(6)]
FIRST = {q: [f"Ada {n} was engineer {n}."] for n, q in enumerate(QUESTIONS)}
SECOND = {f"Where was Ada {n} born?": [f"Ada {n} was born in Port {n}."] for n in range(6)}


def hold(folder: Path, step: int) -> None:
    """Wait for the kill, where ``last.txt`` names this step or an earlier one."""
    last = folder / "last.txt"
    if last.exists() and step >= int(last.read_text()):
        (folder / "held.txt").touch()
        time.sleep(600)


class Model:
    """Answers as soon as it is shown a port, and asks for one until then."""

    name = "by-what-it-is-shown"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.calls = count(1)

    def generate(self, prompt: Prompt, *, on_token: Any = None) -> Generation:
        with (self.folder / "asked.txt").open("a") as asked:
            asked.write(f"{prompt.task} {len(prompt.references)} {prompt.question}\n")
        hold(self.folder, next(self.calls))
        time.sleep(0.02)
        number = prompt.question.split()[3]
        if prompt.task == "self_complete":
            return Generation(f"{QUERY_LEAD}\n1. Where was Ada {number} born?")
        found = any(f"Port {number}" in each.text for each in prompt.references)
        return Generation(f"In Port {number} [2]." if found else REFUSAL)

    async def agenerate(self, prompt: Prompt, *, on_token: Any = None) -> Generation:
        return await asyncio.to_thread(self.generate, prompt)


def blocking_graph(folder: Path, durability: Any) -> str:
    answers = []
    with SqliteSaver.from_conn_string(str(folder / "state.sqlite")) as saver:
        graph = _graph(folder).compile(checkpointer=saver)
        for n, question in enumerate(QUESTIONS):
            thread: Any = {"configurable": {"thread_id": str(n)}}
            state = graph.get_state(thread)
            if state.tasks or not state.values:  # tasks: also one whose writes alone are kept
                given: Any = None if state.tasks else {"question": question}
                graph.invoke(given, thread, durability=durability)
                _acknowledge(folder, question)
            answers.append(graph.get_state(thread).values["answer"])
    return "\n".join(answers)


def awaited_graph(folder: Path, durability: Any) -> str:
    async def work() -> str:
        answers = []
        path = str(folder / "state.sqlite")
        async with AsyncSqliteSaver.from_conn_string(path) as saver:
            graph = _graph(folder).compile(checkpointer=saver)
            for n, question in enumerate(QUESTIONS):
                thread: Any = {"configurable": {"thread_id": str(n)}}
                state = await graph.aget_state(thread)
                if state.tasks or not state.values:
                    given: Any = None if state.tasks else {"question": question}
                    await graph.ainvoke(given, thread, durability=durability)
                    _acknowledge(folder, question)
                answers.append((await graph.aget_state(thread)).values["answer"])
        return "\n".join(answers)

    return asyncio.run(work())


def _graph(folder: Path) -> Any:
    retriever = MappingRetriever(FIRST | SECOND)
    return create_self_completion_graph(model=Model(folder), retriever=retriever)


def _acknowledge(folder: Path, question: str) -> None:
    with (folder / "asked.txt").open("a") as asked:
        asked.write(f"answered 0 {question}\n")


def collected(folder: Path, cached: bool) -> str:
    with ReplyCache(folder / "replies.sqlite") as cache:
        model: Any = CachedModel(Model(folder), cache) if cached else Model(folder)
        records = collect(
            [Question(q, q, (f"Port {n}",)) for n, q in enumerate(QUESTIONS)],
            GraphAnswerer(Settings(model, MappingRetriever(FIRST | SECOND))),
            out=folder / "records.jsonl",
            concurrency=2,
        )
    return _outcomes(records)


def collected_on_ray(folder: Path) -> str:
    with RayWorkers(count=2) as workers:
        records = collect(
            [Question(q, q, (f"Port {n}",)) for n, q in enumerate(QUESTIONS)],
            functools.partial(answerer, folder),
            out=folder / "records.jsonl",
            concurrency=2,
            workers=workers,
        )
    return _outcomes(records)


def answerer(folder: Path) -> GraphAnswerer:
    return GraphAnswerer(Settings(Model(folder), MappingRetriever(FIRST | SECOND)))


def _outcomes(records: Records) -> str:
    return "\n".join(
        f"{each.question} {[(name, each.outcomes[name].answer) for name in sorted(each.outcomes)]}"
        for each in records
    )


def evaluated(folder: Path) -> str:
    models.make_model = lambda *_: Model(folder)  # type: ignore[attr-defined]
    options = ["--out", str(folder / "run"), "--concurrency", "1", "--model", "its own"]
    return _run_of(folder, app, "evaluate", str(_questions(folder)), *options)


def experimented(folder: Path) -> str:
    from skr_lab import experiment
    from skr_lab.command import app as lab

    experiment.make_model = lambda *_: Model(folder)  # type: ignore[attr-defined]
    values = {"questions": _questions(folder), "systems": "single_shot,loop", "concurrency": 1}
    options = [word for name, value in values.items() for word in ("--set", f"{name}={value}")]
    return _run_of(folder, lab, "run", "baselines", *options, "--out", str(folder / "run"))


def _run_of(folder: Path, command: Any, *words: str) -> str:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        command(words, standalone_mode=False)
    tables = ("result.json", "result.md", "scores.jsonl")
    return "\n".join((folder / "run" / name).read_text() for name in tables)


def _questions(folder: Path) -> Path:
    rows = [
        {
            "id": q,
            "question": q,
            "answer": f"Port {n}",
            "contexts": [{"title": f"Ada {n}", "text": each} for each in [*FIRST[q], *further]],
        }
        for n, (q, further) in enumerate(zip(QUESTIONS, SECOND.values(), strict=True))
    ]
    questions = folder / "questions.jsonl"
    questions.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return questions


def ingested(folder: Path) -> str:
    corpus = folder / "corpus.jsonl"
    if not corpus.exists():
        draw = random.Random(3)
        texts = [" ".join(str(draw.randrange(900)) for _ in range(9)) for n in range(2000)]
        rows = [f'{{"id": "{n}", "title": "T{n}", "text": "{t}"}}' for n, t in enumerate(texts)]
        corpus.with_suffix(".draft").write_text("\n".join(rows))
        corpus.with_suffix(".draft").rename(corpus)
    (folder / "asked.txt").touch()
    # By its words: two graphs of vectors differ in what they miss, also where nobody was killed.
    with Store.open(folder / "store", k=3, search="bm25") as store:
        ingest([corpus], store, on_progress=lambda done, _: hold(folder, done // 150))
        said = [f"{store.count()} {len(store.sources())}"]
        store.backend.words.catch_up(1)  # type: ignore[attr-defined]
        for n in range(0, 2000, 250):
            found = store.retrieve(f"T{n} {n % 900} {n % 700}")
            said.append(str([each.title for each in found]))
    return "\n".join(said)


def synced(folder: Path) -> str:
    documents, asked = folder / "documents", folder / "asked.txt"
    with Store.open(folder / "store", k=3) as store:
        if not asked.exists():
            _write(documents, range(240), "first")
            store.sync(documents)
            asked.touch()
        _write(documents, range(0, 240, 2), "second")  # of the others every third leaves
        for n in range(1, 240, 6):
            (documents / f"{n}.md").unlink(missing_ok=True)
        store.sync(documents, prune=True, on_progress=lambda done, _: hold(folder, done // 20))
        report = store.sync(documents, prune=True)
        said = [f"{report.left} left of {store.count()}"]
        said += [f"{Path(each.name).name} {each.passages}" for each in store.sources()]
        for n in range(240):
            found = {each.text for each in store.retrieve(f"lamp x{n}") if f"x{n} " in each.text}
            said.append(f"{n} {sorted(found)}")
    return "\n".join(said)


def _write(documents: Path, numbers: range, version: str) -> None:
    documents.mkdir(exist_ok=True)
    for n in numbers:
        draft = documents / f".{n}.draft"
        draft.write_text(f"# Lamp {n}\n\nThe {version} lamp x{n} burns.")
        draft.rename(documents / f"{n}.md")


def remembered(folder: Path) -> str:
    with Store.open(folder / "store", k=20) as store:
        graph = create_self_completion_graph(
            model=Model(folder),
            retriever=MappingRetriever(FIRST | SECOND),
            reference_store=store,
            scope="shared",
        ).compile()
        asked = folder / "asked.txt"
        done = asked.read_text() if asked.exists() else ""
        for question in QUESTIONS:
            if f"answered 0 {question}" not in done:
                graph.invoke({"question": question})
                _acknowledge(folder, question)
        return "\n".join(sorted(each.text for each in store.retrieve("engineer Ada port")))


WORKS: dict[str, Work] = {
    "graph": functools.partial(blocking_graph, durability="sync"),
    "graph awaited": functools.partial(awaited_graph, durability="sync"),
    "graph by default": functools.partial(blocking_graph, durability="async"),
    "graph awaited by default": functools.partial(awaited_graph, durability="async"),
    "collect": functools.partial(collected, cached=False),
    "collect with a cache": functools.partial(collected, cached=True),
    "collect on Ray": collected_on_ray,
    "evaluate": evaluated,
    "experiment": experimented,
    "ingest": ingested,
    "sync": synced,
    "ask and remember": remembered,
}


def work(name: str, folder: Path) -> None:
    """What a process does; what came out is there when it ends, and not before."""
    said = WORKS[name](folder)
    (folder / "said.draft").write_text(said)
    (folder / "said.draft").rename(folder / "said.txt")
