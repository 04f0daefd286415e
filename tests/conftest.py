"""Repeats tests with the mark `settles`, and reports tests that are inconclusive (see tests/measuring.py)."""

import gc
import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

from tests.measuring import Inconclusive, Run, in_one_attempt

# A kernel in virtual time that the developer installed must not change which backend is the default in tests.
os.environ.setdefault("NETTRIAL_KERNEL", "")
# Nor must the developer's defaults.
os.environ["XDG_CONFIG_HOME"] = "/nonexistent"

# The same setting as in `nettrial.cli.main`; it saves a tenth of the unit tests' time.
gc.set_threshold(100_000, 20)

# The duration of an example depends on other work on the machine.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")

ATTEMPT = "took another attempt"
GROUPS = {
    "tests/end_to_end/test_ndt7.py": "browser",
    "tests/end_to_end/test_report_page.py": "browser",
    "tests/lab/test_guests.py": "guests",
    "tests/lab/test_hosts.py": "machines",
    "tests/lab/test_machine_sets.py": "machines",
}
"""The files whose tests share what takes long to make. With `--dist loadgroup`, one worker runs a group. (The
mark `xdist_group` has no effect since pytest 9.2.)"""


def group(test: str) -> str:
    """Returns the group of a test, by its identifier."""
    return GROUPS.get(test.partition("::")[0], test)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keeps the tests of a group in one worker."""
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadGroupScheduling

    class Scheduling(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group(nodeid)

    return Scheduling(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Repeats a test with the mark `settles` until an attempt holds. Each finds in `tmp_path` only what
    fixtures put there."""
    if pyfuncitem.get_closest_marker("settles") is None:
        return None
    given = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    run = given.get("run")
    directory = given.get("tmp_path")
    fixtures_files = set(directory.iterdir()) if directory else set()

    def attempt(watched: Run) -> None:
        for left in set(directory.iterdir()) - fixtures_files if directory else ():
            shutil.rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink()
        pyfuncitem.obj(**given | ({} if run is None else {"run": watched}))

    for failure in in_one_attempt(run, attempt):
        pyfuncitem.user_properties.append((ATTEMPT, failure))
    return True


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Iterator[None]:
    outcome: Any = yield
    if call.excinfo and isinstance(call.excinfo.value, Inconclusive):
        outcome.get_result().inconclusive = str(call.excinfo.value)


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    if getattr(report, "inconclusive", None) is not None:
        return "inconclusive", "I", "INCONCLUSIVE"
    return None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    again = [
        f"{report.nodeid}: {failure}"
        for report in terminalreporter.stats.get("passed", [])
        for name, failure in report.user_properties
        if name == ATTEMPT
    ]
    if again:
        terminalreporter.section("passed in another attempt: the machine was busy")
        for line in again:
            terminalreporter.line(line)
    reports = terminalreporter.stats.get("inconclusive", [])
    if reports:
        terminalreporter.section("inconclusive: the machine was disturbed")
        for report in reports:
            terminalreporter.line(f"INCONCLUSIVE {report.nodeid}: {report.inconclusive}")
