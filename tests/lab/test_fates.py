"""The same seed loses the same frames in virtual time as in the simulator."""

from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path

import pytest

from nettrial.backends import BACKENDS, Backend, Configuration, find_kernel
from nettrial.scenario import Capture, Scenario
from tests.lab.captured import packets
from tests.lab.lacking import lacking
from tests.lab.test_rate_traces import study

pytestmark = pytest.mark.virtual
TRAFFIC = {
    "tcp": {"kind": "transfer", "duration": "1 s"},
    "udp": {"kind": "packets", "size": "200 B", "gap": "500 us", "duration": "500 ms"},
}
IPV4_PROTOCOL = 23
"""The place of the protocol in a frame with IPv4."""
IPV4_SOURCE = slice(26, 30)
PROTOCOLS = {"tcp": 6, "udp": 17}
ENDS = ("sender", "receiver")
IN_FLIGHT = 20
"""The most frames on the link at the end of the traffic."""


@pytest.fixture(scope="module")
def backends() -> Iterator[tuple[Backend, Backend]]:
    """Yields a backend in virtual time, and the simulator."""
    if find_kernel() is None:
        lacking("no kernel in virtual time here: `make virtual` builds one")
    with BACKENDS["virtual"].start(Configuration()) as kernel, Backend("sim") as simulator:
        yield kernel, simulator


def losses(
    backend: Backend, scenario: Scenario, folder: Path, transport: str
) -> dict[str, tuple[int, list[int]]]:
    """Returns for each host the number of frames of a transport that it sends, and the places among them of
    those that the link loses."""
    folder.mkdir()
    backend.run("trial", scenario, 120, capture=Capture(directory=str(folder), name="trial", snap_bytes=128))
    captured = [
        [
            frame
            for _, _, frame in packets(folder / f"trial-{end}-eth0.pcapng")
            if frame[IPV4_PROTOCOL] == PROTOCOLS[transport]
        ]
        for end in ENDS
    ]
    found = {}
    for sending, end in enumerate(ENDS):
        address = f"10.0.0.{sending + 1}"
        sent, received = (
            [frame for frame in frames if frame[IPV4_SOURCE] == ip_address(address).packed]
            for frames in (captured[sending], captured[1 - sending])
        )
        # The last frame of a connection that was checked before may arrive after the capture's beginning.
        arriving = iter([frame for frame in received if frame in sent])
        awaited = next(arriving, None)
        lost = []
        for place, frame in enumerate(sent):
            if frame == awaited:
                awaited = next(arriving, None)
            else:
                lost.append(place)
        assert awaited is None, "frames arrive in their order"
        found[end] = (len(sent), lost)
    return found


@pytest.mark.parametrize("transport", TRAFFIC)
def test_the_same_frames_are_lost_as_in_the_simulator(
    transport: str, backends: tuple[Backend, Backend], tmp_path: Path
) -> None:
    settings = {"rate": "10 Mbit/s", "impairment": {"loss": "3%"}, "queue": "50 packets"}
    scenario = study(tmp_path, "0, 1 Mbit/s\n", TRAFFIC[transport], **settings)
    kernel, simulator = (
        losses(backend, scenario, tmp_path / backend.name, transport) for backend in backends
    )
    for end in ENDS if transport == "tcp" else ENDS[:1]:
        (sent, found), (simulated, expected) = kernel[end], simulator[end]
        # The last frames may not arrive before the capture's end.
        compared = min(sent, simulated) - IN_FLIGHT
        before = [[place for place in lost if place < compared] for lost in (found, expected)]
        assert before[0] == before[1], end
        assert len(before[0]) >= 9


def test_frames_that_are_held_back_delay_no_others(backends: tuple[Backend, Backend], tmp_path: Path) -> None:
    impairment = {"reordering": "5%", "reordering_delay": "2 ms"}
    traffic = {"kind": "packets", "size": "100 B", "gap": "150 us", "duration": "400 ms"}
    scenario = study(tmp_path, "", traffic, rate="10 Mbit/s", delay="0 ms", impairment=impairment)
    found = []
    for backend in backends:
        record = backend.run("trial", scenario, 120)
        [flow] = record.flows
        assert record.warnings == []
        assert flow.packets is not None
        assert flow.packets.reordered_pkts > 100
        assert flow.owd_us is not None
        found.append((flow.owd_us.minimum, flow.owd_us.p50, flow.owd_us.p90, flow.owd_us.maximum))
    kernel, simulated = found
    assert kernel == pytest.approx(simulated, abs=0.1)
