"""A link with a set delay, loss, duplication or reordering shows these figures."""

from collections.abc import Callable

import pytest

from nettrial.scenario import (
    Duration,
    Flow,
    Impairment,
    PacketCounts,
    PacketsTraffic,
    Record,
    RequestResponseTraffic,
    Scenario,
)
from tests.measuring import Attempt, Run

CONFIDENCE = 0.999
PACKETS = 20_000


def delays(scenario: Scenario, impairment: dict[str, object], delay: str = "1 ms") -> None:
    """Sets a delay and an impairment for the first link, and removes the delay of all others."""
    for link in scenario.links:
        link.delay = Duration("0 ns")
    scenario.links[0].delay = Duration(delay)
    scenario.links[0].impairment = Impairment.model_validate(impairment)


def lines_of(record: Record) -> dict[str, str]:
    """Returns the findings of the checks of delay lines, by link."""
    return {check.object: check.found for check in record.checks if check.name == "delay_line"}


@pytest.mark.measures
@pytest.mark.parametrize(
    ("delay_ms", "topology"),
    [
        (5, "routed"),
        pytest.param(20, "pair", marks=pytest.mark.slow),
        pytest.param(20, "switched", marks=pytest.mark.slow),
    ],
)
def test_the_round_trip_takes_the_delays_of_its_links(
    delay_ms: int, topology: str, resolve: Callable[..., Scenario], holds: Callable[[Attempt], None]
) -> None:
    scenario = resolve(
        network__topology=topology,
        network__delay=f"{delay_ms} ms",
        workload__probe__traffic__duration="1 s",
    )
    scenario.workload = scenario.workload[1:]
    scenario.measurement.cpu = []
    assert isinstance(scenario.workload[0].traffic.root, RequestResponseTraffic)
    holds(lambda run: takes(scenario, 2 * delay_ms * len(scenario.links) * 1000, run))


def takes(scenario: Scenario, expected_us: float, run: Run) -> None:
    """Checks that the probe's round trip takes this time."""
    record = run(scenario)
    probe = record.flows[0]
    # No round trip takes less. Most take little more, whatever else runs on the machine.
    assert expected_us <= probe.min_rtt_us <= expected_us * 1.02
    assert probe.rtt_us is not None
    assert expected_us <= probe.rtt_us.minimum
    assert probe.rtt_us.p50 <= expected_us * 1.05
    assert probe.srtt_us.p50 == pytest.approx(expected_us, rel=0.05)
    assert set(lines_of(record)) == {
        f"link {link.ends[0].node} - {link.ends[1].node}" for link in scenario.links
    }
    assert all(found.startswith("0 lost") for found in lines_of(record).values())


@pytest.mark.parametrize("mtu", ["1500", "9000"])
def test_path_mtu_and_connections_are_checked_before_frames_get_lost(
    mtu: str, resolve: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    scenario = resolve(mtu=mtu, workload__transfer__traffic__duration="1 s")
    scenario.workload = scenario.workload[:1]
    scenario.workload[0].traffic.root.size = None
    delays(scenario, {"loss": 0.05, "seed": 1})
    record = run(scenario)
    # Frames that leave late on a busy machine are not the subject of this test.
    assert {check.name for check in record.checks if not check.passed} <= {"delay_line"}
    assert record.flows[0].retransmissions_pkts > 0


def test_a_transfer_with_gso_packets_passes_a_delay_line(
    resolve: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    scenario = resolve(mtu="1500", workload__transfer__traffic__duration="500 ms")
    for node in scenario.nodes:
        assert node.offloads is not None
        node.offloads.tso = node.offloads.gso = node.offloads.gro = True
    scenario.workload = scenario.workload[:1]
    delays(scenario, {})
    scenario.measurement.packet_sizes = True
    record = run(scenario)
    assert record.flows[0].bytes > 1e6
    sizes = {(end.node, size.size_bytes) for end in record.ends for size in end.packet_sizes or []}
    assert any(node == "sender" and size > 1500 for node, size in sizes)


def packets(resolve: Callable[..., Scenario], impairment: dict[str, object]) -> Scenario:
    """Returns a scenario of 20 000 datagrams of 100 bytes, 100 us apart, over one link with this
    impairment."""
    scenario = resolve(network__topology="pair")
    traffic = {
        "kind": "packets",
        "size": {"distribution": "constant", "value": "100 B"},
        "gap": {"distribution": "constant", "value": "100 us"},
        "count": PACKETS,
    }
    flow = {"name": "packets", "from": "sender", "to": "receiver", "transport": "udp", "ip": 6}
    scenario.workload = [Flow.model_validate({**flow, "traffic": traffic})]
    assert isinstance(scenario.workload[0].traffic.root, PacketsTraffic)
    scenario.measurement.cpu = []
    delays(scenario, impairment)
    return scenario


def counts(run: Run, scenario: Scenario) -> PacketCounts:
    """Returns the packet counts of the first of three trials in which the delay line itself lost no frame.

    A delay line that waits long for its CPU, for example because other tests run, drops the frames that
    arrive meanwhile, and its check reports them."""
    for _ in range(3):
        record = run(scenario)
        packets = record.flows[0].packets
        assert packets is not None
        assert packets.sent_pkts == PACKETS
        lines = lines_of(record)
        assert len(lines) == 1
        if all(found.startswith("0 lost") for found in lines.values()):
            return packets
    raise AssertionError(lines)


def is_drawn(count: int, trials: int, probability: float) -> bool:
    from scipy.stats import binom  # imported only when needed: every worker loads this file

    low, high = binom.interval(CONFIDENCE, trials, probability)
    return bool(low <= count <= high)


def test_loss_is_as_set(resolve: Callable[..., Scenario], run: Callable[[Scenario], Record]) -> None:
    found = counts(run, packets(resolve, {"loss": 0.02, "seed": 5}))
    assert is_drawn(found.lost_pkts, PACKETS, 0.02), found
    # A burst of loss begins with a lost packet that follows one that arrived.
    assert is_drawn(found.loss_bursts, PACKETS, 0.02 * 0.98), found
    assert (found.reordered_pkts, found.duplicated_pkts) == (0, 0)


def test_duplication_is_as_set(resolve: Callable[..., Scenario], run: Callable[[Scenario], Record]) -> None:
    found = counts(run, packets(resolve, {"duplication": 0.05, "seed": 6}))
    assert is_drawn(found.duplicated_pkts, PACKETS, 0.05), found
    assert (found.lost_pkts, found.reordered_pkts, found.received_pkts) == (0, 0, PACKETS)


def test_reordering_is_as_set(resolve: Callable[..., Scenario], run: Callable[[Scenario], Record]) -> None:
    impairment = {"reordering": 0.03, "reordering_delay": "2 ms", "seed": 7}
    found = counts(run, packets(resolve, impairment))
    assert is_drawn(found.reordered_pkts, PACKETS, 0.03), found
    assert (found.lost_pkts, found.duplicated_pkts) == (0, 0)


@pytest.mark.measures
@pytest.mark.slow
def test_jitter_lies_between_the_delay_and_so_much_more(
    resolve: Callable[..., Scenario], holds: Callable[[Attempt], None]
) -> None:
    scenario = packets(resolve, {"jitter": "4 ms", "seed": 8})
    traffic = scenario.workload[0].traffic.root
    # The packets are further apart than the jitter, so that preserving their order changes no delay.
    traffic.count, traffic.gap.root.value.root = 400, "5 ms"
    holds(lambda run: is_even(scenario, run))


def is_even(scenario: Scenario, run: Run) -> None:
    """Checks that the one-way delays are uniformly distributed over 1 ms to 5 ms."""
    record = run(scenario)
    delay = record.flows[0].owd_us
    assert delay is not None
    assert delay.count == 400
    assert delay.minimum >= 1000
    # The bound is the critical value of the Kolmogorov-Smirnov test for this distribution, applied at three
    # percentiles.
    critical = 1.95 / 400**0.5
    for share, value in [(0.5, delay.p50), (0.9, delay.p90), (0.99, delay.p99)]:
        assert abs((value - 1000) / 4000 - share) < critical, (share, value)


def test_losses_in_bursts_have_their_share_and_length(
    resolve: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    enter, leave = 0.01, 0.2
    bursts = {"enter": enter, "leave": leave, "loss": 1.0}
    first, second = (counts(run, packets(resolve, {"bursts": bursts, "seed": seed})) for seed in (3, 3))
    # Trials with the same seed lose the same datagrams.
    for name in ("lost_pkts", "loss_bursts", "longest_loss_burst_pkts"):
        assert getattr(first, name) == getattr(second, name)
    # Gilbert's chain is in the bad state for 0.01 / 0.21 of the frames. The lengths of bad periods have a
    # geometric distribution with mean 5, which gives 190 bursts.
    share = enter / (enter + leave)
    number = PACKETS * share * leave
    assert first.loss_bursts is not None
    assert abs(first.loss_bursts - number) < 3.9 * number**0.5
    length = first.lost_pkts / first.loss_bursts
    assert abs(length - 1 / leave) < 3.9 * (1 - leave) ** 0.5 / leave / number**0.5
    # Twenty consecutive independent losses would take 10^26 datagrams.
    assert (first.longest_loss_burst_pkts or 0) >= 20


@pytest.mark.slow
def test_the_same_seed_loses_the_same_packets(
    resolve: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    first, second, other = (counts(run, packets(resolve, {"loss": 0.1, "seed": seed})) for seed in (1, 1, 2))
    assert (first.lost_pkts, first.loss_bursts, first.longest_loss_burst_pkts) == (
        second.lost_pkts,
        second.loss_bursts,
        second.longest_loss_burst_pkts,
    )
    assert first != other
