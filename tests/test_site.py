"""The documentation as a site: it builds without a warning, and nothing is fetched to read it."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from scripts.docs.reference import FIRST, PACKAGES

ROOT = Path(__file__).resolve().parents[1]
PAGES = [page.relative_to(ROOT / "docs") for page in sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FETCHED = {"audio", "embed", "iframe", "img", "link", "object", "script", "source", "video"}
ADDRESS = "https://skr-rag.github.io/skr-rag/latest/"
ADDRESSES = {"data", "href", "poster", "src", "srcset"}


# Builds the site where whoever turns to the network gets an error.
OFFLINE = """
import sys
def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"):
        raise RuntimeError(f"{event}: {arguments}")
sys.addaudithook(refuse)
from mkdocs.__main__ import cli
cli()
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE, "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return folder


class Fetching(HTMLParser):
    """The addresses that a browser asks for to show a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in FETCHED:
            if dict(attrs).get("rel") in ("alternate", "canonical"):
                return  # where else the page is to be had, which nobody asks for by itself
            self.addresses += [value or "" for name, value in attrs if name in ADDRESSES]


def fetched(site: Path) -> Iterator[tuple[str, str]]:
    for page in sorted(site.rglob("*.html")):
        for address in Fetching(page.read_text(encoding="utf-8")).addresses:
            yield page.name, address
    for sheet in sorted(site.rglob("*.css")):
        for address in re.findall(r"(?:url\(|@import )[\"']?([^\"')]+)", sheet.read_text("utf-8")):
            yield sheet.name, address


def shown(site: Path) -> list[str]:
    """The full names of what the reference shows, each as often as it is shown."""
    pages = [page.read_text(encoding="utf-8") for page in (site / "reference").glob("*.html")]
    return [name for page in pages for name in re.findall(r'<h\d id="(\w+\.[\w.]+)"', page)]


def imported() -> Iterator[tuple[str, str]]:
    """What the documentation and the examples import of the project, by module and name."""
    pages = [ROOT / "README.md", *(ROOT / "docs" / page for page in PAGES)]
    code = [each for page in pages for each in BLOCK.findall(page.read_text(encoding="utf-8"))]
    code += [example.read_text(encoding="utf-8") for example in (ROOT / "examples").glob("*.py")]
    for node in (node for each in code for node in ast.walk(ast.parse(each))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(PACKAGES):
            yield from ((node.module, each.name) for each in node.names)


def exported() -> Iterator[tuple[str, str]]:
    """What the packages export, by package and name."""
    for name in PACKAGES:
        package = importlib.import_module(name)
        rooms = [each.name for each in pkgutil.iter_modules(package.__path__) if each.ispkg]
        for each in [package, *(importlib.import_module(f"{name}.{room}") for room in rooms)]:
            yield from ((each.__name__, public) for public in getattr(each, "__all__", ()))


def test_the_reference_shows_what_is_exported_and_what_others_are_shown(site: Path) -> None:
    there = Counter(shown(site))
    assert [name for name, times in there.items() if times > 1] == []
    missing = []
    for module, name in {*exported(), *imported()}:
        thing = getattr(importlib.import_module(module), name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            found = f"{thing.__module__}.{thing.__qualname__}" in there
        else:  # an alias of a type, or a value, does not know where it was defined
            found = any(each.endswith(f".{name}") for each in there)
        if not found:
            missing.append(f"{module}.{name}")
    assert sorted(missing) == []


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    addresses = list(fetched(site))
    assert len(addresses) > len(PAGES)
    outside = re.compile(r"(?!data:)(?:[a-z]+:)?//|(?!data:)[a-z]+:")
    assert [each for each in addresses if outside.match(each[1])] == []


def test_the_parts_of_the_theme_that_ask_others_are_left_out(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert 'class="mermaid"' not in text, f"{page.name}: its script would be fetched"
        assert 'data-md-component="source"' not in text, f"{page.name}: GitHub would be asked"


def test_each_page_is_built_under_its_heading(site: Path) -> None:
    for page in PAGES:
        built = (
            page.parent / "index.html" if page.name == "README.md" else page.with_suffix(".html")
        )
        text = (site / built).read_text(encoding="utf-8")
        heading = (ROOT / "docs" / page).read_text(encoding="utf-8").split("\n", 1)[0]
        assert heading.startswith("# "), page
        assert text.count("<h1") == 1, page
        assert heading.removeprefix("# ").replace("`", "") in re.sub("<[^>]+>", "", text), page


def test_the_site_is_searched_from_its_folder(site: Path) -> None:
    index = (site / "search" / "search_index.js").read_text(encoding="utf-8")
    assert index.startswith("var __index = {")
    assert "create_skr_chain" in index
    assert 'src="javascripts/iframe-worker.js"' in (site / "index.html").read_text("utf-8")


def test_each_page_lies_there_as_markdown_and_is_listed(site: Path) -> None:
    listed = re.findall(
        r"^- \[.+?\]\((\S+)\)", (site / "llms.txt").read_text("utf-8"), re.MULTILINE
    )
    names = [each.removeprefix(ADDRESS) for each in listed]
    assert names[0] == "README.md"
    assert {page.as_posix() for page in PAGES} <= set(names)
    assert len(names) == len(set(names)) == len(list(site.rglob("*.html"))) - 1  # 404
    for name in names:
        text = (site / name).read_text(encoding="utf-8")
        assert text.startswith("# "), name
        assert "\n::: " not in text, name
        page = name.replace("README.md", "index.html").replace(".md", ".html")
        html = (site / page).read_text(encoding="utf-8")
        assert f'type="text/markdown" href="{Path(name).name}"' in html, name


def test_each_page_can_be_edited_and_has_a_card(site: Path) -> None:
    for page in PAGES:
        built = (
            page.parent / "index.html" if page.name == "README.md" else page.with_suffix(".html")
        )
        text = (site / built).read_text(encoding="utf-8")
        assert f"/skr-rag/edit/main/docs/{page.as_posix()}" in text, page
        assert f'property="og:image" content="{ADDRESS}pictures/card.png"' in text, page
    assert (site / "pictures" / "card.png").read_bytes()[1:4] == b"PNG"


def test_the_reference_begins_with_what_programs_begin_with(site: Path) -> None:
    first, *_ = re.findall(
        r'<h2 id="([\w.]+)"', (site / "reference/langchain_skr.html").read_text()
    )
    assert first == "langchain_skr.factories.create_skr_chain"
    front = (site / "reference" / "index.html").read_text(encoding="utf-8")
    assert all(name in front for name in FIRST)


def test_links_to_files_beside_the_documentation_lead_to_github(site: Path) -> None:
    text = (site / "langchain.html").read_text(encoding="utf-8")
    place = "github.com/skr-rag/skr-rag/blob/main/examples/09_sources.py"
    assert f'href="https://{place}"' in text


def test_each_tutorial_is_a_page_with_its_pictures(site: Path) -> None:
    for notebook in (ROOT / "docs" / "tutorials").glob("*.ipynb"):
        text = (site / "tutorials" / f"{notebook.stem}.html").read_text(encoding="utf-8")
        assert text.count("<h1") == 1
        for address in Fetching(text).addresses:
            assert (site / "tutorials" / address).exists() or address.startswith("data:")
