"""The CPU time of the lab's shapers is no host's."""

from collections.abc import Callable

from nettrial.scenario import Record, Scenario


def test_shapers_have_cpu_time_of_their_own(
    resolve: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    record = run(resolve(mtu="1500", workload__transfer__traffic__duration="500 ms"))
    reasons = {absence.object: absence.reason for absence in record.absent}
    busy = {one.number: one.busy_percent for one in record.processors}
    shares = [host.shaper_percent for host in record.hosts if host.shaper_percent is not None]
    # A sample each millisecond may miss the receiver's shaper, which passes acknowledgments alone.
    assert not shares or max(shares) > 0
    for host in (host for host in record.hosts if host.cpu_percent is not None):
        assert host.processor is not None
        if host.shaper_percent is None:
            assert "the shapers' time counts as the host's" in reasons[host.name]
        else:
            assert 0 <= host.shaper_percent < 50
            assert abs(host.cpu_percent + host.shaper_percent - busy[host.processor]) < 1e-6


def test_links_without_a_rate_have_no_shapers(
    resolve: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    scenario = resolve(mtu="1500", workload__transfer__traffic__duration="300 ms")
    for link in scenario.links:
        link.rate = link.queue = None
    record = run(scenario)
    assert all(host.shaper_percent is None for host in record.hosts)
    assert not any(absence.metric == "cpu_shaper" for absence in record.absent)
