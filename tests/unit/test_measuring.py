"""A measurement that fails is a failure on a quiet machine, and inconclusive on a disturbed one."""

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from nettrial.scenario import Record, Scenario, TimerLateness
from nettrial.scenario import Warning as Caution
from tests.conftest import GROUPS, group
from tests.measuring import (
    ATTEMPTS,
    DISTURBANCES,
    LATE_NS,
    LOSSES,
    QUIET_FAILURES,
    Attempt,
    Inconclusive,
    Run,
    in_one_attempt,
    until_it_holds,
)
from tests.records import record

ROOT = Path(__file__).parents[2]
SCENARIO = Scenario.model_construct()


def trial(*codes: str) -> Record:
    """Returns a record with warnings of these codes."""
    cautions = [Caution(code=code, object="the machine", message="seen", consequence="") for code in codes]
    return record().model_copy(update={"warnings": cautions})


def failing(made: list[Record]) -> Run:
    """Returns a function that gives these records in turn, and then the last one again and again."""
    return lambda scenario: made.pop(0) if len(made) > 1 else made[0]


def measured(run: Run, attempt: Attempt, late_ns: int = 0) -> None:
    """Repeats a measurement on a machine whose timers are this late."""
    until_it_holds(
        run, attempt, lambda: TimerLateness(median_ns=late_ns, p99_ns=late_ns, p99_9_ns=2 * late_ns)
    )


def attempts_until(
    run: Run, holds_at: int = ATTEMPTS + 1, making: Callable[[Run, Attempt], object] = measured
) -> int:
    """Returns the number of attempts, if the attempt with this number is the first that holds."""
    made = 0

    def attempt(run: Run) -> None:
        nonlocal made
        made += 1
        run(SCENARIO)
        assert made >= holds_at

    making(run, attempt)
    return made


def test_what_holds_is_measured_once():
    assert attempts_until(failing([trial()]), holds_at=1) == 1


def test_what_fails_on_a_quiet_machine_is_a_failure():
    with pytest.raises(AssertionError):
        attempts_until(failing([trial("path_mtu")]))
    assert attempts_until(failing([trial()]), holds_at=QUIET_FAILURES) == QUIET_FAILURES


@pytest.mark.parametrize("code", sorted(DISTURBANCES))
def test_what_fails_on_a_disturbed_machine_is_measured_again_and_then_inconclusive(code: str):
    assert attempts_until(failing([trial(code)]), holds_at=ATTEMPTS) == ATTEMPTS
    with pytest.raises(Inconclusive, match=f"^{code}: seen$"):
        attempts_until(failing([trial(code)]))


def test_failures_on_a_quiet_machine_are_counted_among_disturbed_ones():
    records = [trial(), trial("other_work"), trial(), trial("other_work"), trial()]
    with pytest.raises(AssertionError):
        attempts_until(failing(records))
    with pytest.raises(Inconclusive):
        attempts_until(failing([trial(), trial(), trial("other_work")]))


def test_what_fails_while_timers_are_late_is_measured_again_and_then_inconclusive():
    late = partial(measured, late_ns=LATE_NS)
    assert attempts_until(failing([trial()]), ATTEMPTS, late) == ATTEMPTS
    with pytest.raises(Inconclusive, match=r"^late timers: one of a hundred by 1\.0 ms or more$"):
        attempts_until(failing([trial()]), making=late)


@pytest.mark.parametrize("code", sorted(DISTURBANCES | LOSSES))
def test_one_attempt_of_a_functional_test_must_hold_however_busy_the_machine_is(code: str):
    busy, quiet = failing([trial(code)]), failing([trial("path_mtu")])
    assert attempts_until(busy, ATTEMPTS, in_one_attempt) == ATTEMPTS
    with pytest.raises(AssertionError):
        attempts_until(busy, making=in_one_attempt)
    assert attempts_until(quiet, QUIET_FAILURES, in_one_attempt) == QUIET_FAILURES
    with pytest.raises(AssertionError):
        attempts_until(quiet, QUIET_FAILURES + 1, in_one_attempt)


def test_a_figure_that_a_disturbed_trial_lacks_fails_the_attempt():
    rates: list[float | None] = []

    def attempt(run: Run) -> None:
        run(SCENARIO)
        assert rates.pop() > 0  # type: ignore[operator]

    rates[:] = [1.0, None]
    [said] = in_one_attempt(failing([trial("other_work")]), attempt)
    assert said.startswith("TypeError: ")
    rates[:] = [1.0, None]
    measured(failing([trial("other_work")]), attempt)
    assert rates == []
    rates[:] = [1.0] + [None] * QUIET_FAILURES
    with pytest.raises(TypeError):
        in_one_attempt(failing([trial()]), attempt)


def test_an_inconclusive_test_is_named_and_counted(tmp_path: Path):
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (tmp_path / "test_it.py").write_text(
        "from tests.measuring import Inconclusive\n\n\n"
        "def test_a_wire():\n    raise Inconclusive('steal_time: 9%')\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)]
    done = subprocess.run(
        [*command, "--import-mode=importlib", "-o", f"pythonpath={ROOT}", str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "INCONCLUSIVE test_it.py::test_a_wire: steal_time: 9%" in done.stdout
    assert "1 inconclusive in" in done.stdout.splitlines()[-1]


def test_files_that_are_kept_together_are_there():
    assert all((ROOT / file).exists() for file in GROUPS)
    assert group("tests/lab/test_hosts.py::test_it[tests/lab]") == "machines"
    assert group("tests/lab/test_wire.py::test_it") == "tests/lab/test_wire.py::test_it"
