#!/usr/bin/env python3
"""Makes the pictures of reports and the figures that pages quote, from the same runs.

    python -m tools.pictures [--check] [--long] [--runs DIR] [STUDY ...]

Runs each STUDY (default: all) with its options in `RUNS`, writes pictures of the report to STUDY-light.png,
-dark.png and -phone.png in docs/images if these exist, and writes the answer between the marks `<!-- answer:
STUDY -->` and `<!-- end -->` of every page. A picture contains the digest of that answer, by which a test
checks that both come from one run. With --check it writes nothing, leaves the studies whose runs take real
time, and fails if an answer differs, or a picture in any pixel. With --runs, runs are kept in a directory,
and those that are there already are not made again. Needs playwright and chromium."""

from __future__ import annotations

import hashlib
import re
import shutil
import struct
import sys
import textwrap
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from nettrial.report import conclusions, html
from nettrial.report.content import gather
from nettrial.store import Run
from nettrial.study import load
from tools.repeats import (
    DETERMINISTIC,
    REAL_TIME,
    ROOT,
    Left,
    Outcome,
    differences,
    directory,
    parser,
    repeat,
)

IMAGES = ROOT / "docs" / "images"
PAGES = ("README.md", "docs/**/*.md", "studies/**/*.md")
RUNS = {
    "jumbo-ipv6": ("--backend", "sim"),
    "mtu-packet-size": (),
    "mtu-packet-size-gigabit": (),
    "jellyfish-mptcp": ("--backend", "sim"),
    "jellyfish-mptcp-hosts": ("--backend", "sim"),
    "jellyfish-mptcp-settings": ("--backend", "sim"),
    "jellyfish-mptcp-fabrics": ("--backend", "sim"),
    "jellyfish-vs-fat-tree": (),
    "wlan-settings": (),
    "long-paths": ("--backend", "sim"),
}
"""The studies with pictures, and the options of their runs in addition to the seed."""
SEED = "1"
VIEWS = {"light": (1200, "light", 1), "dark": (1200, "dark", 1), "phone": (390, "light", 2)}
"""The width in CSS pixels, the colour scheme and the dots per pixel of each view."""
TALLEST = 1500
"""The largest height of a picture, which otherwise ends below the chart of the answer."""
KEY = b"nettrial-answer"
"""The keyword of the PNG text chunk (PNG, third edition, section 11.3.3.2) with the answer's digest."""
_BLOCK = re.compile(r"(<!-- answer: ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def digest(answer: str) -> str:
    """Returns the digest of an answer, independently of its line breaks."""
    return hashlib.sha256(" ".join(answer.split()).encode()).hexdigest()[:16]


def quoted() -> Iterator[tuple[Path, str, str]]:
    """Yields each answer that a page quotes: the page, the study, and the text between the marks."""
    for pattern in PAGES:
        for page in sorted(ROOT.glob(pattern)):
            for block in _BLOCK.finditer(page.read_text(encoding="utf-8")):
                yield page, block[2], block[3]


def stamp(picture: Path) -> str:
    """Returns the digest in a picture; empty if it has none."""
    chunk = re.search(rb"tEXt" + KEY + rb"\0([0-9a-f]{16})", picture.read_bytes())
    return chunk[1].decode() if chunk else ""


def main() -> int:
    """Makes or compares the pictures and the answers, and returns the exit status."""
    given = parser("Makes the pictures of the documentation.").parse_args()
    if not given.check and (unknown := set(given.studies) - set(RUNS)):
        sys.exit(f"no pictures of {', '.join(sorted(unknown))}: expected {', '.join(RUNS)}")
    executable = next(filter(None, map(shutil.which, ("chromium", "chromium-headless-shell"))), None)
    outcome = Outcome()
    with directory(given.runs) as runs, sync_playwright() as playwright:
        browser = None
        if executable or not given.check:
            browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        for name in [each for each in RUNS if each in (given.studies or RUNS)]:
            command = " ".join(["nettrial", "run", name, *RUNS[name], "--seed", SEED])
            try:
                if given.check and not _deterministic(name):
                    raise Left(REAL_TIME)
                run = Run.open(repeat(command, runs, long=given.long))
            except Left as reason:
                outcome.leave(f"pictures and answer of {name}", str(reason))
                continue
            report = gather(run)
            answer = f"`{command}`: {conclusions.answer(report)}\n"
            page = html.write(run, report)
            shown = [file for view in VIEWS if (file := IMAGES / f"{name}-{view}.png").exists()]
            made = [(run.directory if given.check else IMAGES) / file.name for file in shown]
            if browser is not None:
                _take(browser, page, made, digest(answer))
            if given.check:
                _compare(name, answer, outcome)
                for old, new in zip(shown, made, strict=True):
                    if browser is None:
                        outcome.leave(_told(old), "there is no chromium")
                    else:
                        same = old.read_bytes() == new.read_bytes()
                        outcome.compare(_told(old), [] if same else [f"{new} is not the same"])
            else:
                print(*map(_told, shown), sep="\n")
                _quote(name, answer)
    if given.check:
        outcome.end()
    return int(bool(outcome.differing))


def _told(file: Path) -> str:
    """Returns a file's path as it is printed."""
    return str(file.relative_to(ROOT))


def _deterministic(name: str) -> bool:
    """Returns whether a study's pictures are of a run that is the same each time."""
    options = RUNS[name]
    backend = options[options.index("--backend") + 1] if "--backend" in options else load(name).backend
    return backend in DETERMINISTIC


def _compare(name: str, answer: str, outcome: Outcome) -> None:
    """Compares an answer with the quotation on each page."""
    for page, study, old in quoted():
        if study == name:
            outcome.compare(f"{_told(page)}, answer of {name}", list(differences(old, _wrapped(answer))))


def _wrapped(answer: str) -> str:
    return "\n".join(textwrap.wrap(answer, 118, break_long_words=False, break_on_hyphens=False)) + "\n"


def _quote(name: str, answer: str) -> None:
    """Writes an answer between the marks of every page."""
    text = _wrapped(answer)
    for page in {page for page, study, _ in quoted() if study == name}:
        old = page.read_text(encoding="utf-8")
        new = _BLOCK.sub(lambda block: block[1] + text + block[4] if block[2] == name else block[0], old)
        page.write_text(new, encoding="utf-8")
        print(_told(page))


def _take(browser: Browser, page: Path, files: Sequence[Path], stamped: str) -> None:
    """Takes pictures of the answer and its chart, in the view that each file's name ends with."""
    text = KEY + b"\0" + stamped.encode()
    chunk = struct.pack(">I", len(text)) + b"tEXt" + text + struct.pack(">I", zlib.crc32(b"tEXt" + text))
    after_header = 8 + 25
    for file in files:
        width, scheme, dots = VIEWS[file.stem.rpartition("-")[2]]
        tab = browser.new_page(
            viewport={"width": width, "height": TALLEST},
            color_scheme="dark" if scheme == "dark" else "light",
            device_scale_factor=dots,
            reduced_motion="reduce",
        )
        tab.goto(page.resolve().as_uri())
        tab.wait_for_load_state("networkidle")
        facts = tab.locator("dl.facts").bounding_box()
        assert facts is not None
        height = min(TALLEST, facts["y"] + facts["height"] + 16)
        data = tab.screenshot(clip={"x": 0, "y": 0, "width": width, "height": height})
        tab.close()
        file.write_bytes(data[:after_header] + chunk + data[after_header:])


if __name__ == "__main__":
    sys.exit(main())
