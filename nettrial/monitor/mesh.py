"""The mesh file: hosts, measurements between them, and limits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, PrivateAttr, ValidationError, model_validator

from nettrial.errors import BadInput
from nettrial.fields import Name, Strict, in_short, name_in, wrong
from nettrial.files import Unreadable, read_secret
from nettrial.machines import Inventory, MachineSettings
from nettrial.monitor.alerts import AlertsSettings
from nettrial.monitor.kinds import KINDS
from nettrial.monitor.settings import (
    LONGEST_SECONDS,
    ChangesSettings,
    HostSettings,
    KeepSettings,
    LimitsSettings,
    MeasurementSettings,
)
from nettrial.monitor.task import Task
from nettrial.protocols.stamp.key import MOST_BYTES, key_of
from nettrial.registry import near
from nettrial.study import Document

READING = "reading the mesh"
"""The current action, for error messages."""
MOST_TASKS = 5000
"""The largest number of pairs of hosts, counted for each measurement."""
OPTIONAL = ("duration", "rate", "size", "streams", "ip")
"""The settings that not every kind of measurement has."""


class Measurement(MeasurementSettings):
    """A measurement of a known kind."""

    kind: Annotated[str, name_in(KINDS)]
    """The kind of measurement."""

    @model_validator(mode="after")
    def _fits(self) -> Measurement:
        uses = KINDS[self.kind].uses
        for name in OPTIONAL:
            if name not in uses and getattr(self, name) is not None:
                raise wrong((name,), str(getattr(self, name)), f"no {name} with kind {self.kind}")
        for metric in self.thresholds:
            known = sorted(KINDS[self.kind].metrics)
            if metric not in known:
                raise wrong(("thresholds", metric), metric, in_short(known), near(metric, known))
        if not 0.1 <= self.seconds("1 s") <= LONGEST_SECONDS:
            raise wrong(("duration",), str(self.duration), f"0.1 s to {LONGEST_SECONDS} s")
        return self

    def pairs(self) -> list[tuple[str, str]]:
        """Returns the pairs of hosts, without pairs of a host with itself."""
        pairs = [(source, target) for source in self.from_ for target in self.to if source != target]
        pairs += [(target, source) for source, target in pairs] if self.both_directions else []
        return list(dict.fromkeys(pairs))


class Mesh(Strict):
    """The file `mesh.yaml`."""

    mesh: Name
    """The mesh's name."""
    title: str | None = None
    """The title of the page; by default the mesh's name."""
    archive: Path | None = None
    """The directory of the archive, relative to the mesh file's directory. By default it is `NAME-archive`,
    after the mesh's name."""
    machines: Path | None = None
    """The inventory, a file such as `machines.yaml`, relative to the mesh file's directory. It has the
    machines that hosts name by `machine`."""
    hosts: Annotated[dict[Name, HostSettings], Field(min_length=2)]
    """The hosts by name."""
    limits: LimitsSettings = LimitsSettings()
    """The load that measurements may put on each host."""
    measurements: Annotated[dict[Name, Measurement], Field(min_length=1)]
    """The measurements by name."""
    keep: KeepSettings = KeepSettings()
    """The time for which the archive keeps data."""
    changes: ChangesSettings = ChangesSettings()
    """The search for changes."""
    alerts: AlertsSettings | None = None
    """The recipients of alerts. By default, there are none."""
    _machines: dict[str, MachineSettings] = PrivateAttr(default_factory=dict)

    @model_validator(mode="after")
    def _fits_together(self) -> Mesh:
        count = 0
        for name, measurement in self.measurements.items():
            for field, named in (("from", measurement.from_), ("to", measurement.to)):
                for number, host in enumerate(named):
                    if host not in self.hosts:
                        at = ("measurements", name, field, number)
                        raise wrong(at, host, in_short(self.hosts), near(host, self.hosts))
            if not measurement.pairs():
                raise wrong(
                    ("measurements", name, "to"), in_short(measurement.to), "another host than in `from`"
                )
            count += len(measurement.pairs())
        if count > MOST_TASKS:
            raise wrong(("measurements",), f"{count} pairs", f"up to {MOST_TASKS} pairs of hosts")
        owners: dict[str, str] = {}
        for name, settings in self.hosts.items():
            machine, place = settings.machine, ("hosts", name, "machine")
            if machine and self.machines is None:
                raise wrong(place, machine, "the inventory that has it, as `machines` of the mesh")
            if machine in owners:
                hint = f"{owners[machine]} is the same machine"
                raise wrong(place, machine, "another machine for each host", hint)
            owners |= {machine: name} if machine else {}
        self._check_load()
        return self

    def _check_load(self) -> None:
        """Refuses a schedule that needs a larger share of a host's time than its limit allows."""
        needed = dict.fromkeys(self.hosts, 0.0)
        for task in self.tasks():
            share = share_of(task)
            for host in (task.source, task.target):
                needed[host] += share
        for host, share in needed.items():
            most = self.limits_of(host).most_time
            if share > most:
                at = ("hosts", host)
                expected = f"at most {most:.3g} of its time (`limits`: share)"
                hint = "measure less often, for a shorter time or between fewer hosts, or raise the limit"
                raise wrong(at, f"measured for {share:.3g} of the time", expected, hint)

    @property
    def inventory(self) -> dict[str, MachineSettings]:
        """Returns the machines of the inventory by name."""
        return self._machines

    def limits_of(self, host: str) -> LimitsSettings:
        """Returns the limits of a host."""
        return self.hosts[host].limits or self.limits

    def tasks(self) -> list[Task]:
        """Returns a task for each measurement and pair of hosts."""
        return [
            Task(f"{name} {source} {target}", name, measurement, source, target, self.hosts, self._machines)
            for name, measurement in self.measurements.items()
            for source, target in measurement.pairs()
        ]


def share_of(task: Task) -> float:
    """Returns the share of the time for which a task is expected to measure its hosts."""
    return task.settings.chance * KINDS[task.settings.kind].seconds(task) / task.settings.every_s


def load(path: Path) -> Mesh:
    """Reads a mesh file, and the inventory and the keys that it names; raises BadInput with every fault found
    in the mesh file, or with the first one of its measurements. Paths in the result are relative to the
    working directory."""
    document = Document.load(path, READING)
    try:
        mesh = Mesh.model_validate(document.data)
    except ValidationError as error:
        raise document.bad(error, Mesh.model_validate) from None
    archive = path.parent / (mesh.archive or f"{mesh.mesh}-archive")
    inventory = mesh.machines and path.parent / mesh.machines
    machines = Inventory.load(inventory).machines if inventory else {}
    hosts = {name: _beside(path, host) for name, host in mesh.hosts.items()}
    for name, host in hosts.items():
        where = document.where(("hosts", name, "token_file"))
        if host.token_file:
            try:
                read_secret(host.token_file, MOST_BYTES)
            except Unreadable as why:
                expected = "a file with the token"
                raise BadInput(READING, where, str(host.token_file), expected, str(why)) from None
        if host.serves == "stamp":
            key_of(host.token_file, READING, where)
        if host.machine and host.machine not in machines:
            place = document.where(("hosts", name, "machine"))
            hint = near(host.machine, machines)
            raise BadInput(
                READING, place, host.machine, f"a machine of {inventory}: {in_short(machines)}", hint
            )
    loaded = mesh.model_copy(update={"archive": archive, "machines": inventory, "hosts": hosts})
    loaded._machines = machines
    for task in loaded.tasks():
        expected = KINDS[task.settings.kind].problem(task)
        if expected:
            place = document.where(("measurements", task.measurement))
            raise BadInput(READING, place, f"{task.source} to {task.target}", expected)
    return loaded


def _beside(mesh: Path, host: HostSettings) -> HostSettings:
    """Returns a host whose token file is found from the mesh file's directory."""
    return host.model_copy(update={"token_file": host.token_file and mesh.parent / host.token_file})
