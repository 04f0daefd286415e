"""The origins of a scenario's values in the study's fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from pydantic import BaseModel

from nettrial.study import EVERY, Cable, LinkKind, Settings, Study
from nettrial.study.paths import steps_of

FieldPath = tuple[str | int, ...]
"""The path to a value in a study: fields, names and indices from its root."""

OWN_OF_HOST = ("congestion_control", "ecn", "minimum_rto", "scheduler", "small_queues")
"""The settings of a stack profile that a host may override."""
OF_FLOW = {"name": "flow", "pair": "pairs"}
"""The fields of a scenario's flow that have different names in a study."""


@dataclass(frozen=True)
class Origins:
    """The map from places of one scenario, as JSON pointers (RFC 6901), to places of its study."""

    study: Study
    """The study from which the scenario was made."""
    treatment: Mapping[str, str]
    """The level of each factor."""
    settings: Settings
    """The settings of the study with the treatment applied."""
    nodes: Sequence[tuple[str, str]]
    """The name and the kind of each node, in the scenario's order."""
    links: Sequence[LinkKind]
    """The kind of each link, in the scenario's order."""
    cables: Sequence[Cable]
    """The settings of each link, in the scenario's order."""
    flows: Sequence[int]
    """The index of the workload entry of each flow, in the scenario's order."""
    _where: dict[FieldPath, str] = field(default_factory=dict, repr=False)

    def where(self, pointer: str) -> str:
        """Returns the file, line and dotted path of the origin of the value at `pointer`, or the option that
        set it: a factor's level if one sets it, otherwise a field."""
        place = self.place(pointer)
        if place not in self._where:
            self._where[place] = self.study.where(*(self._level(place) or place))
        return self._where[place]

    def place(self, pointer: str) -> FieldPath:
        """Returns the study's field from which the value at `pointer` comes. For a value without its own
        field, such as a router's name, it is the field from which the value follows."""
        place: FieldPath
        match [int(step) if step.isdecimal() else step for step in pointer.split("/")[1:]]:
            case ["nodes", int(number), *rest]:
                place = self._of_node(*self.nodes[number], rest)
            case ["links", int(number), *rest]:
                place = self._of_link(number, rest)
            case ["events", *rest]:
                place = ("network", "events", *rest)
            case ["controller", *rest] if self.settings.known_network.controller is not None:
                place = ("network", "controller", *rest)
            case ["controller", *_]:
                place = ("network", "forwarding")
            case ["routing", *rest]:
                place = ("network", "routing", *rest)
            case ["workload", int(), "ip"]:
                place = ("network", "ip")
            case ["workload", int(number), *rest]:
                place = ("workload", self.flows[number], *(OF_FLOW.get(str(step), step) for step in rest[:1]))
                place += tuple(rest[1:])
            case ["workload" | "measurement", *rest] as steps:
                place = tuple(steps)
            case _:
                place = ("study",)
        return self._there(place)

    def _of_node(self, name: str, kind: str, rest: Sequence[str | int]) -> FieldPath:
        key = name if name in self.settings.hosts else EVERY
        match rest:
            case ["offloads", *more]:
                return ("network", "offloads", *more)
            case ["filters_icmp"]:
                return ("network", "icmp")
            case ["system"] if kind == "router":
                return ("network", "system")
            case ["guest", *more] if kind == "router":
                return ("network", "guest", *more)
            case _ if kind != "host":
                return ("network", "topology")
            case ["stack", str(own), *_] if (
                own in OWN_OF_HOST and getattr(self.settings.hosts[key], own) is not None
            ):
                return ("hosts", key, own)
            case ["stack", str(own), *more] if (
                getattr(self.settings.stacks.get(self.settings.hosts[key].stack), own, None) is not None
            ):
                return ("stacks", self.settings.hosts[key].stack, own, *more)
            case ["stack" | "sysctls" | "cost" | "guest" as part, *more]:
                return ("hosts", key, part, *(() if part == "stack" else more))
            case ["machine" | "system" as part] if getattr(self.settings.hosts[key], part) is not None:
                return ("hosts", key, part)
            case _:
                return ("hosts", key)

    def _of_link(self, number: int, rest: Sequence[str | int]) -> FieldPath:
        forward, reverse = self.cables[number].places
        match rest:
            case ["wlan", *more]:
                return (
                    ("network", "wlan", *more)
                    if self.settings.known_network.wlan
                    else ("network", "topology")
                )
            case ["ends", int(), "mtu"]:
                return forward["mtu"]
            case ["tunnel"]:
                return forward["tunnel"]
            case ["reverse", str(name), *more]:
                name = name.removesuffix("_trace")
                return (*reverse.get(name, ("network", name)), *more)
            case [str(name), *more] if name not in ("ends", "medium"):
                name = name.removesuffix("_trace")
                return (*forward.get(name, ("network", name)), *more)
            case _:
                return ("network", "topology")

    def _there(self, place: FieldPath) -> FieldPath:
        """Returns the part of a place that exists in the study's settings: a scenario may contain more
        detail."""
        value: object = self.settings
        for number, step in enumerate(place):
            if isinstance(value, BaseModel):
                names, further = _names(type(value)), value.model_extra or {}
                if step in further:
                    value = further[str(step)]
                    continue
                if step not in names:
                    return place[:number] if number else place
                value = getattr(value, names[step])
            elif isinstance(value, Mapping | list):
                value = value[step]  # type: ignore[index]
            else:
                return place[:number]
        return place

    def _level(self, place: FieldPath) -> FieldPath | None:
        """Returns the place of the factor's level that sets the value at `place`, if there is one."""
        for name, level in self.treatment.items():
            factor = self.study.factors[name]
            for path in factor.settings(level):
                steps = self._steps(path)
                if place[: len(steps)] == steps:
                    if isinstance(factor.sets, str):
                        return ("factors", name, "levels", factor.levels.index(level))
                    return ("factors", name, "sets", level, path)
        return None

    def _steps(self, path: str) -> FieldPath:
        """Returns the place of a setting from its dotted path, in which a flow goes by its name."""
        steps: list[str | int] = [*steps_of(path)]
        if steps[0] == "workload":
            steps[1] = [flow.flow for flow in self.settings.workload].index(str(steps[1]))
        return tuple(steps)


@cache
def _names(model: type[BaseModel]) -> dict[str | int, str]:
    """Returns the attribute of each field of a model, by the field's name in documents."""
    return {info.alias or name: name for name, info in model.model_fields.items()}
