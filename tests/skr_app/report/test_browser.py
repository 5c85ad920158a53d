"""The page in a real Chromium: read by whoever sees it, narrow and wide, light and dark."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser

from skr_app.report import report_page
from tests.skr_app.report.measured import measured
from tests.skr_app.web.test_browser import AXE, browser  # noqa: F401

pytestmark = pytest.mark.integration

OVERLAPS = """() => {
  const found = []
  for (const drawing of document.querySelectorAll('svg')) {
    const texts = [...drawing.querySelectorAll('text')]
    const boxes = texts.map(each => [each.textContent, each.getBoundingClientRect()])
    boxes.forEach(([one, a], n) => boxes.slice(n + 1).forEach(([other, b]) => {
      const beside = a.left > b.right - 1 || b.left > a.right - 1
      if (!beside && a.top < b.bottom - 1 && b.top < a.bottom - 1)
        found.push(`${one} / ${other}`)
    }))
  }
  return found
}"""


def test_the_finding_is_on_the_first_screen_and_nobody_is_shut_out(browser: Browser):  # noqa: F811
    text = report_page([measured()], title="skr evaluate")
    for scheme in ("light", "dark"):
        for width in (390, 1280):
            context = browser.new_context(
                color_scheme=scheme, viewport={"width": width, "height": 800}, bypass_csp=True
            )
            tab = context.new_page()
            asked: list[str] = []
            tab.on("request", lambda request, asked=asked: asked.append(request.url))
            tab.set_content(text)
            finding, cost, risk = tab.locator(".finding, figure").all()[:3]
            last = risk if width > 1000 else cost
            for seen in (finding, last):
                box = seen.bounding_box()
                assert box is not None
                assert box["y"] + box["height"] < 800
            assert tab.evaluate(OVERLAPS) == []
            tab.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
            assert tab.evaluate("document.documentElement.scrollWidth") <= width
            assert tab.evaluate(OVERLAPS) == []
            assert asked == []
            tab.add_script_tag(path=str(AXE))
            found = tab.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
            assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []
            context.close()
