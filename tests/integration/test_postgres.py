"""The state in PostgreSQL: a cluster of our own on a socket, gone after the tests."""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import Command

from skr_graphs import answer_of
from tests.skr_graphs.citizen import ANSWER, QUESTION, World

pytestmark = pytest.mark.integration
THREAD: Any = {"configurable": {"thread_id": "1"}}


def binary(name: str) -> str | None:
    """A server program: Debian keeps them out of the path."""
    beside = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return shutil.which(name) or (str(beside[-1]) if beside else None)


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """The address of a server that listens on a socket alone."""
    pytest.importorskip("langgraph.checkpoint.postgres", reason="no langgraph-checkpoint-postgres")
    initdb, pg_ctl = binary("initdb"), binary("pg_ctl")
    if not initdb or not pg_ctl:
        pytest.skip("no PostgreSQL server programs: apt-get install postgresql")
    # The server refuses to run as root. A socket's path must be short, so not in tmp_path.
    owner = pwd.getpwnam("nobody") if os.getuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="skr-pg-", dir="/tmp"))
    if owner is not None:
        os.chown(folder, owner.pw_uid, owner.pw_gid)

    def execute(*command: str) -> None:
        subprocess.run(
            command,
            check=True,
            cwd=folder,
            user=owner and owner.pw_uid,
            group=owner and owner.pw_gid,
            stdout=subprocess.DEVNULL,
            timeout=60,
        )

    data = str(folder / "data")
    try:
        execute(initdb, "--pgdata", data, "--username", "skr", "--auth", "trust", "--no-sync")
        options = f"-k {folder} -c listen_addresses='' -c fsync=off"
        log = str(folder / "log")
        execute(pg_ctl, "start", "--wait", "--pgdata", data, "--log", log, "--options", options)
        try:
            yield f"postgresql://skr@/postgres?host={folder}"
        finally:
            execute(pg_ctl, "stop", "--wait", "--mode", "fast", "--pgdata", data)
    finally:
        shutil.rmtree(folder)


def test_it_keeps_and_resumes(postgres: str) -> None:
    from langgraph.checkpoint.postgres import PostgresSaver

    with PostgresSaver.from_conn_string(postgres) as checkpointer:
        checkpointer.setup()
        graph = World().graph.compile(checkpointer=checkpointer, interrupt_before=["follow_up"])
        graph.invoke({"question": QUESTION}, THREAD)
        output = graph.invoke(None, THREAD)
        assert output["answer"] == ANSWER
    with PostgresSaver.from_conn_string(postgres) as checkpointer:
        kept = World().graph.compile(checkpointer=checkpointer).get_state(THREAD)
        assert answer_of(kept.values) == answer_of(output)


async def test_it_keeps_and_resumes_when_awaited(postgres: str) -> None:
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

    async with AsyncPostgresSaver.from_conn_string(postgres) as checkpointer:
        await checkpointer.setup()
        world = World(review_queries=True)
        graph = world.graph.compile(checkpointer=checkpointer)
        threads: list[Any] = [{"configurable": {"thread_id": f"a{n}"}} for n in range(2)]
        paused = await asyncio.gather(
            *(graph.ainvoke({"question": QUESTION}, thread) for thread in threads)
        )
        assert all(each["__interrupt__"] for each in paused)
        await graph.ainvoke(Command(resume=[QUESTION]), threads[0])
        assert (await graph.aget_state(threads[0])).next == ("review",)
        assert world.tasks == ["answer_with_references", "self_complete"]
