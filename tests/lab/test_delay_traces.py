"""Links whose delays follow traces: round-trip times are those of the table, in the simulator and in virtual
time exactly, and in the lab as well as its timers allow."""

from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from nettrial.backends import Backend
from nettrial.scenario import Capture, Record, Scenario
from tests.lab.captured import arrivals
from tests.lab.sandbox import PATIENCE
from tests.lab.test_rate_traces import kernel, simulator, study
from tests.measuring import Run, timers_now, until_it_holds

__all__ = ["kernel", "simulator"]

MS = 1_000_000
STEPS = ((0, 20), (760, 45), (1360, 25), (1560, 60))
"""The times and the delays of the trace, in milliseconds."""
END_MS = 2000
TABLE = "".join(f"{at} ms, {delay} ms\n" for at, delay in STEPS) + f"{END_MS} ms, end\n"
INTERVAL_NS, COUNT = 157 * MS, 30
"""With this interval, no frame of a request or a response leaves within 7 ms of a step, whether the first
request leaves at once or, as with a kernel, after a round trip that opens the flow."""
REQUESTS = {
    "kind": "request_response",
    "request": "1472 B",
    "response": "1000 B",
    "interval": "157 ms",
    "count": COUNT,
}
REQUEST_BYTES, RESPONSE_BYTES = 1514, 1042
SMALL_BYTES = 142
REQUEST_NS, RESPONSE_NS = (REQUEST_BYTES + 24) * 800, (RESPONSE_BYTES + 24) * 800
"""The transmission times of a request and of a response at 10 Mbit/s."""
EXACT = 1e-4
"""The largest error of a round-trip time in virtual time, of itself."""
LATE_NS = 500_000
"""The largest error of nine of ten round-trip times in the lab; its delay line counts what is later as
late."""


def traced(folder: Path, traffic: dict[str, Any], table: str = TABLE, **network: Any) -> Scenario:
    """Returns the scenario of a flow over a link of 10 Mbit/s whose delay follows a table."""
    (folder / "delay.csv").write_text(table)
    delay = {"trace": "delay.csv", "loop": "end" in table}
    return study(folder, "", traffic, rate="10 Mbit/s", delay=delay, queue="1000 packets", **network)


def captured(backend: Backend, scenario: Scenario, folder: Path) -> Record:
    folder.mkdir()
    return backend.run(
        "trial", scenario, PATIENCE, capture=Capture(directory=str(folder), name="trial", snap_bytes=64)
    )


def frames(folder: Path, host: str, length: int) -> list[int]:
    """Returns the times of all frames of that length at a host's interface, in nanoseconds."""
    return [at for at, found in arrivals(folder / f"trial-{host}-eth0.pcapng") if found == length]


def delay_ns(at_ns: int) -> int:
    """Returns the delay of a frame whose last bit leaves at that time of the trace."""
    at_ms = at_ns / MS % END_MS
    return next(delay for since, delay in reversed(STEPS) if since <= at_ms) * MS


def round_trip_ns(sent_ns: int) -> int:
    """Returns the round-trip time of a request whose transmission begins at that time of the trace."""
    leaves = sent_ns + REQUEST_NS
    arrives = leaves + delay_ns(leaves)
    return arrives + RESPONSE_NS + delay_ns(arrives + RESPONSE_NS) - sent_ns


def begins_ns(record: Record) -> int:
    """Returns the time at which a trial's traces begin."""
    return record.started_unix_ns + record.phases.network_ns + record.phases.checks_ns


def as_recorded(record: Record, expected: Sequence[int]) -> None:
    """Asserts that the round-trip times of a record are these, in nanoseconds, to within 0.01%."""
    [flow] = record.flows
    assert flow.rtt_us is not None
    found = [flow.rtt_us.minimum, flow.rtt_us.mean, flow.rtt_us.maximum]
    wanted = [min(expected), sum(expected) / len(expected), max(expected)]
    assert found == pytest.approx([each / 1000 for each in wanted], rel=EXACT)


def test_round_trip_times_in_the_simulator_are_those_of_the_table(simulator: Backend, tmp_path: Path) -> None:
    record = captured(simulator, traced(tmp_path, REQUESTS), tmp_path / "sim")
    sent = frames(tmp_path / "sim", "sender", REQUEST_BYTES)
    answered = frames(tmp_path / "sim", "sender", RESPONSE_BYTES)
    expected = [round_trip_ns(at) for at in sent]
    assert len(sent) == COUNT
    assert [later - earlier for earlier, later in zip(sent, answered, strict=True)] == expected
    assert len(set(expected)) == 4
    as_recorded(record, expected)


@pytest.mark.virtual
def test_round_trip_times_in_virtual_time_are_those_of_the_table(kernel: Backend, tmp_path: Path) -> None:
    record = captured(kernel, traced(tmp_path, REQUESTS), tmp_path / "virtual")
    assert record.warnings == []
    asked = [at - begins_ns(record) for at in frames(tmp_path / "virtual", "receiver", REQUEST_BYTES)]
    answered = [at - begins_ns(record) for at in frames(tmp_path / "virtual", "sender", RESPONSE_BYTES)]
    # Outgoing frames are captured when they arrive: those of the two hosts are twice as many.
    arrived = [answer + RESPONSE_NS + delay_ns(answer + RESPONSE_NS) for answer in asked]
    assert answered == pytest.approx(arrived, abs=EXACT * 20 * MS)
    first = asked[0] - REQUEST_NS - delay_ns(0)
    as_recorded(record, [round_trip_ns(first + number * INTERVAL_NS) for number in range(COUNT)])


@pytest.mark.virtual
@pytest.mark.parametrize("impairment", [{}, {"duplication": 1e-9}], ids=["wire", "delay line"])
def test_frames_in_virtual_time_stay_in_order_and_none_is_lost(
    kernel: Backend, tmp_path: Path, impairment: dict[str, float]
) -> None:
    table = "0, 60 ms\n50 ms, 71 ms\n90 ms, 44 ms\n120 ms, 44500 us\n160 ms, end\n"
    traffic = {"kind": "packets", "size": "100 B", "gap": "150 us", "duration": "400 ms"}
    scenario = traced(tmp_path, traffic, table, impairment=impairment)
    record = captured(kernel, scenario, tmp_path / "virtual")
    assert record.warnings == []
    [flow] = record.flows
    found = flow.packets
    assert found is not None
    assert found.received_pkts == found.sent_pkts > 2500
    assert (found.lost_pkts, found.duplicated_pkts, found.reordered_pkts) == (0, 0, 0)
    # The sender sleeps until each departure, and wakes at that very time.
    assert flow.pacing is not None
    assert flow.pacing.lateness_us.maximum == 0
    assert flow.owd_us is not None
    limits = [flow.owd_us.minimum, flow.owd_us.maximum]
    frame_ns = (SMALL_BYTES + 24) * 800
    assert limits == pytest.approx([(frame_ns + delay * MS) / 1000 for delay in (44, 71)], rel=EXACT)
    arrived = [at - begins_ns(record) for at in frames(tmp_path / "virtual", "receiver", SMALL_BYTES)]
    for at_ms, before_ms, after_ms in ((370, 60, 71), (440, 44, 44.5), (480, 44.5, 60)):
        # Where the delay rises, nothing arrives between the last frame with the old delay and the first with
        # the new one.
        begin, end = (round((at_ms + delay_ms) * MS) for delay_ms in (before_ms, after_ms))
        last, first = arrived[bisect_right(arrived, begin) - 1], arrived[bisect_right(arrived, begin)]
        assert begin - 200_000 < last < first
        assert end < first < end + 200_000


@pytest.mark.measures
@pytest.mark.slow
def test_round_trip_times_in_the_lab_are_those_of_the_table(lab: Backend, tmp_path: Path) -> None:
    count = 15
    scenario = traced(tmp_path, {**REQUESTS, "count": count})
    folders = [tmp_path / f"lab-{number}" for number in range(9)]

    def run(asked: Scenario) -> Record:
        return captured(lab, asked, next(folder for folder in folders if not folder.exists()))

    def attempt(run: Run) -> None:
        run(scenario)
        [*_, folder] = [folder for folder in folders if folder.exists()]
        sent, answered = (frames(folder, "sender", length) for length in (REQUEST_BYTES, RESPONSE_BYTES))
        assert len(sent) == count
        took = [later - earlier for earlier, later in zip(sent, answered, strict=True)]

        def explains(begins_ns: int) -> bool:
            errors = sorted(
                found - round_trip_ns(at - begins_ns) for found, at in zip(took, sent, strict=True)
            )
            return errors[0] >= -LATE_NS and errors[count * 9 // 10] <= LATE_NS

        # The record does not say when the trace began: at some time before the first request.
        assert any(explains(sent[0] - before_ms * MS) for before_ms in range(300))

    until_it_holds(run, attempt, timers_now)
