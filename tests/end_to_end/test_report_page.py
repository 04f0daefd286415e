"""The report's page in a browser: it opens without a network, is legible in light and dark, fits a phone, and
its script works by pointer and by keyboard."""

import os
import queue
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    expect,
    sync_playwright,
)

from nettrial.analysis import summarise
from nettrial.monitor.archive import Archive
from nettrial.monitor.site import server
from nettrial.report import html, live, vega
from nettrial.store import Run
from tests.end_to_end.serving import until
from tests.unit.sweeps import make_sweep_run
from tests.unit.synthetic import ENVIRONMENT, make_run, record, scenario_of
from tests.unit.test_monitor_site import make_archive

pytestmark = pytest.mark.end_to_end

ARGUMENTS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The browsers that tests use. The first is Chromium without windows, which starts in half the CPU time."""
LUMINANCE = """
([selector, property]) => {
  const [r, g, b] = getComputedStyle(document.querySelector(selector))[property].match(/[0-9.]+/g).map(Number)
  const linear = c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
}
"""
"""Computes the relative luminance of WCAG 2.2."""
OVERLAPPING = """
() => [...document.querySelectorAll('.chart > svg')].flatMap(chart => {
  const texts = [...chart.querySelectorAll('text')].filter(
    text => text.textContent.trim() && text.getAttribute('opacity') !== '0'
      && !/rotate/.test(text.getAttribute('transform')),
  )
  const boxes = texts.map(text => text.getBoundingClientRect())
  return texts.flatMap((text, i) => texts.slice(0, i).filter((_, j) => {
    const [a, b] = [boxes[i], boxes[j]]
    return a.left < b.right + 2 && b.left < a.right + 2 && a.top + 1 < b.bottom && b.top + 1 < a.bottom
  }).map(other => `${chart.parentElement.id}: ${other.textContent} and ${text.textContent}`))
})
"""
"""The pairs of horizontal labels of a chart that overlap or touch."""
AS_OPENED = """
() => {
  for (const part of document.querySelectorAll('details')) {
    part.dataset.first ??= part.open
    part.open = part.dataset.first === 'true'
  }
  document.activeElement.blur()
  location.hash = ''
  scrollTo(0, 0)
}
"""
"""Opens and closes what a page's reader can, as it was when this was called first."""
PATIENCE_MS = 300_000
"""The time limit in milliseconds for an operation that takes a moment on a quiet machine. A page that follows
a run is drawn again only after many times the duration of drawing it."""
expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        why = f"none of {', '.join(BROWSERS)} on PATH"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS, timeout=PATIENCE_MS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    run = make_run(tmp_path_factory.mktemp("runs") / "run")
    html.write(run)
    return run


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Run:
    run = make_sweep_run(tmp_path_factory.mktemp("runs") / "sweep", 2, step=500)
    html.write(run)
    return run


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """Yields the state of one reader's browser, in which pages may read the clipboard."""
    made = browser.new_context(viewport={"width": 1280, "height": 900})
    made.set_default_timeout(PATIENCE_MS)
    made.grant_permissions(["clipboard-read", "clipboard-write"])
    yield made
    made.close()


def opened(browser: Browser | BrowserContext, run: Run, scheme: str = "light") -> Page:
    """Opens the page. Fails if the page requests anything but its own file, or writes a message to the
    console."""
    path: Path = run.directory / "report.html"
    page = browser.new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.set_viewport_size({"width": 1280, "height": 900})
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
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


@pytest.fixture(scope="module")
def open_page(browser: Browser, run: Run) -> Page:
    """Returns the page of `run`, opened once: that takes two seconds of CPU time."""
    return opened(browser, run)


@pytest.fixture
def page(open_page: Page) -> Page:
    """Returns the open page of `run` as it was when it was opened, for tests that put back in order what they
    sort."""
    open_page.set_viewport_size({"width": 1280, "height": 900})
    open_page.emulate_media(color_scheme="light")
    open_page.keyboard.press("Escape")
    open_page.evaluate(AS_OPENED)
    return open_page


def test_tables_have_the_numbers_and_charts_are_drawn(page: Page, run: Run) -> None:
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
    published = section.locator("table.published tbody tr").last.locator("td").all_text_contents()
    assert published == ["938.88", "+25.03", "937.86", "+22.18", "934.94", "+30.11", "884.96", "+33.60"]
    assert page.locator("section.response").count() == 7
    charts = page.locator("section.response > .charts svg[role=img]")
    assert charts.count() == 14
    for chart in charts.all():
        box = chart.bounding_box()
        assert box is not None
        assert box["width"] > 300
        assert box["height"] > 150


@pytest.mark.slow
def test_text_and_charts_stand_out_in_either_scheme(browser: Browser, run: Run) -> None:
    page = opened(browser, run)

    def contrast(selector: str, colour: str) -> float:
        paper = page.evaluate(LUMINANCE, ["body", "backgroundColor"])
        ink = page.evaluate(LUMINANCE, [selector, colour])
        return float((max(paper, ink) + 0.05) / (min(paper, ink) + 0.05))

    def dark() -> bool:
        return bool(page.evaluate(LUMINANCE, ["body", "backgroundColor"]) < 0.1)

    # The minimum contrasts of WCAG 2.2 are 4.5 for text and 3 for graphics.
    wanted = {("body", "color"): 7.0, (".quiet", "color"): 4.5, ("a.mark", "color"): 4.5}
    wanted[(".charts text", "fill")] = 4.5
    for number in range(4):
        wanted[(f"#throughput .legend li:nth-child({number + 2}) svg > *", "fill")] = 3.0
    for number in range(6):
        wanted[(f"#variation .legend li:nth-child({number + 1}) svg > *", "fill")] = 3.0
    assert not dark()
    assert [(what, found) for what in wanted if (found := contrast(*what)) < wanted[what]] == []
    page.emulate_media(color_scheme="dark")
    assert dark()
    assert [(what, found) for what in wanted if (found := contrast(*what)) < wanted[what]] == []


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
@pytest.mark.parametrize("shown", ["run", pytest.param("sweep", marks=pytest.mark.slow)])
def test_axe_finds_no_violation(
    browser: Browser, shown: str, scheme: str, request: pytest.FixtureRequest
) -> None:
    page = opened(browser, request.getfixturevalue(shown), scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true })")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    page.close()


def test_the_page_itself_never_scrolls_sideways(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true })")
    wide = page.locator(".scroll:has(table.measured)").first
    for width in (1280, 768, 375, 360):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        scrolls = wide.evaluate("element => element.scrollWidth > element.clientWidth")
        assert scrolls == (640 < width < 1200)  # below, rows are cards
        # The values of a mark at the right edge, which the next width would leave outside the page.
        page.locator("#chart-throughput-changes").focus()
        page.keyboard.press("End")
        assert page.locator("#tip").is_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_rows_of_tables_are_cards_on_a_phone(page: Page) -> None:
    heading = page.locator("#throughput table.measured thead")
    cell = page.locator("#throughput table.measured tbody td.value").nth(1)
    label = "element => getComputedStyle(element, '::before').content"
    assert heading.is_visible()
    assert cell.evaluate(label) == "none"
    page.set_viewport_size({"width": 400, "height": 900})
    assert not heading.is_visible()
    assert cell.evaluate(label) == '"Sender linux-cubic – Receiver classic"'
    every = page.locator("main .sortable:visible")
    assert every.count() > 5
    for table in every.all():
        assert table.evaluate("element => element.scrollWidth <= element.parentElement.clientWidth")


@pytest.mark.slow
def test_labels_of_an_axis_do_not_touch(browser: Browser) -> None:
    drawn = ""
    for values in ((-76, 204), (-5, 1234), (0, 0.031), (-31.5, 152), (-99.9, 8765.4)):
        x = {**vega.across(values, 190, zero=True), "field": "value"}
        points = vega.layer("point", [{"value": value} for value in values], {"x": x})
        chart = vega.Chart("narrow", "Change, %", "", vega.layered([points], "Change, %", 190))
        drawn += f'<div class="chart">{vega.on_page(chart)}</div>'
    page = browser.new_page()
    page.set_content(drawn)
    assert page.locator("text").count() > 15
    assert page.evaluate(OVERLAPPING) == []
    page.close()


@pytest.mark.slow
def test_labels_of_charts_do_not_overlap(browser: Browser, run: Run, sweep: Run) -> None:
    for each in (run, sweep):
        page = opened(browser, each)
        page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true })")
        for width in (390, 1280):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate(OVERLAPPING) == []
        page.close()


def test_a_mark_leads_to_its_warning(page: Page) -> None:
    page.locator("table.measured .marks a").first.click()
    target = page.locator("#warning-1:target")
    assert target.count() == 1
    assert "CPU 0 was busy" in target.inner_text()
    page.go_back()
    page.locator("#throughput .caution a").first.click()
    assert page.locator("#warning-1:target").count() == 1


def test_a_heading_sorts_its_table_and_puts_it_back(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true })")
    table = page.locator("#throughput table.published")
    heading = table.locator("thead tr").last.locator("th").nth(1)

    def values() -> list[str]:
        return table.locator("tbody tr td:nth-child(2)").all_inner_texts()

    before = values()
    orders = []
    for _ in range(3):
        heading.locator("button").click()
        orders.append((heading.get_attribute("aria-sort"), values()))
    ascending = sorted(before, key=float)
    assert orders == [("ascending", ascending), ("descending", ascending[::-1]), (None, before)]
    measured = page.locator("#rtt table.measured")
    measured.locator("thead tr").last.locator("th").first.locator("button").focus()
    for _ in range(2):
        page.keyboard.press("Enter")
    assert measured.locator("tbody th").all_inner_texts() == ["9000 B", "4000 B", "1500 B"]
    assert page.locator("#spoken").inner_text() == "MTU: sorted descending"
    page.keyboard.press("Enter")


def test_tables_are_copied_as_csv_markdown_and_latex(context: BrowserContext, run: Run) -> None:
    page = opened(context, run)
    place = page.locator("#copy-throughput")
    copied = {}
    for form in ("CSV", "Markdown", "LaTeX"):
        place.get_by_role("button", name=form).click()
        expect(page.locator("#spoken")).to_have_text(f"Copied as {form}")
        copied[form] = page.evaluate("navigator.clipboard.readText()")
    assert len(copied["CSV"].splitlines()) == 13
    assert copied["CSV"].startswith("mtu")
    assert re.search(r"^\| 9000 B +\|", copied["Markdown"], re.MULTILINE)
    assert "\\begin{tabular}" in copied["LaTeX"]


def reload_until(page: Page, is_kept: Callable[[], bool]) -> None:
    """Reloads a page until it shows what its reader has chosen, which the browser stores some time after the
    click."""

    def shows() -> bool:
        page.reload()
        return is_kept()

    until(shows, "what was chosen")


def test_the_theme_is_chosen_and_kept(context: BrowserContext, run: Run) -> None:
    page = opened(context, run)
    button = page.locator("#theme")

    def dark() -> bool:
        return bool(page.evaluate(LUMINANCE, ["body", "backgroundColor"]) < 0.1)

    seen = [(button.inner_text(), dark())]
    for _ in range(3):
        button.click()
        seen.append((button.inner_text(), dark()))
    light = ("Theme: system", False)
    assert seen == [light, ("Theme: light", False), ("Theme: dark", True), light]
    button.click()
    button.click()
    reload_until(page, lambda: button.inner_text() == "Theme: dark")
    assert dark()
    page.emulate_media(media="print")
    assert not dark(), "paper is white"
    assert not button.is_visible()


@pytest.mark.slow
def test_marks_say_their_values_to_the_pointer(browser: Browser, run: Run) -> None:
    page = opened(browser, run)
    chart = page.locator("#chart-throughput-values")
    chart.scroll_into_view_if_needed()
    mark = chart.locator('[data-said^="9000 B, Sender linux-cubic – Receiver linux-cubic"]')
    box = mark.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2 + 4, box["y"] + box["height"] / 2 - 3)
    tip = page.locator("#tip")
    cell = summarise(run).responses[2].cells[8]
    assert tip.is_visible()
    assert tip.inner_text().startswith(
        f"9000 B, Sender linux-cubic – Receiver linux-cubic: {cell.mean:.1f} Mbit/s ["
    )
    page.mouse.move(1, 1)
    assert not tip.is_visible()


def test_every_trial_is_shown_on_demand_and_that_is_kept(context: BrowserContext, run: Run) -> None:
    page = opened(context, run)
    trials = page.locator("#chart-throughput-values .trials_marks")
    button = page.get_by_role("button", name="Every trial")
    assert (trials.is_visible(), button.get_attribute("aria-pressed")) == (False, "false")
    assert trials.locator("[data-said]").count() == 60
    button.click()
    assert (trials.is_visible(), button.get_attribute("aria-pressed")) == (True, "true")
    reload_until(page, trials.is_visible)


def test_all_is_reached_and_read_by_keyboard(browser: Browser, run: Run) -> None:
    page = opened(browser, run)
    page.keyboard.press("Tab")
    focused = "document.activeElement"
    assert page.evaluate(f"{focused}.textContent") == "Skip to the results"
    assert page.locator(".skip").bounding_box()["x"] >= 0  # type: ignore[index]
    chart = page.locator("#chart-throughput-changes")
    chart.focus()
    assert page.evaluate(f"getComputedStyle({focused}).outlineStyle") == "solid"
    page.keyboard.press("ArrowRight")
    first = page.locator("#spoken").inner_text()
    assert re.fullmatch(
        r"4000 B, Sender linux-cubic – Receiver linux-cubic: \+[\d.]+% \[.*\], 5 pairs, effect size [\d.]+",
        first,
    )
    assert page.locator("#tip").inner_text() == first
    page.keyboard.press("ArrowRight")
    second = page.locator("#spoken").inner_text()
    assert second != first
    page.keyboard.press("ArrowLeft")
    assert page.locator("#spoken").inner_text() == first
    page.keyboard.press("Escape")
    assert not page.locator("#tip").is_visible()


@pytest.mark.slow
def test_a_run_without_trials_opens(browser: Browser, tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", trials=0)
    html.write(run)
    page = opened(browser, run)
    assert "No trial has finished" in page.locator(".answer").inner_text()


def test_the_page_of_a_run_that_goes_on_follows_it(browser: Browser, tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", 2, {"sender": "classic", "receiver": "classic"}, trials=2)
    addresses: queue.Queue[str] = queue.Queue()
    messages: list[str] = []
    end = threading.Event()
    thread = threading.Thread(target=live.serve, args=(run.directory, 0, addresses.put, end))
    thread.start()
    try:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.goto(addresses.get(timeout=PATIENCE_MS / 1000))
        expect(page.locator("#live")).to_contain_text("2 of 6 trials")
        page.locator("details[data-key=study] summary").click()
        with run.session(ENVIRONMENT) as session:
            trial = run.pending()[0]
            session.finished(trial, scenario_of(run.study, trial.treatment), record(trial))
        expect(page.locator("#live")).to_contain_text("3 of 6 trials")
        assert page.locator("details[data-key=study]").get_attribute("open") is not None
        page.locator("section.response table.sortable button.sort").first.click()
        assert page.locator("[aria-sort=ascending]").count() == 1
        assert messages == []
    finally:
        end.set()
        thread.join()
    expect(page.locator("#live")).to_contain_text("The server has stopped")


def event(directory: Path, said: str) -> None:
    """Adds an event to an archive."""
    archive = Archive.create(directory)
    with archive.transaction():
        archive.event(0, None, "clock", said)
    archive.close()


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_the_page_of_a_monitor_is_read_and_follows_the_archive(
    browser: Browser, tmp_path: Path, scheme: str
) -> None:
    directory = make_archive(tmp_path)
    messages: list[str] = []
    with server(directory, "127.0.0.1", 0) as served, served.running():
        page = browser.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.goto(served.url)
        assert Axe().run(page).violations_count == 0
        page.set_viewport_size({"width": 360, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        event(directory, "the clock was set by +2.0 s")
        expect(page.locator("#events")).to_contain_text("the clock was set by +2.0 s")
        page.set_viewport_size({"width": 1280, "height": 900})
        page.locator("td.warning a").hover()
        page.mouse.down()
        with page.expect_response(served.url) as newer:
            event(directory, "the clock was set by +3.0 s")
        newer.value.finished()
        page.evaluate("new Promise(requestAnimationFrame)")
        page.mouse.up()
        expect(page.locator("h1")).to_have_text("delay: here to alpha")
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
        page.set_viewport_size({"width": 360, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        chart = page.locator("#chart-rtt-day")
        chart.focus()
        page.keyboard.press("End")
        assert re.search(r"Mbit/s", page.locator("#spoken").inner_text())
        assert messages == []
        page.close()
