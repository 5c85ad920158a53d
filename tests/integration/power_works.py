"""Works whose power is cut: each is light to import, because a traced process is slow."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from skr_core.files import KeyedLog, make_folder, replace_file


def acknowledge(number: int) -> None:
    print(number, flush=True)  # noqa: T201


class Work:
    """Something that is written, and acknowledged bit by bit; the numbers begin with 0."""

    def do(self, folder: Path) -> None:
        raise NotImplementedError

    def look(self, folder: Path) -> set[int]:
        """What is there after the cut; fails where something is half, mixed or unreadable."""
        raise NotImplementedError


class Replaced(Work):
    """Files that are replaced: of earlier ones the last counts."""

    def do(self, folder: Path) -> None:
        make_folder(folder / "a" / "b")
        for number in range(6):
            self.write(folder / "a" / "b" / "file", number)
            acknowledge(number)

    def write(self, path: Path, number: int) -> None:
        replace_file(path, (str(number) * 9_000).encode())

    def read(self, path: Path) -> int:
        found = path.read_text()
        assert (len(found), len(set(found))) == (9_000, 1)
        return int(found[0])

    def look(self, folder: Path) -> set[int]:
        path = folder / "a" / "b" / "file"
        return set(range(self.read(path) + 1)) if path.exists() else set()


class Router(Replaced):
    """What calibration writes, `Calibration.save` too."""

    def write(self, path: Path, number: int) -> None:
        import numpy as np

        from skr_core.routers.saving import SavedRouter

        SavedRouter("knn", {"number": number}, {"all": np.full(3_000, number)}).write(path)

    def read(self, path: Path) -> int:
        from skr_core.routers.saving import SavedRouter

        saved = SavedRouter.read(path)
        (found,) = {saved.parameters["number"], *saved.arrays["all"].tolist()}
        return int(found)


class RecordsWritten(Replaced):
    def write(self, path: Path, number: int) -> None:
        from skr_learn import Record, Records

        record = Record.of("Who?", direct=(str(number), 0), single=(str(number), 1))
        Records([record] * 40).write(path)

    def read(self, path: Path) -> int:
        from skr_learn import Records

        found = Records.read(path)
        assert len(found) == 40
        return int(found[0].outcomes["direct"].answer)


class Log(Work):
    """The log under collecting, a run's answers and the page; and what a killed one left in it."""

    def do(self, folder: Path) -> None:
        path = folder / "new" / "log.jsonl"
        for turn in range(3):
            with KeyedLog(path) as log:
                for number in sorted(int(key) for key in log.rows):
                    acknowledge(number)
                for number in range(turn * 10, turn * 10 + 3):
                    log.append([{"key": str(number), "said": "x" * 3_000}])
                    acknowledge(number)
            with path.open("ab") as file:  # as one that was killed before it synced
                file.write(b'{"key":"%d","said":"killed"}\n{"key":"torn' % (turn * 10 + 3))

    def look(self, folder: Path) -> set[int]:
        path = folder / "new" / "log.jsonl"
        with KeyedLog(path) as log:
            assert all(each["said"] in ("killed", "x" * 3_000) for each in log.rows.values())
            return {int(key) for key in log.rows}


class Collected(Work):
    def do(self, folder: Path) -> None:
        self.collected(
            folder,
            lambda each: [acknowledge(number) for number in range(each.recorded)],
        )

    def collected(self, folder: Path, told: Callable[[Any], object]) -> None:
        from skr_core import Question, Settings
        from skr_core.testing import MappingRetriever, ScriptedModel
        from skr_graphs import GraphAnswerer
        from skr_learn import collect

        collect(
            [Question(str(n), f"Where is port {n}?", (f"Coast {n}",)) for n in range(4)],
            GraphAnswerer(Settings(ScriptedModel(["No."] * 99), MappingRetriever({}))),
            out=folder / "records.jsonl",
            concurrency=1,
            on_progress=told,
        )

    def look(self, folder: Path) -> set[int]:
        found: list[int] = []
        self.collected(folder, lambda each: found.append(each.reused))
        return set(range(found[0]))


class Run(Work):
    """The folder of `skr evaluate` and `skr-lab run`."""

    def do(self, folder: Path) -> None:
        from skr_app.report import Result, RunFolder

        with RunFolder(folder / "runs" / "first", {"model": "small"}) as run:
            for number in range(4):
                run.answers.append([{"key": str(number), "said": "x" * 3_000}])
                acknowledge(number)
            run.write(Result("run", "Does it pay?", {}, ()), {})
            acknowledge(4)

    def look(self, folder: Path) -> set[int]:
        from skr_app.report import RunFolder
        from skr_app.report.run_folder import read_result

        path = folder / "runs" / "first"
        with RunFolder(path, {"model": "small"}) as run:
            found = {int(key) for key in run.answers.rows}
        if (path / "result.json").exists():
            assert read_result(path).title == "Does it pay?"
            found.add(4)
        return found


class Stored(Work):
    """A store that is searched by words, opened twice; each addition is there as a whole."""

    embeds = False

    def do(self, folder: Path) -> None:
        from skr_core import Reference
        from skr_store import vectors, words

        words.LEAST_BEHIND = words.BEHIND = 60
        vectors.EXACT = vectors.BEHIND = 60
        for first in (0, 5):
            with self.opened(folder) as store:
                for number in range(first, first + 5):
                    store.add([Reference.of(f"p{number} q{m}") for m in range(20)])
                    acknowledge(number)

    def opened(self, folder: Path) -> Any:
        from skr_core import HashingEmbedder
        from skr_store import Store

        embedder = HashingEmbedder() if self.embeds else None
        return Store.open(folder / "the" / "store", embedder=embedder, k=1)

    def look(self, folder: Path) -> set[int]:
        found = set()
        with self.opened(folder) as store:
            database = store.backend.database
            texts = [text for (text,) in database.all("SELECT text FROM passages")]
            for number in range(10):
                there = sum(text.startswith(f"p{number} ") for text in texts)
                assert there in (0, 20)
                if there:
                    found.add(number)
                    searched = store.searched_by("bm25", k=1)
                    assert searched.retrieve(f"p{number} q7")[0].text == f"p{number} q7"
                    assert store.retrieve(f"p{number} q7")[0].text.startswith(f"p{number} ")
        return found


class StoredWithVectors(Stored):
    """The same with vectors, whose index Chroma does not sync, nor notice what it lost.

    Without the index all is found: it is made again of what the store has kept.
    """

    embeds = True

    def look(self, folder: Path) -> set[int]:
        for index in folder.glob("the/store/vectors-*"):
            shutil.rmtree(index) if index.is_dir() else index.unlink()
        return super().look(folder)


class Cached(Work):
    """Replies, of which a power cut may take the last: they are asked for again."""

    def do(self, folder: Path) -> None:
        from skr_learn.reply_cache import ReplyCache

        with ReplyCache(folder / "replies.sqlite") as cache:
            for number in range(8):
                cache.put(str(number), str(number) * 2_000)

    def look(self, folder: Path) -> set[int]:
        from skr_learn.reply_cache import ReplyCache

        with ReplyCache(folder / "replies.sqlite") as cache:
            kept = {number: cache.get(str(number)) for number in range(8)}
        assert all(text == str(number) * 2_000 for number, text in kept.items() if text)
        assert not (folder / "replies.sqlite.damaged").exists()
        return {number for number, text in kept.items() if text}


class Graph(Work):
    """The graph with SQLite's checkpointer and `durability="sync"`."""

    def do(self, folder: Path) -> None:
        with self.opened(folder) as graph:
            for number in range(3):
                given = {"question": f"Who is {number}?"}
                graph.invoke(given, thread(number), durability="sync")
                acknowledge(number)

    @contextmanager
    def opened(self, folder: Path) -> Iterator[Any]:
        from langgraph.checkpoint.sqlite import SqliteSaver

        from skr_core.testing import MappingRetriever, ScriptedModel
        from skr_graphs import create_self_completion_graph

        graph = create_self_completion_graph(
            model=ScriptedModel(["SUFFICIENT\nAda [1]."] * 9),
            retriever=MappingRetriever({f"Who is {n}?": [f"Ada is {n}."] for n in range(3)}),
        )
        with SqliteSaver.from_conn_string(str(folder / "state.sqlite")) as saver:
            yield graph.compile(checkpointer=saver)

    def look(self, folder: Path) -> set[int]:
        found = set()
        with self.opened(folder) as graph:
            for number in range(3):
                state = graph.get_state(thread(number))
                if state.values and not state.tasks:
                    assert state.values["answer"].startswith("Ada")
                    found.add(number)
        return found


def thread(number: int) -> Any:
    return {"configurable": {"thread_id": str(number)}}


WORKS: dict[str, Callable[[], Work]] = {
    "a file that is replaced": Replaced,
    "a saved router": Router,
    "written records": RecordsWritten,
    "a log": Log,
    "collecting": Collected,
    "a run's folder": Run,
    "a store": Stored,
    "a store with vectors": StoredWithVectors,
    "a cache of replies": Cached,
    "a graph's checkpoints": Graph,
}
