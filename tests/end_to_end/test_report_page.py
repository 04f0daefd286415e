"""The page in a browser: it opens with no network, reads in light and dark, and fits a telephone."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright

from nettrial.analysis import summarise
from nettrial.report import html
from nettrial.store import Run
from tests.unit.synthetic import make_run

pytestmark = pytest.mark.end_to_end

ARGUMENTS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
LUMINANCE = """
([selector, property]) => {
  const [r, g, b] = getComputedStyle(document.querySelector(selector))[property].match(/[0-9.]+/g).map(Number)
  const linear = c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
}
"""
"""Relative luminance as WCAG 2.2 defines it."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = [shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome")]
    executable = next(filter(None, found), None)
    if executable is None:
        why = "no chromium, chromium-browser or google-chrome on PATH"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    run = make_run(tmp_path_factory.mktemp("runs") / "run")
    html.write(run)
    return run


def opened(browser: Browser, run: Run, width: int = 1280, scheme: str = "light") -> Page:
    """The page, opened; fails on any request but for the file, and on anything the console says."""
    path: Path = run.directory / "report.html"
    page = browser.new_page(
        viewport={"width": width, "height": 900}, color_scheme="dark" if scheme == "dark" else "light"
    )
    requests: list[str] = []
    messages: list[str] = []

    def requested(request: Request) -> None:
        requests.append(request.url)

    def said(message: ConsoleMessage) -> None:
        messages.append(message.text)

    page.on("request", requested)
    page.on("console", said)
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.goto(path.as_uri())
    page.wait_for_load_state("networkidle")
    assert [url for url in requests if not url.startswith("data:")] == [path.as_uri()]
    assert messages == []
    return page


def test_tables_have_the_numbers_and_charts_are_drawn(browser: Browser, run: Run) -> None:
    page = opened(browser, run)
    assert page.title() == "Jumbo frames over IPv6 – nettrial"
    section = page.locator("section#throughput")
    cell = summarise(run).responses[2].cells[8]
    assert cell.treatment == {"mtu": "9000 B", "sender": "linux-cubic", "receiver": "linux-cubic"}
    assert cell.mean is not None
    assert cell.change is not None
    assert cell.change.percent is not None
    last = section.locator("table.measured tbody tr").last
    assert last.locator("td").nth(0).inner_text() == f"{cell.mean:.1f}"
    assert last.locator("td").nth(2).inner_text() == f"+{cell.change.percent:.1f}"
    published = section.locator("table.published tbody tr").last.locator("td").all_inner_texts()
    assert published == ["938.88", "+25.03", "937.86", "+22.18", "934.94", "+30.11", "884.96", "+33.60"]
    sections = page.locator("section.response")
    assert sections.count() == 7
    charts = page.locator(".charts svg")
    assert charts.count() == 14
    for chart in charts.all():
        box = chart.bounding_box()
        assert box is not None
        assert box["width"] > 300
        assert box["height"] > 150


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_charts_stand_out_in_either_scheme(browser: Browser, run: Run, scheme: str) -> None:
    page = opened(browser, run, scheme=scheme)
    paper = page.evaluate(LUMINANCE, ["body", "backgroundColor"])
    assert (paper < 0.1) == (scheme == "dark")

    def contrast(selector: str, colour: str) -> float:
        ink = page.evaluate(LUMINANCE, [selector, colour])
        return float((max(paper, ink) + 0.05) / (min(paper, ink) + 0.05))

    # WCAG 2.2: 4.5 for text, 3 for what a picture is understood by
    assert contrast("body", "color") >= 7
    assert contrast(".quiet", "color") >= 4.5
    assert contrast("a.mark", "color") >= 4.5
    assert contrast(".charts text", "fill") >= 4.5
    for number in range(4):
        assert contrast(f".legend li:nth-child({number + 2}) svg > *", "fill") >= 3


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_the_page_itself_never_scrolls_sideways(browser: Browser, run: Run, width: int) -> None:
    page = opened(browser, run, width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wide = page.locator(".scroll:has(table.measured)").first
    scrolls = wide.evaluate("element => element.scrollWidth > element.clientWidth")
    assert scrolls == (width < 1200)


def test_a_mark_leads_to_its_warning(browser: Browser, run: Run) -> None:
    page = opened(browser, run)
    page.locator("table.measured sup a").first.click()
    target = page.locator("#warning-1:target")
    assert target.count() == 1
    assert "processor 0 was busy" in target.inner_text()


def test_a_run_without_trials_opens(browser: Browser, tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", trials=0)
    html.write(run)
    page = opened(browser, run)
    assert "No trial has finished" in page.locator(".answer").inner_text()
