"""Checks before and during the traffic find the actual state of the network."""

from collections.abc import Callable
from pathlib import Path

import pytest

from nettrial.backends import Backend
from nettrial.scenario import Check, Record, Scenario

SHORT = "200 ms"


def outcomes(record: Record, name: str) -> list[str]:
    return [check.found for check in record.checks if check.name == name]


def failed(record: Record) -> list[Check]:
    return [check for check in record.checks if not check.passed]


@pytest.mark.parametrize(
    ("sender", "receiver", "congestion_control", "mss", "options"),
    [
        ("linux-cubic", "linux-cubic", "cubic", 8928, "timestamps, sack, window_scaling"),
        ("linux-bbr", "linux-cubic", "bbr", 8928, "timestamps, sack, window_scaling"),
        ("linux-reno", "linux-cubic", "reno", 8928, "timestamps, sack, window_scaling"),
        ("classic", "linux-cubic", "reno", 8940, ""),
        ("linux-cubic", "classic", "cubic", 8940, ""),
    ],
)
def test_a_stack_is_in_force(
    sender: str,
    receiver: str,
    congestion_control: str,
    mss: int,
    options: str,
    resolve: Callable[..., Scenario],
    run: Callable[[Scenario], Record],
) -> None:
    record = run(
        resolve(mtu="9000", sender=sender, receiver=receiver, workload__transfer__traffic__duration=SHORT)
    )
    assert failed(record) == []
    assert record.flows[0].congestion_control == congestion_control
    assert record.flows[0].mss_bytes == mss
    assert set(outcomes(record, "mss")) == {f"{mss} B"}
    assert set(outcomes(record, "tcp_options")) == {options}


def test_sysctls_of_a_host_are_in_force_in_its_namespace_alone(
    resolve: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    name = "net.ipv4.tcp_slow_start_after_idle"
    here = Path("/proc/sys", *name.split(".")).read_text()
    scenario = resolve(workload__transfer__traffic__duration=SHORT)
    scenario.nodes[0].sysctls = {name: "0", "net.ipv4.tcp_rmem": "4096 131072 67108864"}
    record = run(scenario)
    assert outcomes(record, "sysctl") == ["4096 131072 67108864", "0"]
    assert [check.object for check in record.checks if check.name == "sysctl"][1] == f"sender {name}"
    assert failed(record) == []
    assert Path("/proc/sys", *name.split(".")).read_text() == here


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("net.core.rmem_max", "1000000", "a sysctl that each network namespace has"),
        ("net.ipv4.nonesuch", "1", "a sysctl of this kernel"),
        ("net.ipv4.tcp_rmem", "a b", "a value that the kernel takes"),
        ("net.ipv4", "1", "a sysctl of this kernel"),
    ],
)
def test_a_sysctl_that_no_namespace_has_is_refused(
    name: str, value: str, expected: str, lab: Backend, resolve: Callable[..., Scenario]
) -> None:
    scenario = resolve()
    scenario.nodes[0].sysctls = {name: value}
    (problem,) = lab.check(scenario)
    assert (problem.pointer, problem.expected) == (f"/nodes/0/sysctls/{name}", expected)


def test_a_window_is_in_force_in_both_directions(
    resolve: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    settings = {"workload__transfer__traffic__duration": SHORT}
    record = run(resolve(workload__transfer__socket__window="64 KiB", **settings))
    flow = record.flows[0]
    assert failed(record) == []
    room = "send buffer 65536 B, receive buffer 65536 B, window up to 65536 B, scaled by 1 bits"
    assert outcomes(record, "window").count(room) == 2
    assert flow.peer_window_bytes is not None
    assert flow.peer_window_bytes <= 65_536
    # The goodput is at most one window for each round trip.
    assert flow.goodput_bps is not None
    assert flow.goodput_bps <= 65_536 * 8 / (flow.min_rtt_us / 1e6)
    free = run(resolve(**settings))
    assert failed(free) == []
    assert room not in outcomes(free, "window")
    assert free.flows[0].peer_window_bytes is not None


def test_the_smallest_mtu_on_the_way_is_found(
    resolve: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    scenario = resolve(mtu="9000", workload__transfer__traffic__duration=SHORT)
    for end in scenario.links[1].ends:
        end.mtu.root = "2000 B"
    record = run(scenario)
    assert set(outcomes(record, "path_mtu")) == {"2000 B"}
    assert record.flows[0].mss_bytes == 2000 - 40 - 20 - 12
    assert failed(record) == []


@pytest.mark.parametrize("ip", ["4", "6"])
@pytest.mark.parametrize(("icmp", "mtu"), [("answered", 1500), ("filtered", 9000)])
def test_a_sender_knows_of_a_smaller_link_only_if_routers_say_so(
    ip: str, icmp: str, mtu: int, resolve: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    scenario = resolve(
        mtu="9000",
        network__topology="dumbbell",
        network__links__fabric__mtu="1500",
        network__icmp=icmp,
        network__ip=ip,
        workload__probe__traffic__duration=SHORT,
    )
    # A transfer into a black hole would never end.
    del scenario.workload[0]
    record = run(scenario)
    assert set(outcomes(record, "path_mtu")) == {"1500 B"}
    assert set(outcomes(record, "mss")) == {f"{mtu - (40 if ip == '4' else 60) - 12} B"}
    assert failed(record) == []


def test_a_transfer_that_probes_gets_out_of_a_black_hole(
    resolve: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    scenario = resolve(
        mtu="9000",
        sender="linux-cubic-probing",
        network__topology="dumbbell",
        network__links__fabric__mtu="1500",
        network__icmp="filtered",
        workload__transfer__traffic__duration="5 s",
    )
    del scenario.workload[1]
    scenario.workload[0].traffic.root.size = None
    record = run(scenario)
    assert record.flows[0].bytes > 10**6
    assert record.flows[0].mss_bytes <= 1500 - 60 - 12


def test_a_path_that_is_not_what_the_scenario_says_is_warned_of(
    resolve: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    scenario = resolve(mtu="9000", workload__transfer__traffic__duration=SHORT)
    # The receiver may send packets of 9000 bytes, but the router's interface accepts no frame above its own
    # MTU of 2000.
    router_end = next(end for end in scenario.links[1].ends if end.node == "router")
    router_end.mtu.root = "2000 B"
    record = run(scenario)
    warning = next(warning for warning in record.warnings if warning.code == "path_mtu")
    assert warning.object == "receiver to sender, IPv6"
    assert warning.message.startswith("path_mtu should be 9000 B and is 20")
    assert "MTU" in warning.consequence


def test_drops_in_a_queue_that_should_have_none_are_warned_of(
    resolve: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    scenario = resolve(mtu="1500", workload__transfer__traffic__duration="500 ms")
    scenario.links[1].rate.root = "100 Mbit/s"  # type: ignore[union-attr]
    scenario.links[1].queue.root = "20 packets"  # type: ignore[union-attr]
    record = run(scenario)
    warning = next(warning for warning in record.warnings if warning.code == "queue_drops")
    assert warning.object == "eth1 of router"
    assert sum(end.drops_pkts for end in record.ends) > 0
    assert record.flows[0].retransmissions_pkts > 0
    scenario.measurement.queue_drops.root = "allowed"
    assert "queue_drops" not in {warning.code for warning in run(scenario).warnings}


def test_several_flows_share_a_link(
    resolve: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    scenario = resolve(mtu="9000", workload__transfer__traffic__duration="1 s")
    # Each flow has a single connection. Between two transfers of one flow, the other flows would have the
    # link to themselves.
    scenario.workload[0].traffic.root.size = None
    second = scenario.workload[0].model_copy(deep=True)
    second.name, second.from_, second.to = "back", "receiver", "sender"
    third = scenario.workload[0].model_copy(deep=True)
    third.name = "beside"
    scenario.workload += [second, third]
    scenario.measurement.queue_drops.root = "allowed"
    record = run(scenario)
    rates = {flow.name: (flow.goodput_bps or 0.0) / 1e6 for flow in record.flows}
    assert rates["transfer"] + rates["beside"] <= 988 * 1.01
    assert min(rates["transfer"], rates["beside"], rates["back"]) > 100


def test_what_the_lab_lacks_is_a_problem_of_the_scenario(
    lab: Backend, resolve: Callable[..., Scenario]
) -> None:
    scenario = resolve()
    scenario.nodes[0].stack.congestion_control = "nonesuch"  # type: ignore[union-attr]
    scenario.workload[0].transport.root = "udp"
    pointers = {problem.pointer for problem in lab.check(scenario)}
    assert pointers == {"/nodes/0/stack/congestion_control", "/workload/0/transport"}


def test_what_else_happens_on_the_machine_is_a_number_in_the_record(
    resolve: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    """The warnings about the machine follow from these numbers."""
    record = run(resolve(workload__transfer__traffic__duration=SHORT))
    (disturbance,) = record.disturbances or []
    codes = {warning.code for warning in record.warnings}
    assert disturbance.machine == "this machine"
    assert disturbance.other_work_percent is not None
    assert ("other_work" in codes) == (disturbance.other_work_percent > 5)
    assert disturbance.stolen_percent is not None
    assert ("steal_time" in codes) == (disturbance.stolen_percent > 2)
    assert disturbance.clock_step_ns is not None
    assert ("clock_step" in codes) == (abs(disturbance.clock_step_ns) > 1_000_000)
    assert disturbance.timer_lateness_us is not None
    lateness = [each.timer_lateness_us for each in record.processors or [] if each.timer_lateness_us]
    assert disturbance.timer_lateness_us == max(each.maximum for each in lateness)
