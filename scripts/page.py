"""The pictures of the page and of the demonstration's verdict, taken anew; it needs Chromium.

Usage: python -m scripts.page
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import sync_playwright

DOCS = Path(__file__).resolve().parents[1] / "docs"
QUESTION = "Where was the engineer who designed the Marrow Bay lighthouse born?"
SIZE = {"width": 1180, "height": 880}


def main() -> None:
    with TemporaryDirectory() as folder:
        demo = [sys.executable, "-m", "skr_app", "demo", "--out", folder]
        subprocess.run(demo, check=True, capture_output=True)
        keep(Image.open(Path(folder) / "curve.png"), DOCS / "pictures" / "verdict.png")
    command = [sys.executable, "-m", "skr_app", "serve", "--demo", "--port", "0", "--no-token"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        printed = (re.search(r"The page is at (\S+)", line) for line in server.stderr)
        try:
            take(next(found[1] for found in printed if found))
        finally:
            server.terminate()


def take(address: str) -> None:
    """Take the picture of an answer whose last source is opened."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        tab = browser.new_page(viewport=SIZE, color_scheme="light", reduced_motion="reduce")
        tab.goto(address)
        tab.get_by_role("textbox", name="Question").fill(QUESTION)
        tab.get_by_role("button", name="Ask", exact=True).click()
        tab.locator(".text .marker").last.click()
        tab.get_by_role("button", name="Ask", exact=True).wait_for()
        tab.evaluate("document.activeElement.blur()")
        tab.evaluate("scrollTo(0, 0)")
        taken = tab.screenshot()
        browser.close()
    keep(Image.open(BytesIO(taken)), DOCS / "page.png")


def keep(picture: Image.Image, path: Path) -> None:
    """Write a picture in as few colours as it needs."""
    picture.quantize(64).save(path, optimize=True)


if __name__ == "__main__":
    main()
