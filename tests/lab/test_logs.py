"""The log of a trial in the lab."""

import logging
from collections.abc import Callable

import pytest

from nettrial.backends import Backend
from nettrial.scenario import Scenario
from tests.lab.sandbox import PATIENCE


def test_a_trials_log_has_what_was_built(
    lab: Backend,
    resolve: Callable[..., Scenario],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("NETTRIAL_LOG", "debug")
    scenario = resolve(
        workload__transfer__traffic__duration="50 ms", workload__probe__traffic__duration="50 ms"
    )
    with caplog.at_level(logging.DEBUG), Backend("lab") as backend:
        backend.preflight()
        record = backend.run("logged", scenario, PATIENCE)
    logged = "\n".join(caplog.messages)
    steps = [
        f"building the network nodes={len(scenario.nodes)} links={len(scenario.links)}",
        "checking the network",
        "starting the traffic",
        "all flows have ended",
        "the network is gone",
    ]
    places = [logged.index(step) for step in steps]
    assert places == sorted(places)
    names = {"path_mtu", "mss", "congestion_control", "tcp_options"}
    built = [check for check in record.checks if check.name in names]
    assert {check.name for check in built} == names
    for check in built:
        assert any(check.object in line and check.name in line for line in caplog.messages), check
    for host in record.hosts:
        assert f'the agent runs host="{host.name}"' in logged
