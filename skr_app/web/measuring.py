"""Measuring in a process of its own, so that questions are answered meanwhile as if nothing was.

It ends with the server, also where that was killed, and gives way to it on a busy machine.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any

from skr_app.web.streaming import Event, line_of
from skr_core.errors import SKRError

Tell = Callable[[Any], None]
"""Called with each step of a job."""
Job = Callable[[Tell], Any]
"""A job: a function that can be pickled, and whose steps and result can."""

# The server has threads, with which a process must not be forked.
_PROCESSES = multiprocessing.get_context("forkserver")
_NICENESS = 10


async def measured(job: Job) -> AsyncGenerator[Event]:
    """Do a job in a process; its steps (``progress``) and then its ``result`` are the events.

    The process is killed where nobody waits for it any more.

    Args:
        job: The job.

    Raises:
        SKRError: The job failed, or its process was killed.
    """
    loop = asyncio.get_running_loop()
    ours, theirs = _PROCESSES.Pipe(duplex=False)
    process = _PROCESSES.Process(target=_work, args=(theirs, job), daemon=True)

    def start() -> None:
        with theirs:  # once it has ended, nobody holds its end of the pipe
            process.start()

    thread = ThreadPoolExecutor(1, "skr-measuring")
    started = loop.run_in_executor(thread, start)
    try:
        await asyncio.shield(started)
        name = ""
        while name != "result":
            name, said = await loop.run_in_executor(thread, ours.recv)
            if name == "error":
                raise SKRError(said)
            yield name, said
    except EOFError:
        raise SKRError(
            "the process that measures was ended from outside, perhaps because the memory was "
            "full: nothing was changed, start it again"
        ) from None
    finally:
        await asyncio.wait([started])
        if process.pid is not None:
            process.kill()
            await asyncio.to_thread(process.join)
        thread.shutdown(wait=False)


def _work(pipe: Connection, job: Job) -> None:
    """In the process: do the job, and tell of it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is told to the server, which ends this
    os.nice(_NICENESS)
    threading.Thread(target=_end_with_server, daemon=True).start()
    with pipe:
        try:
            told = "result", job(lambda step: pipe.send(("progress", step)))
            pipe.send(told)
        except Exception as error:
            pipe.send(("error", line_of(error)))


def _end_with_server() -> None:
    server = multiprocessing.parent_process()
    if server is not None:
        server.join()
        os._exit(1)
