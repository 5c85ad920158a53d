"""A real Chromium for tests of the page: tabs in which nothing may go wrong unseen."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Locator,
    Page,
    Request,
    expect,
    sync_playwright,
)

ARGUMENTS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
PATIENCE = 90_000
"""Milliseconds on a machine that does other things too."""
AXE = files("axe_playwright_python") / "axe.min.js"


@contextmanager
def chromium() -> Iterator[Browser]:
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("there is no Chromium on this machine: install the package chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS, timeout=PATIENCE)
        yield browser
        browser.close()


class opened:
    """A tab of its own, in which nothing may go wrong unseen and nothing is asked of elsewhere."""

    def __init__(self, browser: Browser, address: str, **options: object) -> None:
        self.context: BrowserContext = browser.new_context(base_url=address, **options)
        self.context.set_default_timeout(PATIENCE)
        self.problems: list[str] = []
        self.address = address

    def __enter__(self) -> Page:
        tab = self.context.new_page()
        tab.on("pageerror", lambda error: self.problems.append(str(error)))
        tab.on("console", self._hear)
        tab.on("request", self._look)
        tab.goto("/")
        return tab

    def _hear(self, said: ConsoleMessage) -> None:
        if said.type == "error" and not said.text.startswith("Failed to load resource"):
            self.problems.append(said.text)

    def _look(self, request: Request) -> None:
        if not request.url.startswith(self.address):
            self.problems.append(f"asked for {request.url}")

    def __exit__(self, kind: object, *_: object) -> None:
        self.context.close()
        if kind is None:
            assert self.problems == []


expect.set_options(timeout=PATIENCE)


def ask(tab: Page, question: str, way: str = "") -> Locator:
    """Ask, and wait for the answer; gives the run's element."""
    before = tab.locator(".run").count()
    tab.get_by_role("textbox", name="Question").fill(question)
    tab.get_by_role("combobox").select_option(way)
    tab.get_by_role("textbox", name="Question").press("Enter")
    run = tab.locator(".run").nth(before)
    expect(run.locator(".facts")).to_be_visible()
    return run


def serious(tab: Page) -> list[str]:
    found = tab.evaluate("axe.run().then((found) => found.violations)")
    return [
        f"{each['id']}: {each['nodes'][0]['html'][:120]}"
        for each in found
        if each["impact"] in ("serious", "critical")
    ]
