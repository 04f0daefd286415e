"""nettrial with a report of one line, which takes no time to make."""

import sys
from types import SimpleNamespace


def render(run, console):
    console.print(f"{len(run.trials())} of {len(run.plan)} trials, failed: {len(run.failures())}")


def write(run):
    file = run.directory / "report.html"
    file.write_text("a report")
    return file


sys.modules["nettrial.report.terminal"] = SimpleNamespace(render=render)
sys.modules["nettrial.report.html"] = SimpleNamespace(write=write)

from nettrial.cli import main  # noqa: E402

main()
