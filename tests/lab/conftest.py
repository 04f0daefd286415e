"""Fixtures for tests that build networks and move traffic."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nettrial.backends import Backend
from nettrial.design import scenario_of, traffic_seconds
from nettrial.scenario import Capture, Record, Scenario
from nettrial.study import load
from tests.lab.lacking import lacking
from tests.lab.machines import ROW, Machines, installed
from tests.lab.sandbox import PATIENCE, Sandbox
from tests.measuring import Attempt, Run, timers_now, until_it_holds

TRANSFER, PROBE = (f"workload.{flow}.traffic.duration" for flow in ("transfer", "probe"))

# tools/setup-tests.sh installs programs there, and sudo has another PATH than its caller.
PROGRAMS = (str(Path(sys.executable).parent), "/usr/local/lib/nettrial-tests")
os.environ["PATH"] = os.pathsep.join([*PROGRAMS, os.environ["PATH"]])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/lab" in str(item.path):
            item.add_marker(pytest.mark.lab)
            if isinstance(item, pytest.Function) and "run" in item._fixtureinfo.argnames:
                item.add_marker(pytest.mark.settles)


@pytest.fixture(scope="session")
def lab() -> Iterator[Backend]:
    """Returns the lab backend. If it can't run, tests are skipped; in CI, that is a failure."""
    with Backend("lab") as backend:
        missing = backend.preflight().missing
        if missing:
            why = "; ".join(f"{lack.what}: {lack.why}" for lack in missing)
            lacking(f"the lab can't run here: {why}")
        yield backend


@pytest.fixture(scope="session")
def resolve() -> Callable[..., Scenario]:
    """Returns a function that makes a scenario of the study `jumbo-ipv6` with changed settings, by dotted
    path. The probe takes as long as the transfer, if only the transfer's duration is changed."""
    study = load("jumbo-ipv6")

    def make(**overrides: str) -> Scenario:
        given = {name.replace("__", "."): value for name, value in overrides.items()}
        if TRANSFER in given:
            given = {PROBE: given[TRANSFER], **given}
        changed = study.with_overrides({"sender": "linux-cubic", "receiver": "linux-cubic", **given})
        levels = {name: factor.levels[0] for name, factor in changed.factors.items()}
        return scenario_of(changed, levels).model_copy(deep=True)  # A test may change it.

    return make


@pytest.fixture(scope="session")
def run(lab: Backend) -> Run:
    """Returns a function that runs a scenario in the lab, and captures its packets if told so."""

    def trial(scenario: Scenario, capture: Capture | None = None) -> Record:
        return lab.run("test", scenario, traffic_seconds(scenario) + PATIENCE, capture)

    return trial


@pytest.fixture(scope="session")
def holds(run: Run) -> Callable[[Attempt], None]:
    """Returns a function that repeats a measurement in the lab until an attempt holds, or clearly none
    does."""
    return lambda attempt: until_it_holds(run, attempt, timers_now)


@pytest.fixture(scope="session")
def row(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """Yields four machines in a row, for tests that change only their links."""
    with installed(tmp_path_factory.mktemp("row"), ROW) as made:
        yield made


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    """Yields the sandbox in which the processes of a test run, and checks that nothing of it is left."""
    made = Sandbox()
    try:
        yield made
        made.assert_empty()
    finally:
        made.close()


@pytest.fixture(scope="session")
def as_user() -> list[str]:
    """Returns the beginning of a command that runs the rest as a user without privileges on the machine.

    A user namespace in which this user has another number: no capability is left, and files that this
    user can read stay readable wherever the checkout is."""
    command = ["unshare", "--user", "--map-user=1000", "--map-group=1000"]
    probe = subprocess.run([*command, "id", "-u"], capture_output=True, text=True, check=False)
    if probe.stdout.strip() != "1000":
        lacking(f"no user namespace here: {probe.stderr}")
    return command
