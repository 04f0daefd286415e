"""The recorded figures with which `tests/unit/test_simulator_judged.py` compares the simulator are those of
Linux's own TCP/IP in virtual time, which is deterministic."""

from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path

import pytest

from benches.simulator_against_virtual import AGREEMENT, recorded, values
from nettrial.backends import BACKENDS, Backend, Configuration, find_kernel
from nettrial.scenario import Capture
from tests.lab.captured import packets
from tests.lab.lacking import lacking

pytestmark = pytest.mark.virtual
QUICK = ["plain", "CoDel ECN", "window 32 KiB", "8 flows", "radio TCP up"]
"""The cases that always run. The others are part of the longer sweep."""
IPV4_SOURCE, UDP_SOURCE = slice(26, 30), slice(34, 36)
"""The places of the source address and port in a frame with UDP over IPv4."""


@pytest.fixture(scope="module")
def kernel() -> Iterator[Backend]:
    """Yields a backend in virtual time."""
    if find_kernel() is None:
        lacking("no kernel in virtual time here: `make virtual` builds one")
    with BACKENDS["virtual"].start(Configuration()) as backend:
        yield backend


def test_the_quick_cases_exist() -> None:
    assert set(QUICK) <= set(AGREEMENT.cases)


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[] if case in QUICK else pytest.mark.slow) for case in AGREEMENT.cases]
)
def test_the_kernel_gives_what_is_recorded(case: str, kernel: Backend) -> None:
    of, here = (name.split()[1] for name in (recorded().kernel, kernel.preflight().environment.kernel))
    if of.split(".")[:2] != here.split(".")[:2]:
        pytest.skip(f"the figures are of Linux {of}, and this is Linux {here}")
    trials = [values(kernel, case, seed) for seed in range(len(recorded().trials[case]))]
    hint = f"recorded of Linux {of}, here {here}; benches/simulator_against_virtual.py --record renews them"
    assert trials == recorded().trials[case], hint


def test_flows_start_at_the_same_instants_in_the_simulator(kernel: Backend, tmp_path: Path) -> None:
    in_virtual_time = starts(kernel, tmp_path / "virtual")
    with Backend("sim") as simulator:
        assert in_virtual_time == pytest.approx(starts(simulator, tmp_path / "sim"), abs=10_000)
    assert len(in_virtual_time) == 8
    assert max(in_virtual_time) > 300_000, "they do not start together"


def starts(backend: Backend, folder: Path) -> list[int]:
    """Returns the times of the first packets of eight flows after the first of all, in nanoseconds."""
    scenario = AGREEMENT.scenario("plain", 3, backend.name).model_copy(deep=True)
    probe = scenario.workload[-1]
    scenario.workload = [probe.model_copy(update={"name": f"probe-{number}"}) for number in range(8)]
    folder.mkdir()
    backend.run("starts", scenario, 60, capture=Capture(directory=str(folder), name="c", snap_bytes=128))
    first: dict[bytes, int] = {}
    for at, _, frame in packets(folder / "c-host-1-eth0.pcapng"):
        if frame[IPV4_SOURCE] == ip_address("10.0.0.1").packed:
            first.setdefault(frame[UDP_SOURCE], at)
    return [at - min(first.values()) for at in first.values()]
