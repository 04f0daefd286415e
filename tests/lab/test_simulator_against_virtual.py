"""The simulator agrees with Linux's own TCP/IP in virtual time within the bounds of
`benches/simulator_against_virtual.py`, except for the differences that it states.

Both backends are deterministic, so that a stated difference that is gone fails a test, too."""

from collections.abc import Iterator

import pytest

from benches.simulator_against_virtual import AGREEMENT, STATED, beyond, compared
from nettrial.backends import BACKENDS, Backend, Configuration, find_kernel
from tests.lab.lacking import lacking

pytestmark = pytest.mark.virtual
QUICK = ["plain", "queue 30", "Reno", "CoDel", "window 32 KiB"]
"""The cases that always run. The others are part of the longer sweep."""


@pytest.fixture(scope="module")
def backends() -> Iterator[tuple[Backend, Backend]]:
    """Yields a backend in virtual time, and the simulator."""
    if find_kernel() is None:
        lacking("no kernel in virtual time here: `make virtual` builds one")
    with BACKENDS["virtual"].start(Configuration()) as kernel, Backend("sim") as simulator:
        yield kernel, simulator


def test_differences_are_stated_of_cases_that_exist() -> None:
    assert {case for case, _ in STATED} | set(QUICK) <= set(AGREEMENT.cases)


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[] if case in QUICK else pytest.mark.slow) for case in AGREEMENT.cases]
)
def test_the_simulator_agrees_with_the_kernel(case: str, backends: tuple[Backend, Backend]) -> None:
    found = compared(case, *backends)
    stated = {response for of, response in STATED if of == case}
    assert beyond(found) == stated, f"virtual and sim: {found}"
