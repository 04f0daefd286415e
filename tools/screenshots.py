#!/usr/bin/env python3
"""Screenshots of a run's report, for the documentation: STUDY-light.png, STUDY-dark.png, STUDY-phone.png.
Needs playwright and a chromium; the run's report.html is written anew."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from nettrial.errors import NettrialError
from nettrial.report import html
from nettrial.store import Run

VIEWS = {
    "light": (1200, 1500, "light", 1),
    "dark": (1200, 1500, "dark", 1),
    "phone": (390, 844, "light", 2),
}
"""Width and height in CSS pixels, colour scheme, dots per pixel."""


def main() -> int:
    """Takes the screenshots; gives the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("run", type=Path, metavar="RUN", help="a run's directory")
    parser.add_argument("directory", type=Path, metavar="DIR", help="where the pictures go")
    parser.add_argument(
        "--at", metavar="ID", default="", help="the section to show, such as a response's name"
    )
    parser.add_argument("--name", help="how the files' names begin (default: the study's name)")
    given = parser.parse_args()
    try:
        run = Run.open(given.run)
        page = html.write(run)
    except NettrialError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    executable = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    given.directory.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        for view in VIEWS:
            file = given.directory / f"{given.name or run.study.study}-{view}.png"
            _take(browser, page, view, given.at, file)
            print(file)
        browser.close()
    return 0


def _take(browser: Browser, page: Path, view: str, at: str, file: Path) -> None:
    """One picture: what a reader sees first, or at a section."""
    width, height, scheme, dots = VIEWS[view]
    tab = browser.new_page(
        viewport={"width": width, "height": height},
        color_scheme="dark" if scheme == "dark" else "light",
        device_scale_factor=dots,
        reduced_motion="reduce",
    )
    tab.goto(page.resolve().as_uri() + (f"#{at}" if at else ""))
    tab.wait_for_load_state("networkidle")
    tab.screenshot(path=file)
    tab.close()


if __name__ == "__main__":
    sys.exit(main())
