"""nettrial with a report of one line, which takes no time to make."""

import signal
import sys
from types import SimpleNamespace


def render(run, console):
    console.print(f"{len(run.trials())} of {len(run.plan)} trials, failed: {len(run.failures())}")


def write(run, report):
    file = run.directory / "report.html"
    file.write_text("a report")
    return file


sys.modules["nettrial.report.screen"] = SimpleNamespace(render=render)
sys.modules["nettrial.report.terminal"] = SimpleNamespace()
sys.modules["nettrial.report.html"] = SimpleNamespace(write=write)
sys.modules["nettrial.report.content"] = SimpleNamespace(gather=lambda run: run)

from nettrial.cli import main  # noqa: E402

# A shell starts what runs in its background with SIGINT ignored, and tests that run there send it.
signal.signal(signal.SIGINT, signal.default_int_handler)

main()
