"""What pytest says of a test that could not tell (see tests/measuring.py)."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

from tests.measuring import Inconclusive

# How long an example takes depends on who else uses the machine.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")


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
    reports = terminalreporter.stats.get("inconclusive", [])
    if reports:
        terminalreporter.section("inconclusive: the machine was disturbed")
        for report in reports:
            terminalreporter.line(f"INCONCLUSIVE {report.nodeid}: {report.inconclusive}")
