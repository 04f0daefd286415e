"""Measurements between two machines of the inventory, by the agents of the backend `hosts`. Nothing is
changed on a machine, whatever the inventory permits."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from nettrial.backends import Machines, TrialFailed, measured_flow
from nettrial.backends.pair import Pair, Unreached
from nettrial.errors import BadInput, CannotRun
from nettrial.machines import MachineSettings
from nettrial.monitor.outcome import MeasuredValue, MeasuredValues, Missed, Reason
from nettrial.monitor.task import TRAFFIC_SECONDS, Task
from nettrial.scenario import Record

SET_UP_SECONDS = 5.0
"""The expected duration of a measurement between two machines in addition to its traffic, in seconds: the
time to connect to both, to start agents, and to probe the path MTU."""
REFUSALS = {"busy", "missing_program", "other_version", "refused"}
"""The kinds of failures of machines that were reached and refused: another session measures there, it has no
engine or one of another version, or ssh may not log in."""
T = TypeVar("T")
"""The type of a result."""


def problem(task: Task) -> str:
    """Returns a requirement that the machines of a task don't meet."""
    wanted = f" IPv{task.settings.ip}" if task.settings.ip else " IP"
    return (
        "" if version(task) else f"two machines with addresses of the same{wanted} version in the inventory"
    )


def version(task: Task) -> int | None:
    """Returns the IP version of a task: that of its settings, or else that of the first address of the first
    machine whose version the second one has, too; None if there is none."""
    first, second = (list(map(_version, machine.addresses)) for machine in _machines(task).values())
    return next((each for each in first if each in second and task.settings.ip in (None, each)), None)


def traffic(task: Task, kind: str) -> Record:
    """Returns the record of traffic between two machines, of that kind of `nettrial measure`; raises
    Missed."""
    settings, ip = task.settings, version(task)
    assert ip is not None
    seed, streams = int.from_bytes(os.urandom(4)), settings.streams or 1
    seconds, time = task.seconds(), settings.duration or TRAFFIC_SECONDS
    flow = measured_flow(kind, ip, time, seed, rate=settings.rate, size=settings.size)
    return _attempt(task, ip, lambda pair, one, other: pair.traffic(one, other, flow, streams, seconds))


def path(task: Task) -> MeasuredValues:
    """Returns the path MTU between two machines, in both directions; raises Missed."""
    ip = version(task)
    assert ip is not None
    forward, back = _attempt(task, ip, lambda pair, one, other: pair.path_mtus(one, other))
    if not forward or not back:
        way = f"{task.source} to {task.target}" if not forward else f"{task.target} to {task.source}"
        raise Missed("failed", f"no packet passes from {way}")
    return MeasuredValues(
        [
            MeasuredValue("path_mtu", "Path MTU", "B", forward),
            MeasuredValue("reverse_path_mtu", "Path MTU back", "B", back),
        ],
        0,
        json.dumps({"kind": "path", "between": "machines", "path_mtu": forward, "reverse_path_mtu": back}),
        {"path MTU": f"{forward} B", "path MTU back": f"{back} B"},
    )


def _attempt(task: Task, ip: int, measure: Callable[[Pair, str, str], T]) -> T:
    """Returns the result of a measurement; raises Missed."""
    machines = {name: _reduced(machine, ip) for name, machine in _machines(task).items()}
    reason: Reason = "failed"
    kinds: Sequence[str] = ()
    try:
        return measure(Pair(Machines.of(machines)), *machines)
    except Unreached as why:
        said, reason, kinds = str(why), "host gone", why.kinds
    except CannotRun as cannot:
        said = "; ".join(each.why for each in cannot.reasons)
    except BadInput as bad:
        said = "; ".join(bad.faults[0].lines())
    except TrialFailed as failed:
        said, kinds = str(failed), (failed.kind,)
    raise Missed("refused" if REFUSALS & set(kinds) else reason, said)


def _machines(task: Task) -> Mapping[str, MachineSettings]:
    """Returns the two machines by their names in the inventory, the sending one first."""
    names = [task.hosts[host].machine or "" for host in (task.source, task.target)]
    return {name: task.machines[name] for name in names}


def _version(address: str) -> int:
    return 6 if ":" in address else 4


def _reduced(machine: MachineSettings, ip: int) -> MachineSettings:
    """Returns a machine with its first address of an IP version alone, and no setting that may be changed."""
    interface, address = next(
        (interface, address)
        for interface, addresses in machine.interfaces.items()
        for address in addresses
        if _version(address) == ip
    )
    return machine.model_copy(update={"interfaces": {interface: [address]}, "may_change": [], "nodes": []})
