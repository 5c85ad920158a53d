"""Processes that tests start: they have the modules at hand that take seconds to load."""

import multiprocessing

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(
    ["tests.integration.killed", "tests.skr_app.web.conftest", "matplotlib.pyplot"]
)
