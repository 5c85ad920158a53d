"""Serving an application on a socket until Ctrl-C."""

from __future__ import annotations

import signal
import socket

from skr_app.web.streaming import end_under_way
from skr_core.errors import extra

with extra("web"):
    import uvicorn
    from starlette.types import ASGIApp

SECONDS_TO_END = 2
"""For answers under way when it is ended; then they are cancelled."""


class _Server(uvicorn.Server):
    """One that ends what is told before it waits for its answers."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        end_under_way()
        await super().shutdown(sockets)


def server_of(app: ASGIApp) -> uvicorn.Server:
    """A server that says nothing of itself, neither to browsers nor in a log of what was asked."""
    config = uvicorn.Config(
        app,
        log_level="error",
        access_log=False,
        lifespan="off",
        ws="none",
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=SECONDS_TO_END,
    )
    return _Server(config)


def serve_app(app: ASGIApp, listening: socket.socket) -> None:
    """Serve until the process is told to end; returns then.

    Args:
        app: What is served.
        listening: A socket that listens already.
    """
    # The server raises the signal that ended it once more, when it has ended.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        server_of(app).run(sockets=[listening])
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, before)
