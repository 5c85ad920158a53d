"""The page in a real Chromium: what a person sees of the loop, and what nobody can put into it."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from skr_core import Generation, OnToken, Prompt
from skr_core.prompts import SUFFICIENT
from tests.skr_app.web.browsing import AXE, PATIENCE, ask, chromium, opened, serious
from tests.skr_app.web.conftest import HOSTILE, TWO_HOPS, Preferring, pages, serving
from tests.skr_app.web.test_measuring import held, is_gone, wait_until, waited_for

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with (
        pages(tmp_path_factory.mktemp("page")) as make,
        serving(make(collected=True)) as url,
    ):
        yield url


@pytest.fixture
def tab(browser: Browser, address: str) -> Iterator[Page]:
    with opened(browser, address) as tab:
        yield tab


def test_a_question_is_answered_step_by_step(tab: Page):
    run = ask(tab, TWO_HOPS)
    expect(run.locator(".steps > li h3")).to_have_text(["Search", "Round 1", "Round 2"])
    expect(run.locator(".steps .query").first).to_contain_text(TWO_HOPS)
    expect(run.locator(".missing").first).to_be_visible()
    expect(run.locator(".enough")).to_be_visible()
    expect(run.locator(".passage summary").first).to_be_visible()
    answer = run.locator(".answer")
    expect(answer).to_contain_text("Cincinnati")
    expect(answer).to_have_attribute("aria-live", "polite")
    expect(answer).to_have_attribute("aria-busy", "false")
    facts = run.locator(".facts")
    for fact in ("what was found is enough", "2", "$"):
        expect(facts).to_contain_text(fact)


class Slow:
    """A model that says the rest of its answer when it is told to go on."""

    name = "slow"

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.ended = threading.Event()

    def generate(self, prompt: Prompt, *, on_token: OnToken | None = None) -> Generation:
        raise NotImplementedError("the page awaits its models")

    async def agenerate(self, prompt: Prompt, *, on_token: OnToken | None = None) -> Generation:
        assert on_token is not None
        try:
            on_token(f"{SUFFICIENT}\nThe film is Jaws [1].")
            while not self.go_on.is_set():  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            on_token(" It has a shark [1].")
        finally:
            self.ended.set()
        return Generation(f"{SUFFICIENT}\nThe film is Jaws [1]. It has a shark [1].")


@pytest.fixture
def slow(browser: Browser, tmp_path: Path) -> Iterator[tuple[Page, Slow]]:
    model = Slow()
    with pages(tmp_path) as make, serving(make(model)) as url, opened(browser, url) as tab:
        yield tab, model
        model.go_on.set()


def test_the_answer_streams(slow: tuple[Page, Slow]):
    tab, model = slow
    tab.get_by_role("textbox", name="Question").fill("Which film has a shark?")
    tab.get_by_role("button", name="Ask").click()
    answer = tab.locator(".answer")
    expect(answer).to_contain_text("The film is Jaws")
    expect(answer).to_have_attribute("aria-busy", "true")
    expect(tab.locator(".waiting")).to_contain_text("Writing the answer …")
    model.go_on.set()
    expect(answer).to_contain_text("It has a shark [1].")
    expect(answer).to_have_attribute("aria-busy", "false")
    expect(answer.get_by_role("button")).to_have_count(2)


def test_a_question_can_be_stopped(slow: tuple[Page, Slow]):
    tab, model = slow
    tab.get_by_role("textbox", name="Question").fill("Which film has a shark?")
    tab.get_by_role("button", name="Ask").click()
    expect(tab.locator(".answer")).to_contain_text("The film is Jaws")
    tab.get_by_role("button", name="Stop").click()
    expect(tab.get_by_role("alert")).to_have_text("Stopped.")
    assert model.ended.wait(PATIENCE / 1000)
    assert not model.go_on.is_set()
    expect(tab.get_by_role("button", name="Ask")).to_be_visible()
    expect(tab.get_by_role("textbox", name="Question")).to_have_value("Which film has a shark?")


def test_a_server_that_is_gone_is_told_and_what_was_asked_is_kept(browser: Browser, tmp_path: Path):
    with pages(tmp_path) as make, ExitStack() as server:
        url = server.enter_context(serving(make()))
        with opened(browser, url) as tab:
            server.close()
            field = tab.get_by_role("textbox", name="Question")
            field.fill("Which film has a shark?")
            field.press("Enter")
            said = "skr serve does not answer: is it still running?"
            expect(tab.get_by_role("alert")).to_have_text(said)
            expect(field).to_have_value("Which film has a shark?")


def test_a_citation_shows_the_sentence_that_supports_it(tab: Page):
    run = ask(tab, TWO_HOPS)
    marker = run.get_by_role("button", name="Steven Spielberg").first
    marker.focus()
    marker.press("Enter")
    lit = run.locator(".source.lit")
    expect(lit.locator("mark")).to_have_text("Steven Spielberg was born in Cincinnati, Ohio.")
    expect(lit.locator(".passage-text")).to_contain_text("He makes films.")
    expect(lit.locator("summary")).to_be_focused()
    expect(lit.locator("xpath=..").locator("h4")).to_have_text("Steven Spielberg")
    lit.get_by_role("button", name="Back to the answer").click()
    expect(marker).to_be_focused()


def test_it_shows_which_answer_was_trusted_and_why(browser: Browser, tmp_path: Path):
    with pages(tmp_path) as make:
        page = make()
        page.system.serve(page.system.settings.but(arbiter=Preferring()))
        with serving(page) as url, opened(browser, url) as tab:
            run = ask(tab, TWO_HOPS)
            weighed = run.locator(".answers li")
            expect(weighed).to_have_count(2)
            expect(weighed.first).to_contain_text("The answer from memory · 25% likely")
            expect(run.locator(".answers .served")).to_contain_text("Cincinnati")
            expect(run.locator(".trust")).to_have_text("Chosen: references are the likelier ones")
            expect(run.locator(".chance")).to_have_text("75% likely to be right")


def test_what_a_passage_says_is_shown_and_never_run(tab: Page):
    run = ask(tab, HOSTILE)
    expect(run.locator(".sources")).to_contain_text("<img src=x")
    expect(run.locator(".passage").first).to_be_attached()
    run.get_by_role("button", name="Source").first.click()
    expect(run.locator(".passage-text").first).to_contain_text("<script>document.title")
    assert tab.locator("main img, main script, main b").count() == 0
    assert tab.title() == "Ask · skr"


def test_the_browser_itself_refuses_html_and_scripts(browser: Browser, address: str):
    tab = browser.new_page()
    tab.set_default_timeout(PATIENCE)
    tab.goto(address)
    refused = tab.evaluate(
        """() => {
          try { document.body.innerHTML = "<b>x</b>"; return false } catch { return true }
        }"""
    )
    assert refused
    tab.evaluate(
        """() => {
          const script = document.createElement("script");
          try { script.textContent = "window.ran = true" } catch {}
          document.body.append(script);
        }"""
    )
    assert tab.evaluate("window.ran") is None
    tab.close()


def test_a_conversation_goes_on_and_is_found_in_the_history(tab: Page):
    another = tab.get_by_role("link", name="Start another conversation")
    expect(another).to_be_hidden()
    ask(tab, TWO_HOPS)
    expect(another).to_be_visible()
    ask(tab, "Which film has a shark?")
    tab.reload()
    expect(tab.locator(".run")).to_have_count(2)
    tab.get_by_role("link", name="History").click()
    line = tab.locator(".runs li").first
    expect(line).to_contain_text("Which film has a shark?")
    line.get_by_role("link").click()
    expect(tab.locator(".run .asked").last).to_have_text("Which film has a shark?")
    expect(tab.locator(".run .steps > li")).not_to_have_count(0)


def test_two_runs_are_compared_side_by_side(tab: Page):
    ask(tab, TWO_HOPS)
    ask(tab, TWO_HOPS, "single")
    tab.get_by_role("link", name="History").click()
    compare = tab.get_by_role("button", name="Compare")
    expect(compare).to_be_disabled()
    for place in (0, 1):
        tab.get_by_role("checkbox").nth(place).check()
    compare.click()
    expect(tab.locator(".pair .run")).to_have_count(2)
    decided = tab.locator(".compared tr", has_text="Decided")
    expect(decided).to_have_class("differs")
    expect(decided.locator("td")).to_have_text(["One search", "Search"])
    boxes = [tab.locator(".pair .run").nth(place).bounding_box() for place in (0, 1)]
    assert boxes[0] is not None
    assert boxes[1] is not None
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]


@pytest.fixture
def calibrated(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    """A tab of a page of its own, whose router may change."""
    with (
        pages(tmp_path) as make,
        serving(make(collected=True)) as url,
        opened(browser, url, bypass_csp=True) as tab,
    ):
        yield tab


def test_votes_are_kept_and_calibrated_on(calibrated: Page):
    tab = calibrated
    run = ask(tab, TWO_HOPS)
    right = run.get_by_role("button", name="The answer is right")
    run.get_by_role("button", name="The answer is wrong").click()
    run.get_by_label("The right answer").fill("Dayton")
    run.get_by_label("The right answer").blur()
    expect(run).to_contain_text("it can be downloaded from the history")
    tab.get_by_role("link", name="History").click()
    with tab.expect_download() as download:
        tab.get_by_role("link", name="Download the questions").click()
    assert "Dayton" in download.value.path().read_text()
    tab.go_back()
    right.click()
    expect(right).to_have_attribute("aria-pressed", "true")
    tab.reload()
    expect(right).to_have_attribute("aria-pressed", "true")
    tab.get_by_role("link", name="Router").click()
    expect(tab.locator("#votes")).to_contain_text("1 answer")
    tab.get_by_role("button", name="Choose a router").click()
    tab.get_by_role("link", name="History").click()  # it goes on
    tab.get_by_role("link", name="Router").click()
    expect(tab.get_by_text("Chosen on 41 records")).to_be_visible()
    expect(tab.get_by_role("button", name="Stop")).to_be_hidden()
    expect(tab.locator(".finding").first).to_contain_text("of 41 right instead of")
    expect(tab.locator("circle.at")).to_be_visible()
    [right] = re.findall(r"\d+ of 41(?= right)", tab.locator(".finding").inner_text())
    expect(tab.locator(".figures tr", has_text="this router")).to_contain_text(right)
    expect(tab.locator("#risk")).to_contain_text("If all questions are answered, ")
    expect(tab.locator("#risk .band")).to_be_visible()
    tab.evaluate(AXE.read_text())
    assert serious(tab) == []
    tab.get_by_role("link", name="Ask").click()
    known = ask(tab, "What is 3 plus 1?")
    expect(known.locator(".steps")).to_contain_text("From memory")
    expect(known.locator(".steps")).to_contain_text(
        "searching on changes the chance of a right answer by"
    )


def test_a_measurement_is_told_of_and_stopped(browser: Browser, tmp_path: Path):
    with (
        pages(tmp_path) as make,
        serving(make(opened=partial(held, tmp_path))) as url,
        opened(browser, url) as tab,
        opened(browser, url) as other,
    ):
        for each in (tab, other):
            each.get_by_role("link", name="Router").click()
        tab.get_by_role("button", name="Measure on 3 questions").click()
        process = waited_for(tmp_path / "process")
        expect(tab.get_by_role("button", name="Choose a router")).to_be_disabled()
        other.get_by_role("button", name="Choose a router").click()
        expect(other.get_by_role("alert")).to_contain_text("a collection is under way: wait for it")
        expect(other.get_by_role("button", name="Choose a router")).to_be_enabled()
        tab.get_by_role("button", name="Stop").click()
        expect(tab.get_by_role("alert")).to_have_text("Stopped.")
        wait_until(lambda: is_gone(process))
        expect(tab.get_by_role("button", name="Choose a router")).to_be_enabled()


def test_files_are_uploaded_listed_and_removed(tab: Page, tmp_path: Path):
    (tmp_path / "ferry.md").write_text("# Ferry\n\nThe ferry of Lorn sails at noon.")
    (tmp_path / "run.sh").write_text("true")
    tab.get_by_role("link", name="Documents").click()
    tab.get_by_label("Files to add").set_input_files(tmp_path / "ferry.md")
    tab.get_by_role("button", name="Add these files").click()
    uploads = tab.get_by_role("list", name="Uploads").get_by_role("listitem")
    expect(uploads).to_have_text("ferry.md 1 passage added")
    expect(tab.locator("#status")).to_have_text("ferry.md: 1 passage added")
    tab.get_by_label("Files to add").set_input_files(tmp_path / "run.sh")
    tab.get_by_role("button", name="Add these files").click()
    expect(tab.get_by_role("alert")).to_contain_text("run.sh is of an unknown kind")
    tab.get_by_label("Search by name").fill("ferry")
    listed = tab.get_by_role("list", name="Documents").get_by_role("listitem")
    expect(listed).to_have_count(1)
    expect(listed).to_contain_text("1 passage")
    remove = listed.get_by_role("button", name="Remove ferry.md")
    tab.once("dialog", lambda dialog: dialog.dismiss())
    remove.click()
    expect(listed).to_have_count(1)
    tab.once("dialog", lambda dialog: dialog.accept())
    remove.click()
    expect(listed).to_have_count(0)
    expect(tab.locator("#status")).to_have_text("ferry.md was removed.")
    expect(tab.get_by_label("Search by name")).to_be_focused()


def test_all_of_it_works_by_keyboard_alone(tab: Page):
    expect(tab.get_by_role("textbox", name="Question")).to_be_visible()
    tab.keyboard.press("Tab")
    expect(tab.get_by_role("link", name="To the content")).to_be_focused()
    tab.keyboard.press("Enter")
    expect(tab.locator("main")).to_be_focused()
    tab.keyboard.press("Tab")
    expect(tab.get_by_role("textbox", name="Question")).to_be_focused()
    tab.keyboard.type("Which film has a shark?")
    tab.keyboard.press("Enter")
    expect(tab.locator(".facts")).to_be_visible()
    expect(tab.get_by_role("textbox", name="Question")).to_be_focused()
    expect(tab.locator("#status")).to_have_text("Answered.")


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1280, "dark")])
def test_nothing_keeps_anybody_out(browser: Browser, address: str, width: int, scheme: str):
    options = {"viewport": {"width": width, "height": 844}, "color_scheme": scheme}
    with opened(browser, address, bypass_csp=True, **options) as tab:
        tab.evaluate(AXE.read_text())
        assert serious(tab) == []
        run = ask(tab, TWO_HOPS)
        run.get_by_role("button", name="Source").first.click()
        assert serious(tab) == []
        for view in ("History", "Router", "Documents"):
            tab.get_by_role("link", name=view).click()
            tab.wait_for_function(f"document.title.startsWith('{view}')")
            expect(tab.get_by_role("heading", level=1)).to_be_visible()
            assert serious(tab) == []
            assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_the_token_is_asked_for(browser: Browser, tmp_path: Path):
    token = "correct-horse-battery"
    with pages(tmp_path) as make, serving(make(), token) as url, opened(browser, url) as tab:
        expect(tab.get_by_role("heading", level=1)).to_have_text("This page needs its token")
        tab.get_by_label("Token").fill(token)
        tab.get_by_role("button", name="Open").click()
        expect(tab.get_by_role("textbox", name="Question")).to_be_visible()
        assert token not in tab.url


def test_another_page_can_neither_read_nor_write(browser: Browser, address: str, tmp_path: Path):
    with pages(tmp_path) as make, serving(make()) as other:
        context = browser.new_context()
        context.set_default_timeout(PATIENCE)
        tab = context.new_page()
        tab.goto(f"{other}/static/icon.svg")
        told = tab.evaluate(
            """async (address) => {
              const tries = [
                fetch(`${address}/api/runs`),
                fetch(`${address}/api/calibrate`, { method: "POST", mode: "no-cors", body: "{}" }),
              ];
              const ends = await Promise.allSettled(tries);
              return ends.map((end) => (end.status === "rejected" ? "refused" : end.value.type));
            }""",
            address,
        )
        context.close()
    assert set(told) == {"refused"}
