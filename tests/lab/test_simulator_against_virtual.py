"""The simulator agrees with Linux's own TCP/IP in virtual time within the bounds of
`benches/simulator_against_virtual.py`, except for the differences that it states.

Both backends are deterministic, so that a stated difference that is gone fails a test, too."""

from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path

import pytest

from benches.simulator_against_virtual import AGREEMENT, SEEDS, STATED, Place, Verdict, figures, trial
from nettrial.backends import BACKENDS, Backend, Configuration, find_kernel
from nettrial.scenario import Capture
from tests.lab.captured import packets
from tests.lab.lacking import lacking

pytestmark = pytest.mark.virtual
QUICK = ["plain", "CoDel", "window 32 KiB", "8 flows"]
"""The cases that always run. The others are part of the longer sweep."""
IPV4_SOURCE, UDP_SOURCE = slice(26, 30), slice(34, 36)
"""The places of the source address and port in a frame with UDP over IPv4."""


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
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
def test_the_simulator_agrees_with_the_kernel(case: str, place: Place) -> None:
    found = figures([trial(case, seed, place) for seed in SEEDS])
    beyond = {figure.response for figure in found if figure.verdict is Verdict.BEYOND}
    stated = {response for of, response in STATED if of == case}
    assert beyond == stated, f"virtual, sim and difference: {[str(figure) for figure in found]}"


def test_flows_start_at_the_same_instants(place: Place, tmp_path: Path) -> None:
    """The first packets of the flows have the same distances from the first of all."""
    found = []
    for backend in place:
        scenario = AGREEMENT.scenario("plain", 3, backend.name).model_copy(deep=True)
        probe = scenario.workload[-1]
        scenario.workload = [probe.model_copy(update={"name": f"probe-{number}"}) for number in range(8)]
        folder = tmp_path / backend.name
        folder.mkdir()
        backend.run("starts", scenario, 60, capture=Capture(directory=str(folder), name="c", snap_bytes=128))
        first: dict[bytes, int] = {}
        for at, _, frame in packets(folder / "c-host-1-eth0.pcapng"):
            if frame[IPV4_SOURCE] == ip_address("10.0.0.1").packed:
                first.setdefault(frame[UDP_SOURCE], at)
        starts = list(first.values())
        found.append([at - starts[0] for at in starts])
    kernel, simulated = found
    assert len(kernel) == 8
    assert kernel == pytest.approx(simulated, abs=10_000)
    assert max(kernel) > 300_000, "they do not start together"
