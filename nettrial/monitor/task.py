"""A task of a monitor: one measurement between two hosts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nettrial.machines import MachineSettings
from nettrial.monitor.settings import HostSettings, MeasurementSettings

TRAFFIC_SECONDS = "5 s"
"""The default duration of traffic, as a text with its unit."""
SET_UP_SECONDS = 2.0
"""The expected duration of a measurement in addition to its traffic, in seconds."""


@dataclass(frozen=True)
class Task:
    """A measurement between two hosts, which is repeated in each interval."""

    key: str
    """The task's name in the archive: the measurement and its two hosts."""
    measurement: str
    """The name of the measurement in the mesh file."""
    settings: MeasurementSettings
    """The settings of the measurement."""
    source: str
    """The host that sends."""
    target: str
    """The host that receives."""
    hosts: Mapping[str, HostSettings]
    """The settings of the hosts, by name."""
    machines: Mapping[str, MachineSettings] = field(default_factory=dict)
    """The machines of the inventory by name."""

    @property
    def far(self) -> HostSettings:
        """Returns the settings of the host that is not this machine."""
        return next(host for host in self._ends() if not host.is_here)

    @property
    def reverse(self) -> bool:
        """Returns whether the other host sends."""
        return not self.hosts[self.source].is_here

    @property
    def is_of_machines(self) -> bool:
        """Returns whether both hosts are machines of the inventory."""
        return all(host.machine for host in self._ends())

    def seconds(self, most: float | None = None) -> float:
        """Returns the duration of the traffic in seconds, which is at most `most`."""
        seconds = self.settings.seconds(TRAFFIC_SECONDS)
        return seconds if most is None else min(seconds, most)

    def from_here(self) -> str:
        """Returns the requirement that one host is this machine and the other has an address, if the task
        does not meet it."""
        here = [host for host in self._ends() if host.is_here]
        if len(here) == 1 and self.far.address is not None:
            return ""
        return "one host that is this machine, without `address` and `machine`, and one with an `address`"

    def _ends(self) -> list[HostSettings]:
        return [self.hosts[self.source], self.hosts[self.target]]
