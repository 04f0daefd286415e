"""Delays of links that follow traces: the files, the studies and the simulator."""

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from nettrial.backends import Backend
from nettrial.capabilities import CAPABILITIES
from nettrial.design import scenario_of
from nettrial.errors import BadInput
from nettrial.report.topology import draw
from nettrial.scenario import Capture, Scenario
from nettrial.study import load
from nettrial.study.delay_trace import read
from nettrial.study.trace_file import TraceError
from tests.lab.captured import arrivals
from tests.unit.test_rate_trace import study as study_of_rate

MS = 1_000_000
FULL_FRAME_BYTES = 1514
FRAME_NS = 1538 * 8 * 100
"""The transmission time of a full frame at 10 Mbit/s, in nanoseconds."""
TABLE = "0, 20 ms\n0.5 s, 31 ms\n1 s, 4 ms  # nearer\n1.2 s, 25.5 ms\n1.5 s, end\n"
Steps = Sequence[tuple[float, float]]
"""The times and the delays of a trace, in milliseconds."""
STEPS: Steps = ((0, 20), (500, 31), (1000, 4), (1200, 25.5))
END_MS = 1500


@pytest.fixture(scope="module")
def simulator() -> Iterator[Backend]:
    with Backend("sim") as started:
        yield started


def trace(folder: Path, text: str) -> Any:
    (folder / "delay.csv").write_text(text)
    return read(folder, "delay.csv")


def test_a_table_has_times_and_delays(tmp_path: Path) -> None:
    found = trace(tmp_path, "# handovers\n0, 20 ms\n\n1.5 s,0  # none\n2 s, 600 us\n10 s, end\n")
    assert found.from_ns == (0, 1500 * MS, 2000 * MS)
    assert found.delays_ns == (20 * MS, 0, 600_000)
    assert found.ends_ns == 10_000 * MS
    assert trace(tmp_path, "0, 20 ms\n").ends_ns is None


@pytest.mark.parametrize(
    ("text", "found", "expected"),
    [
        ("", "has no lines", "a table with lines"),
        ("20\n", "delay.csv:1: '20'", "a number and one of ns, us, ms, s"),
        ("0\n", "delay.csv:1: ''", "a number and one of ns, us, ms, s"),
        ("0, 20 ms\n0 s, 2 ms\n", "delay.csv:2: '0 s'", "a later time"),
        ("1 s, 20 ms\n", "delay.csv:1: '1 s'", "0 as the first time"),
        ("0, far\n", "delay.csv:1: 'far'", "a number and one of ns, us, ms, s"),
        ("0, 10 Mbit/s\n", "delay.csv:1: '10 Mbit/s'", "a number and one of ns, us, ms, s"),
        ("0, -1 ms\n", "delay.csv:1: '-1 ms'", "a number and one of ns, us, ms, s"),
        ("0, 86401 s\n", "delay.csv:1: '86401 s'", "a delay of up to a day"),
        ("0, 1 ms\n86401 s, 2 ms\n", "delay.csv:2: '86401 s'", "up to a day"),
        ("# the end\n0, end\n", "delay.csv:2: '0, end'", "a delay before the line with `end`"),
        ("0, 1 ms\n5 s, end\n6 s, 1 ms\n", "delay.csv:3: '6 s, 1 ms'", "nothing after"),
    ],
)
def test_what_is_no_trace_is_refused_with_its_line(
    tmp_path: Path, text: str, found: str, expected: str
) -> None:
    with pytest.raises(TraceError) as refused:
        trace(tmp_path, text)
    assert found in str(refused.value)
    assert expected in refused.value.expected


def study(folder: Path, text: str, loop: bool = False, **network: Any) -> Path:
    """Writes a study of UDP packets over a link of 10 Mbit/s whose delay follows that trace."""
    (folder / "delay.csv").write_text(text)
    mtu = {"title": "MTU", "sets": "network.mtu", "levels": ["1500 B"]}
    file = study_of_rate(folder, "10 Mbit/s", mtu=mtu)
    data = json.loads(file.read_text())
    delay = {"trace": "delay.csv", "loop": loop}
    data["network"].update({"delay": delay, "queue": "1000 packets", **network})
    data["workload"][0]["traffic"].update({"gap": "1300 us", "duration": "2.2 s"})
    file.write_text(json.dumps(data))
    return file


def scenario(file: Path) -> Scenario:
    return scenario_of(load(str(file)), {"mtu": "1500 B"})


def passed(backend: Backend, made: Scenario, folder: Path) -> tuple[list[int], list[int]]:
    """Returns the times at which full frames leave the sender and reach the receiver."""
    capture = Capture(directory=str(folder), name="trial", snap_bytes=64)
    backend.run("trial", made, 60, capture=capture)
    sent, received = (
        [at for at, length in arrivals(folder / f"trial-{host}-eth0.pcapng") if length == FULL_FRAME_BYTES]
        for host in ("sender", "receiver")
    )
    return sent, received


def expected(sent: list[int], steps: Steps, end_ms: float | None) -> list[int]:
    """Returns the arrivals of frames by the definition: each takes the delay that is in force when its last
    bit leaves, and none arrives before the one in front of it."""
    found: list[int] = []
    for at in sent:
        leaves = at + FRAME_NS
        of_trace = leaves % round(end_ms * MS) if end_ms else leaves
        delay_ms = next(delay for since, delay in reversed(steps) if since * MS <= of_trace)
        found.append(max([leaves + round(delay_ms * MS), *found[-1:]]))
    return found


@pytest.mark.parametrize("loop", [True, False])
def test_a_frame_takes_the_delay_in_force_when_it_leaves(
    tmp_path: Path, loop: bool, simulator: Backend
) -> None:
    sent, received = passed(simulator, scenario(study(tmp_path, TABLE, loop)), tmp_path)
    assert len(sent) == len(received) > 1600
    assert received == expected(sent, STEPS, END_MS if loop else None)
    # Where the delay falls, frames wait for those in front of them, and arrive together.
    assert len(set(received)) < len(received)


def test_frames_stay_in_order_and_none_is_lost_whatever_the_delay_does(
    tmp_path: Path, simulator: Backend
) -> None:
    chance = random.Random(3)
    steps = [(at_ms, chance.choice((0, 1, 7, 40, 200))) for at_ms in range(0, 1500, 3)]
    text = "".join(f"{at_ms} ms, {delay_ms} ms\n" for at_ms, delay_ms in steps)
    sent, received = passed(simulator, scenario(study(tmp_path, text)), tmp_path)
    assert len(sent) == len(received)
    assert received == sorted(received) == expected(sent, steps, None)


def test_a_failing_link_loses_what_is_on_it(tmp_path: Path, simulator: Backend) -> None:
    file = study(
        tmp_path, TABLE, events=[{"at": "600 ms", "fails": ["sender", "receiver"], "returns": "800 ms"}]
    )
    sent, received = passed(simulator, scenario(file), tmp_path)
    arriving = expected(sent, STEPS, None)
    assert received == [
        arrives
        for left, arrives in zip(sent, arriving, strict=True)
        if arrives < 600 * MS or left >= 800 * MS
    ]


def test_the_smallest_delay_stands_for_the_link(tmp_path: Path) -> None:
    for loop, repeats in ((True, 1500 * MS), (False, None)):
        [link] = scenario(study(tmp_path, TABLE, loop)).links
        assert link.delay is not None
        assert link.delay.root == "4 ms"
        assert link.delay_trace is not None
        assert link.delay_trace.repeats_after_ns == repeats


def test_each_direction_can_follow_a_trace_of_its_own(tmp_path: Path) -> None:
    traced = {"trace": "delay.csv"}
    for forward, reverse, found in (
        ("9 ms", traced, (None, ("4 ms", True))),
        (traced, "9 ms", (True, ("9 ms", None))),
        (traced, "4 ms", (True, ("4 ms", None))),
    ):
        links = {"host": {"delay": forward, "reverse": {"delay": reverse}}}
        [link] = scenario(study(tmp_path, TABLE, links=links)).links
        assert link.reverse is not None
        assert link.reverse.delay is not None
        traces = [own and True for own in (link.delay_trace, link.reverse.delay_trace)]
        assert (traces[0], (link.reverse.delay.root, traces[1])) == found


def test_the_picture_of_the_network_has_the_range_of_delays(tmp_path: Path) -> None:
    read = load(str(study(tmp_path, TABLE)))
    drawing = draw(read, scenario_of(read, {"mtu": "1500 B"}))
    assert "10 Mbit/s, 4 ms to 31 ms" in str(drawing)


def test_traces_are_levels_of_a_factor(tmp_path: Path) -> None:
    (tmp_path / "near.csv").write_text("0, 1 ms\n")
    (tmp_path / "far.csv").write_text("0, 9 ms\n")
    (tmp_path / "rate.csv").write_text("0, 9 Mbit/s\n")
    file = study(tmp_path, TABLE)
    data = json.loads(file.read_text())
    near = {"network.links.host": {"delay": {"trace": "near.csv"}, "rate": {"trace": "rate.csv"}}}
    sets = {"near": near, "far": {"network.delay": {"trace": "far.csv"}}}
    data["factors"] = {"link": {"title": "Link", "sets": sets, "levels": ["near", "far"]}}
    file.write_text(json.dumps({**data, "layout": {"rows": "link"}}))
    links = [scenario_of(load(str(file)), {"link": level}).links[0] for level in ("near", "far")]
    assert [link.delay_trace and link.delay_trace.delays_ns for link in links] == [[MS], [9 * MS]]
    assert [link.rate_trace is not None for link in links] == [True, False]


def test_a_bad_line_is_an_error_of_the_study(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"study.yaml:1: network.delay.trace: delay.csv:2: 'far'"):
        load(str(study(tmp_path, "0, 1 ms\n1 s, far\n")))


def test_a_trace_without_an_end_does_not_begin_again(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"delay.loop: true\n.*has no end"):
        load(str(study(tmp_path, "0, 5 ms\n", loop=True)))


def test_other_backends_refuse_traces(tmp_path: Path) -> None:
    made = scenario(study(tmp_path, TABLE))
    for name in CAPABILITIES:
        follows = "delay_trace" in {setting.root for setting in CAPABILITIES[name].settings}
        assert follows == (name in ("lab", "sim", "virtual"))
    with Backend("fluid") as backend:
        problems = backend.check(made)
    assert any("delay_trace" in str(problem) for problem in problems)
