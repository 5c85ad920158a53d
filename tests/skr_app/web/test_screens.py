"""What becomes of an answer on the page: Markdown of any model, in any script, on any screen."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from langchain_skr import load_model
from skr_app.web import Page as ServedPage
from skr_core import Reference, Settings
from skr_core.testing import ScriptedModel
from skr_store import Store
from tests.servers import Messages, OpenAIServer
from tests.skr_app.web.browsing import AXE, ask, chromium, opened, serious
from tests.skr_app.web.conftest import pages, serving

pytestmark = pytest.mark.integration

SCRIPTS = {
    "When does the ferry sail?": """SUFFICIENT
The ferry of **Lorn** sails at noon [1].

## Timetable

| Route | Leaves | Arrives | Days | Remark |
|---|---|---|---|---|
| Lorn to Varn | 12:00 | 12:45 | Monday to Friday | not on holidays [1] |

1. Buy a ticket.
2. Be there early:
   - with a car, *half an hour* [2]

```python
def price(bicycle: bool, car: bool = False, passengers: int = 1) -> float:  # a line that is long
    return 3.5 * passengers  # as it says in [2]
```

See [the harbour](https://harbour.test/lorn).""",
    "متى تبحر العبّارة؟": """SUFFICIENT
تبحر العبّارة من **لورن** عند الظهر [1].

- تكلفة التذكرة `3.50` يورو [2]

| الطريق | المغادرة |
|---|---|
| لورن – فارن | 12:00 [1] |""",
    "渡轮什么时候出发？": """SUFFICIENT
洛恩的渡轮在**中午**出发 [1]。

- 船票每人 3.50 欧元 [2]""",
    "Tell the long story of the ferry.": "SUFFICIENT\n"
    + "\n\n".join(f"Part {n}. The ferry sails at noon and comes back [1]." for n in range(30))
    + f"\n\n{'Donaudampfschiff' * 12}",
}
FERRY = "The ferry of Lorn sails at noon. تبحر العبّارة عند الظهر. 渡轮什么时候出发 story when long"
TICKET = "A ticket of the ferry costs 3.50, and a car comes early. العبّارة 渡轮 story when long"


def reply(messages: Messages) -> str:
    asked = messages[-1]["content"]
    return next((said for question, said in SCRIPTS.items() if question in asked), "No.")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def model() -> Iterator[OpenAIServer]:
    with OpenAIServer(reply) as server:
        yield server


@pytest.fixture(scope="module")
def address(model: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    loaded = load_model("openai:scripted", base_url=model.url, api_key="none")
    with (
        pages(tmp_path_factory.mktemp("page")) as make,
        Store.ephemeral(k=2) as store,
        serving(searching(make(loaded), store)) as url,
    ):
        yield url


def searching(page: ServedPage, store: Store) -> ServedPage:
    """The page over two pages of one document."""
    source = {"source": "/srv/docs/handbook.pdf"}
    for number, text in ((3, FERRY), (11, TICKET)):
        store.add([Reference.of(text, "Handbook", metadata={**source, "page": number})])
    page.system.serve(Settings.of(page.system.settings.model, store))
    return page


@pytest.fixture
def tab(browser: Browser, address: str) -> Iterator[Page]:
    with opened(browser, address, permissions=["clipboard-read", "clipboard-write"]) as tab:
        yield tab


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_every_answer_can_be_read(
    browser: Browser, address: str, model: OpenAIServer, width: int, scheme: str
):
    options: Any = {"viewport": {"width": width, "height": 844}, "color_scheme": scheme}
    with opened(browser, address, bypass_csp=True, **options) as tab:
        for question in SCRIPTS:
            expect(ask(tab, question).locator(".text .marker").first).to_be_visible()
        tab.clock.install()
        try:
            model.fault = "no_choices"
            failed = begin(tab, "Does the ferry fail?")
            expect(failed.get_by_role("alert")).to_contain_text("openai:scripted")
            expect(failed).to_contain_text("Your question is in the field below")
            model.fault, model.together = None, 2  # it waits for a question that nobody asks
            slow = begin(tab, "Is the ferry slow?")
            expect(slow.locator(".waiting")).to_contain_text("Reading the conversation …")
            tab.clock.fast_forward("00:25")
            expect(slow.get_by_role("timer")).to_contain_text("25 s")
            expect(slow.locator(".waiting")).to_contain_text("The model has not answered yet.")
            tab.evaluate(AXE.read_text())
            assert serious(tab) == []
            assert tab.evaluate("document.documentElement.scrollWidth") <= width
            tab.get_by_role("button", name="Stop").click()
            expect(slow.locator(".waiting")).to_have_count(0)
        finally:
            model.fault, model.together = None, 1


def begin(tab: Page, question: str) -> Locator:
    tab.get_by_role("textbox", name="Question").fill(question)
    tab.get_by_role("button", name="Ask").click()
    return tab.locator(".run").last


def test_markdown_becomes_elements_in_which_citations_can_be_pressed(tab: Page):
    text = ask(tab, next(iter(SCRIPTS))).locator(".text")
    expect(text.locator("strong")).to_have_text("Lorn")
    expect(text.locator("h3")).to_have_text("Timetable")
    expect(text.locator("ol > li")).to_have_count(2)
    expect(text.locator("ol ul li em")).to_have_text("half an hour")
    expect(text.locator("th")).to_have_count(5)
    expect(text.locator("td .marker")).to_have_text("[1]")
    link = text.get_by_role("link", name="the harbour (harbour.test)")
    expect(link).to_have_attribute("href", "https://harbour.test/lorn")
    expect(link).to_have_attribute("rel", "noopener noreferrer")
    text.locator("ul .marker").click()
    expect(tab.locator(".source.lit .place")).to_have_text("Handbook, page 3")
    text.get_by_role("button", name="Copy the code").click()
    code = tab.evaluate("navigator.clipboard.readText()")
    assert code.startswith("def price(")
    assert code.endswith("    return 3.5 * passengers  # as it says in [2]")


def test_each_script_runs_its_own_way(tab: Page):
    for question, way in zip(SCRIPTS, ("ltr", "rtl", "ltr"), strict=False):
        run = ask(tab, question)
        blocks = run.locator(".asked, .text > p, .text > ul, .text > .scroll")
        ways = blocks.evaluate_all("all => all.map((each) => getComputedStyle(each).direction)")
        assert set(ways) == {way}
        facts = run.locator(".facts").evaluate("(each) => getComputedStyle(each).direction")
        assert facts == "ltr"


def test_sources_name_their_document_once_and_a_run_is_taken_along(tab: Page):
    run = ask(tab, next(iter(SCRIPTS)))
    expect(run.locator(".document h4")).to_have_text(["handbook.pdf"])
    expect(run.locator(".document .place")).to_have_text(["Handbook, page 11", "Handbook, page 3"])
    run.get_by_role("button", name="Copy answer").click()
    copied = tab.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("The ferry of **Lorn** sails at noon [1].")
    assert "\n[1] handbook.pdf, Handbook, page 11: “A ticket of the ferry costs 3.50" in copied
    run.get_by_role("button", name="Copy link").click()
    tab.goto(tab.evaluate("navigator.clipboard.readText()"))
    expect(tab.locator(".view.kept .asked")).to_have_text(next(iter(SCRIPTS)))
    expect(tab.locator(".view.kept .text .marker").first).to_be_visible()


def test_the_history_is_searched_and_leafed_through(browser: Browser, tmp_path: Path):
    with (
        pages(tmp_path) as make,
        serving(make(ScriptedModel(["Yes."]))) as url,
        opened(browser, url) as tab,
    ):
        for n in range(21):
            body = {"question": f"Which film has shark {n}?", "action": "direct"}
            httpx.post(f"{url}/api/questions", json=body, timeout=60).raise_for_status()
        tab.get_by_role("link", name="History").click()
        lines = tab.get_by_role("list", name="Answers").get_by_role("listitem")
        expect(lines).to_have_count(20)
        lines.nth(0).get_by_role("checkbox").check()
        tab.get_by_role("button", name="Older").click()
        expect(tab.get_by_text("21 to 21 of 21 answers")).to_be_visible()
        lines.nth(0).get_by_role("checkbox").check()
        expect(tab.get_by_role("button", name="Compare")).to_be_enabled()
        tab.get_by_label("Search").fill("SHARK 20")
        expect(lines).to_have_count(1)
        expect(lines.get_by_role("checkbox")).to_be_checked()
        tab.get_by_label("Search").fill("whale")
        expect(tab.get_by_text("Nothing was found.")).to_be_visible()


ELEMENTS = {
    *("P", "H3", "HR", "UL", "OL", "LI", "DIV", "TABLE", "THEAD", "TBODY", "TR", "TH", "TD"),
    *("FIGURE", "FIGCAPTION", "PRE", "CODE", "STRONG", "EM", "A", "SPAN", "BUTTON"),
}
ATTRIBUTES = {
    *("dir", "class", "tabindex", "role", "aria-label", "scope", "type", "start", "data-citation"),
    *("href", "rel", "target"),
}
PARTS = [
    *("<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg/onload=alert(1)>", "</p>"),
    *("[a](javascript:alert(1))", "[a](JaVaScRiPt&colon;alert(1))", "[a](data:text/html,<b>)"),
    *(
        "![i](http://evil.test/i.png)",
        "![](x.png)",
        "[a](//evil.test)",
        "[a](/api/runs)",
        "<a href=",
    ),
    *(
        "[b](https://bank.test@evil.test/)",
        "[a]( javascript:x)",
        "[a](\\tjavascript:x)",
        "&lt;b&gt;",
    ),
    *(
        "[https://bank.test](https://evil.test)",
        "javascript:alert(1)",
        "https://a.test/(b)",
        "'\"`",
    ),
    *(
        "**",
        "*",
        "`",
        "```",
        "~~~",
        "```html\n",
        "# ",
        "- ",
        "1. ",
        "> ",
        "|",
        "|---|---|",
        "\n",
        "\n\n",
    ),
    *(
        "  ",
        "\t",
        "\\",
        "[",
        "](",
        ")",
        "!",
        "\ufffc",
        "\ufffc0\ufffc",
        "a",
        "ب",
        "中",
        "\u202e",
        "\x00",
    ),
    *(
        "[[[[",
        "((((",
        "- - - - - - - - - -",
        "style=",
        "onclick=x",
        "{",
        '{"a": [1, "<b>"]}',
        "\r\n",
    ),
]
LOOK = """async ([texts]) => {
  const { answerOf } = await import("/static/markdown.js");
  const button = (place) => {
    const made = document.createElement("button");
    made.setAttribute("data-citation", place);
    return made;
  };
  const found = { elements: new Set(), attributes: new Set(), schemes: new Set(), lost: [] };
  let slowest = 0;
  for (const pieces of texts) {
    const begun = performance.now();
    const place = document.createElement("div");
    place.append(...answerOf(pieces, button));
    document.body.append(place);
    slowest = Math.max(slowest, performance.now() - begun);
    for (const each of place.querySelectorAll("*")) {
      found.elements.add(each.tagName);
      for (const name of each.getAttributeNames()) found.attributes.add(name);
      if (each.href !== undefined) found.schemes.add(new URL(each.href).protocol);
    }
    const made = [...place.querySelectorAll("[data-citation]")];
    const told = made.map((each) => each.dataset.citation);
    const given = pieces.map((each) => each.citation).filter((each) => each !== undefined);
    if (String(told) !== String(given)) found.lost.push(JSON.stringify(pieces));
    place.remove();
  }
  return [[...found.elements], [...found.attributes], [...found.schemes], found.lost, slowest];
}"""


def test_no_markup_of_an_answer_becomes_more_than_it_may(tab: Page):
    draw = random.Random(0)
    texts: list[list[dict[str, Any]]] = []
    for _ in range(1_500):
        cited, pieces = 0, []
        for _ in range(draw.randint(1, 4)):
            pieces.append({"text": "".join(draw.choices(PARTS, k=draw.randint(1, 12)))})
            if draw.random() < 0.7:
                pieces.append({"text": "[1]", "citation": cited})
                cited += 1
        texts.append(pieces)
    elements, attributes, schemes, lost, _ = tab.evaluate(LOOK, [texts])
    assert set(elements) <= ELEMENTS
    assert set(attributes) <= ATTRIBUTES
    assert set(schemes) <= {"http:", "https:"}
    assert lost == []  # each citation can be pressed, once and in its order
    assert {"A", "TABLE", "STRONG", "PRE", "LI"} <= set(elements)  # some of it is Markdown


def test_an_answer_that_is_made_to_take_long_does_not(tab: Page):
    texts = [f"{'a|' * 2_000}\n{'-|' * 2_000}\n{('|' * 40 + chr(10)) * 300}"]
    for part in ("**a", "[a](b(", "`a", "- ", "  - a\n", "|a", "```", "https://a.", ")", "* *"):
        long = part * (20_000 // len(part))
        texts += [long, f"```{long}`", f"https://a.test/{long}"]
    *_, slowest = tab.evaluate(LOOK, [[[{"text": each}] for each in texts]])
    assert slowest < 2_000  # milliseconds
