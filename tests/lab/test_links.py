"""Observations on the links: packet sizes, queue lengths, fragments, refused datagrams."""

from collections.abc import Callable

import pytest

from nettrial.scenario import Check, Duration, Flow, InterfaceRecord, Record, Scenario


def interface_of(record: Record, node: str, interface: str = "eth0") -> InterfaceRecord:
    return next(found for found in record.ends if (found.node, found.interface) == (node, interface))


def sizes_of(interface: InterfaceRecord) -> dict[int, int]:
    assert interface.packet_sizes is not None
    return {size.size_bytes: size.packets for size in interface.packet_sizes}


def test_packets_are_counted_by_the_size_they_have_on_the_wire(
    resolve: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    scenario = resolve(mtu="1500", workload__transfer__traffic__duration="300 ms")
    scenario.workload = scenario.workload[:1]
    scenario.workload[0].traffic.root.size = None
    scenario.measurement.packet_sizes = True
    record = run(scenario)
    assert {absence.metric for absence in record.absent} <= {"cpu", "service_demand"}
    sent = sizes_of(interface_of(record, "sender"))
    assert max(sent) == 1500
    # A full segment has 1428 bytes, and almost the whole payload is in full segments.
    assert sent[1500] * 1428 == pytest.approx(record.flows[0].bytes, rel=0.01)
    # Acknowledgments without data consist of the IPv6 header and the TCP header with timestamps.
    back = sizes_of(interface_of(record, "receiver"))
    assert back[40 + 20 + 12] > 0.9 * sum(back.values())
    # The router forwards all packets that arrive.
    assert sizes_of(interface_of(record, "router", "eth1"))[1500] == sent[1500]
    assert sum(sent.values()) == pytest.approx(interface_of(record, "sender").frames_pkts, abs=20)


def test_packets_of_a_link_without_a_rate_are_counted_too(
    resolve: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    scenario = resolve(mtu="1500", workload__probe__traffic__duration="300 ms")
    scenario.workload = scenario.workload[1:]
    for link in scenario.links:
        link.rate = link.queue = None
    scenario.measurement.packet_sizes = True
    record = run(scenario)
    assert [(interface.node, interface.interface) for interface in record.ends] == [
        ("sender", "eth0"),
        ("receiver", "eth0"),
        ("router", "eth0"),
        ("router", "eth1"),
    ]
    sender = interface_of(record, "sender")
    assert sum(sizes_of(sender).values()) == sender.frames_pkts
    # Requests and answers have 64 bytes behind the IPv6 header and the TCP header with timestamps.
    requests = sizes_of(sender)[64 + 72]
    assert requests == sizes_of(interface_of(record, "receiver"))[64 + 72] > 10


def test_the_queue_is_long_before_the_bottleneck_and_empty_elsewhere(
    resolve: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    scenario = resolve(mtu="1500", workload__transfer__traffic__duration="1 s")
    scenario.workload = scenario.workload[:1]
    scenario.workload[0].traffic.root.size = None
    # The transfer fills the router's queue to the receiver.
    scenario.links[1].rate.root = "50 Mbit/s"  # type: ignore[union-attr]
    scenario.links[1].queue.root = "100 packets"  # type: ignore[union-attr]
    scenario.measurement.queue_drops.root = "allowed"
    scenario.measurement.queue_interval = Duration("5 ms")
    record = run(scenario)
    full, empty = interface_of(record, "router", "eth1"), interface_of(record, "receiver")
    assert full.queue_pkts is not None
    assert full.queue_bytes is not None
    assert empty.queue_pkts is not None
    assert full.queue_pkts.count == full.queue_bytes.count > 50
    assert 50 < full.queue_pkts.maximum <= 101
    assert full.queue_bytes.maximum <= 101 * 1538
    assert full.queue_pkts.mean > 10 * empty.queue_pkts.mean


def fragments(record: Record) -> dict[str, Check]:
    return {check.object: check for check in record.checks if check.name == "fragmentation"}


def test_a_transfer_makes_no_fragments(
    resolve: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    record = run(resolve(mtu="9000", workload__transfer__traffic__duration="200 ms"))
    assert {name: check.found for name, check in fragments(record).items()} == dict.fromkeys(
        ["sender", "router", "receiver"], "none"
    )


def datagrams(resolve: Callable[..., Scenario], size: str) -> Scenario:
    scenario = resolve(mtu="1500")
    traffic = {
        "kind": "packets",
        "size": {"distribution": "constant", "value": size},
        "gap": {"distribution": "constant", "value": "1 ms"},
        "count": 200,
    }
    flow = {"name": "packets", "from": "sender", "to": "receiver", "transport": "udp", "ip": 6}
    scenario.workload = [Flow.model_validate({**flow, "traffic": traffic})]
    scenario.measurement.packet_sizes = True
    return scenario


def test_datagrams_above_the_path_mtu_are_expected_in_fragments(
    resolve: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    record = run(datagrams(resolve, "4000 B"))
    found = fragments(record)
    assert {check.expected for check in found.values()} == {"fragments"}
    assert all(check.passed for check in found.values())
    # The UDP header and payload have 4008 bytes. Fragments carry 1448 of them: 1500 less 40 and 8 bytes of
    # headers, rounded down to a multiple of 8. The start and the end of the flow may send a few more
    # fragments.
    made = int(found["sender"].found.split()[0])
    assert 600 <= made <= 660
    assert f"{made} arrived" in found["receiver"].found
    sent = sizes_of(interface_of(record, "sender"))
    assert sent[1448 + 48] == 2 * sent[4008 - 2 * 1448 + 48] == 2 * made / 3
    assert "fragmentation" not in {warning.code for warning in record.warnings}


@pytest.mark.parametrize(
    ("ip", "mtu", "size", "fragments"),
    [
        # Over IPv4, the last fragment fills the MTU, and the others carry a multiple of 8 bytes.
        ("4", "9000", 35_900, [8996, 8996, 8996, 9000]),
        # Over IPv6, the last fragment is no larger than the others.
        ("6", "9004", 17_900, [9000, 9000, 52]),
    ],
)
def test_fragments_are_those_that_the_flow_reports(
    ip: str,
    mtu: str,
    size: int,
    fragments: list[int],
    resolve: Callable[..., Scenario],
    run: Callable[[Scenario], Record],
) -> None:
    scenario = resolve(mtu=mtu, network__ip=ip)
    scenario.workload = datagrams(resolve, f"{size} B").workload
    scenario.workload[0].ip.root = int(ip)
    scenario.measurement.packet_sizes = True
    record = run(scenario)
    sent = sizes_of(interface_of(record, "sender"))
    assert {bytes_ for bytes_ in sent if bytes_ > 1500} == set(fragments) - {52}
    assert sent[max(fragments)] / fragments.count(max(fragments)) >= 200
    assert sent[fragments[0]] / sent[fragments[-1]] == fragments.count(fragments[0])
    assert record.flows[0].ip_bytes == 200 * sum(fragments)


def test_datagrams_that_fit_make_none(
    resolve: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    record = run(datagrams(resolve, "1400 B"))
    assert {check.found for check in fragments(record).values()} == {"none"}
    assert 200 <= sizes_of(interface_of(record, "sender"))[1400 + 8 + 40] <= 220


@pytest.mark.parametrize("ip", ["4", "6"])
def test_mptcp_uses_both_of_two_links(
    ip: str, resolve: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    scenario = resolve(
        mtu="1500",
        network__ip=ip,
        network__topology="parallel",
        network__rate="50 Mbit/s",
        workload__transfer__traffic__duration="2 s",
    )
    scenario.workload = scenario.workload[:1]
    scenario.workload[0].traffic.root.size = None
    scenario.workload[0].transport.root = "mptcp"
    record = run(scenario)
    wire_bytes = {
        interface.interface: interface.wire_bytes for interface in record.ends if interface.node == "sender"
    }
    assert set(wire_bytes) == {"eth0", "eth1"}
    assert min(wire_bytes.values()) > 0.5 * max(wire_bytes.values())
    assert (record.flows[0].goodput_bps or 0.0) > 60e6
    assert len(record.flows[0].subflows) == 2
