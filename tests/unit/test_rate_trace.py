"""Rates of links that follow traces: the files, the studies and the simulator."""

import json
from pathlib import Path
from typing import Any

import pytest

from nettrial.backends import Backend
from nettrial.design import scenario_of
from nettrial.errors import BadInput
from nettrial.study import load
from nettrial.study.rate_trace import PACKET_WIRE_BYTES, TraceError, read

MS = 1_000_000
PACKET_BPS = PACKET_WIRE_BYTES * 8 * 1000
"""The rate at which a packet takes a millisecond."""


def trace(folder: Path, text: str) -> Any:
    (folder / "link.trace").write_text(text)
    return read(folder, "link.trace")


def test_each_line_of_mahimahi_carries_a_packet(tmp_path: Path) -> None:
    found = trace(tmp_path, "0\n2\n2\n6\n")
    assert found.from_ns == (0, MS, 2 * MS, 5 * MS)
    assert found.rates_bps == (PACKET_BPS, 2 * PACKET_BPS, 0, PACKET_BPS)
    assert found.ends_ns == 6 * MS


def test_equal_rates_of_mahimahi_are_one_step(tmp_path: Path) -> None:
    found = trace(tmp_path, "".join(f"{ms}\n" for ms in range(1, 1001)))
    assert (found.from_ns, found.rates_bps, found.ends_ns) == ((0,), (PACKET_BPS,), 1000 * MS)


def test_a_table_has_times_and_rates(tmp_path: Path) -> None:
    found = trace(tmp_path, "# seconds\n0, 10 Mbit/s\n\n1.5 s,0  # a handover\n2 s, 20 Mbit/s\n10 s, end\n")
    assert found.from_ns == (0, 1500 * MS, 2000 * MS)
    assert found.rates_bps == (10_000_000, 0, 20_000_000)
    assert found.ends_ns == 10_000 * MS


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "has no lines"),
        ("1\n3\n2\n", "link.trace:3: 2 after 3"),
        ("1\n-2\n", "link.trace:2: '-2'"),
        ("1\n2.5\n", "link.trace:2: '2.5'"),
        ("0\n", "link.trace:1: the last is 0"),
        ("86400001\n", "link.trace:1: 86400001"),
        ("1 s, 1 Mbit/s\n", "link.trace:1: '1 s'"),
        ("0 s, 1 Mbit/s\n0 s, 2 Mbit/s\n", "link.trace:2: '0 s'"),
        ("0 s, fast\n", "link.trace:1: 'fast'"),
        ("0 s, 1 Mbit/s\n5 s\n", "link.trace:2: ''"),
        ("0 s, 0\n5 s, end\n", "no rate above 0"),
        ("0 s, 1 Mbit/s\n5 s, end\n6 s, 1 Mbit/s\n", "link.trace:3: '6 s, 1 Mbit/s'"),
    ],
)
def test_what_is_no_trace_is_refused_with_its_line(tmp_path: Path, text: str, found: str) -> None:
    with pytest.raises(TraceError) as refused:
        trace(tmp_path, text)
    assert found in str(refused.value)
    assert refused.value.expected


def test_a_file_elsewhere_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("1\n")
    (tmp_path / "study").mkdir()
    with pytest.raises(TraceError, match="outside the directory"):
        read(tmp_path / "study", "../secret")


def study(folder: Path, rate: Any, **factors: Any) -> Path:
    """Writes a study of UDP packets at 40 Mbit/s over a link with that rate."""
    size = {"size": "1472 B", "gap": "307600 ns", "duration": "2 s"}
    data = {
        "study": "traced",
        "title": "A traced link",
        "question": "How many packets does it carry?",
        "backend": "sim",
        "replicates": 1,
        "full_replicates": 1,
        "warmup": 0,
        "network": {
            "topology": "pair",
            "ip": 4,
            "rate": rate,
            "delay": "5 ms",
            "queue": "10 packets",
            "mtu": "1500 B",
        },
        "hosts": {"sender": {"stack": "linux-cubic"}, "receiver": {"stack": "linux-cubic"}},
        "workload": [
            {
                "flow": "packets",
                "from": "sender",
                "to": "receiver",
                "transport": "udp",
                "traffic": {"kind": "packets", **size},
            }
        ],
        "measurement": {"interval": "100 ms", "queue_drops": "allowed"},
        "factors": factors or {"delay": {"title": "Delay", "sets": "network.delay", "levels": ["5 ms"]}},
        "responses": [
            {"name": "rate", "title": "Rate", "metric": "goodput", "of": "packets", "unit": "Mbit/s"}
        ],
        "layout": {"rows": next(iter(factors), "delay")},
    }
    (folder / "study.yaml").write_text(json.dumps(data))
    return folder / "study.yaml"


def received(file: Path, **levels: str) -> int:
    """Returns the number of packets that arrived in the simulator."""
    read = load(str(file))
    with Backend("sim") as backend:
        record = backend.run("trial", scenario_of(read, levels or {"delay": "5 ms"}), None)
    [flow] = record.flows
    assert flow.packets is not None
    return flow.packets.received_pkts


TABLE = "0, 10 Mbit/s\n0.5 s, 0\n1 s, 20 Mbit/s\n1.5 s, 5 Mbit/s\n2 s, end\n"
BITS = 17_500_000
"""The bits that a link with the rates of that table carries in 2 s."""


def test_a_link_carries_what_its_trace_says(tmp_path: Path) -> None:
    (tmp_path / "link.csv").write_text(TABLE)
    carried = BITS / (PACKET_WIRE_BYTES * 8)
    found = received(study(tmp_path, {"trace": "link.csv", "loop": True}))
    # What the queue holds at the end is carried afterwards, at 10 Mbit/s again.
    assert carried - 1 <= found <= carried + 12


def test_a_trace_has_a_mean_and_a_last_rate(tmp_path: Path) -> None:
    (tmp_path / "link.csv").write_text(TABLE)
    for loop, rate, repeats in ((True, "8.75 Mbit/s", 2_000_000_000), (False, "5 Mbit/s", None)):
        file = study(tmp_path, {"trace": "link.csv", "loop": loop})
        [link] = scenario_of(load(str(file)), {"delay": "5 ms"}).links
        assert link.rate is not None
        assert link.rate.root == rate
        assert link.rate_trace is not None
        assert link.rate_trace.repeats_after_ns == repeats


def test_traces_are_levels_of_a_factor(tmp_path: Path) -> None:
    (tmp_path / "slow.csv").write_text("0, 5 Mbit/s\n")
    (tmp_path / "fast.csv").write_text("0, 10 Mbit/s\n")
    sets = {name: {"network.rate": {"trace": f"{name}.csv"}} for name in ("slow", "fast")}
    link = {"title": "Link", "sets": sets, "levels": ["slow", "fast"]}
    file = study(tmp_path, "1 Gbit/s", link=link)
    slow, fast = (received(file, link=level) for level in ("slow", "fast"))
    assert fast == pytest.approx(2 * slow, abs=12)


def test_a_trace_without_an_end_does_not_begin_again(tmp_path: Path) -> None:
    (tmp_path / "link.csv").write_text("0, 5 Mbit/s\n")
    with pytest.raises(BadInput, match=r"rate.loop: true\n.*has no end"):
        load(str(study(tmp_path, {"trace": "link.csv", "loop": True})))


def test_a_trace_that_ends_begins_again(tmp_path: Path) -> None:
    (tmp_path / "link.csv").write_text("0, 5 Mbit/s\n1 s, 0\n")
    with pytest.raises(BadInput, match="ends without a rate"):
        load(str(study(tmp_path, {"trace": "link.csv"})))


def test_other_backends_refuse_traces(tmp_path: Path) -> None:
    (tmp_path / "link.csv").write_text("0, 5 Mbit/s\n")
    scenario = scenario_of(load(str(study(tmp_path, {"trace": "link.csv"}))), {"delay": "5 ms"})
    with Backend("fluid") as backend:
        problems = backend.check(scenario)
    assert any("rate_trace" in str(problem) for problem in problems)
