"""Measurements between two of the user's machines, whose settings stay as they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from nettrial.backends.backend import Backend, TrialFailed
from nettrial.backends.hosts import Machines
from nettrial.backends.remote import GRACE_SECONDS, INTERVAL_SECONDS, MOST_SAMPLES, streams_of
from nettrial.scenario import Flow, Machine, Record, Scenario
from nettrial.units import DURATION

BUFFER = "4096 131072 6291456"
"""The sizes of a socket buffer that stand in the scenario for those of a system that does not report its own,
and keeps them."""
EXPECTATIONS = ("unexpected_rate", "unexpected_delay")
"""The warnings of a network that differs from the study's: there is no study."""


class Unreached(Exception):
    """The error for machines that can't be reached; the text has the reason for each."""

    def __init__(self, message: str, kinds: Sequence[str] = ()) -> None:
        """Creates the error; `kinds` are the kinds of the failures, as in the engine's answers."""
        super().__init__(message)
        self.kinds = tuple(kinds)


class Pair:
    """Two of the user's machines, each with one interface and address, in one session of the backend
    `hosts`."""

    def __init__(self, machines: Machines) -> None:
        """Prepares a session without starting it; raises CannotRun if there is no engine."""
        self._backend = Backend("hosts", machines)

    def traffic(self, source: str, target: str, flow: Flow, streams: int, seconds: float) -> Record:
        """Measures once, with traffic of that many seconds from the machine `source` to `target`, in that
        many parallel streams. The hosts of `flow` are `client` and `server`.

        Raises Unreached, TrialFailed, and CannotRun if the engine here does not answer."""
        with self._backend as backend:
            machines = self._described(thorough=False)
            interval = max(INTERVAL_SECONDS, streams * seconds / MOST_SAMPLES)
            scenario = as_they_are(machines[source], machines[target], flow, streams, interval)
            record = backend.run("1", scenario, seconds + GRACE_SECONDS)
        warnings = [each for each in record.warnings if each.code not in EXPECTATIONS]
        return record.model_copy(update={"warnings": warnings})

    def path_mtus(self, source: str, target: str) -> tuple[int, int]:
        """Returns the size of the largest IP packets that pass from the machine `source` to `target` and
        back, in bytes; 0 if none does. Neither is larger than what both interfaces send.

        Raises Unreached, TrialFailed, and CannotRun if the engine here does not answer."""
        with self._backend:
            machines = self._described(thorough=True)
        sizes = {
            (machine.name, reach.to): reach.passed_bytes
            for machine in machines.values()
            for reach in machine.reaches or []
        }
        if {(source, target), (target, source)} - set(sizes):
            raise TrialFailed("the machines did not try packets between their addresses")
        return sizes[source, target], sizes[target, source]

    def _described(self, thorough: bool) -> dict[str, Machine]:
        """Returns the descriptions of the machines by name; `thorough` also tries packets between them."""
        preflight = self._backend.preflight(thorough)
        machines = {machine.name: machine for machine in preflight.environment.machines or []}
        said = "; ".join(f"{lack.what}: {lack.why}" for lack in preflight.missing)
        if len(machines) < 2:
            raise Unreached(said, [lack.kind.root for lack in preflight.missing if lack.kind])
        if preflight.missing:
            raise TrialFailed(said)
        return machines


def as_they_are(source: Machine, target: Machine, flow: Flow, streams: int, interval: float) -> Scenario:
    """Returns a scenario in which two machines have the settings that they were found with, so that none is
    changed. The state of the transport is read every `interval` seconds."""
    ends = {flow.from_: source, flow.to: target}
    prefix = ("192.0.2.", 24) if flow.ip.root == 4 else ("2001:db8::", 64)
    return Scenario.model_validate(
        {
            "format": 1,
            "nodes": [_host(name, machine) for name, machine in ends.items()],
            "links": [
                {
                    "ends": [
                        {
                            "node": name,
                            "interface": "eth0",
                            "mtu": f"{machine.interfaces[0].mtu_bytes} B",
                            "addresses": [f"{prefix[0]}{number}/{prefix[1]}"],
                        }
                        for number, (name, machine) in enumerate(ends.items(), start=1)
                    ]
                }
            ],
            "routing": {"policy": "shortest_path"},
            "workload": [
                {**flow.model_dump(mode="json", by_alias=True, exclude_none=True), "name": name}
                for name in streams_of(streams)
            ],
            "measurement": {
                "interval": DURATION.print(math.ceil(interval * 1e9)),
                "queue_drops": "allowed",
            },
        }
    )


def _host(name: str, machine: Machine) -> dict[str, Any]:
    """Returns a host with the settings of a machine. Systems other than Linux report none, and keep
    theirs."""

    def sysctl(setting: str, otherwise: str) -> str:
        return machine.sysctls.get(f"net.ipv4.tcp_{setting}", otherwise)

    def buffer(setting: str) -> dict[str, str]:
        sizes = sysctl(setting, BUFFER).split()
        return {
            part: f"{size} B" for part, size in zip(("minimum", "initial", "maximum"), sizes, strict=True)
        }

    offloads = machine.interfaces[0].offloads
    return {
        "name": name,
        "kind": "host",
        "machine": machine.name,
        **({"offloads": offloads.model_dump()} if offloads else {}),
        "stack": {
            "name": "as it is",
            "congestion_control": sysctl("congestion_control", "cubic"),
            "receive_buffer": buffer("rmem"),
            "send_buffer": buffer("wmem"),
            "window_scaling": sysctl("window_scaling", "1") != "0",
            "sack": sysctl("sack", "1") != "0",
            "timestamps": sysctl("timestamps", "1") != "0",
            "mtu_probing": sysctl("mtu_probing", "0") != "0",
        },
    }
