"""Access to settings in plain data by their dotted paths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from nettrial.registry import SYNONYMS
from nettrial.study import queues, variates
from nettrial.study.links import NamedLinkSettings

SYSCTLS = "sysctls"
"""The field of hosts whose entries have dots in their names."""
LINKS = ("network", "links")
"""The settings of links by name. Links that a study does not name have names, too."""


class NoSuchSetting(LookupError):
    """A dotted path that leads to no setting."""

    def __init__(self, path: str, names: Sequence[str]) -> None:
        """Creates the error; `names` are the valid names at the place where the path fails."""
        super().__init__(path)
        self.path = path
        self.names = list(names)


def substitute(settings: dict[str, Any], path: str, value: Any) -> tuple[str | int, ...]:
    """Sets a setting of plain data by its dotted path, in which a flow goes by its name, and returns the keys
    and indices of the path. Raises NoSuchSetting if the path does not exist (its last step may be new)."""
    *steps, last = steps_of(path)
    parent: Any = settings
    place: list[str | int] = []
    for step in steps:
        if tuple(place) == LINKS:  # a link that has no settings of its own yet
            parent.setdefault(step, dict.fromkeys(NamedLinkSettings.model_fields))
        key = _key(parent, step, path)
        if parent[key] is None:  # an absent part is created by the setting
            parent[key] = {}
        parent = parent[key]
        place.append(key)
    if not isinstance(parent, dict) or not steps:
        raise NoSuchSetting(path, _names(parent))
    parent[last] = value
    return (*place, last)


def steps_of(path: str) -> list[str]:
    """Returns the steps of a dotted path; what follows `sysctls` is the name of one, with its dots."""
    before, among, sysctl = path.partition(f".{SYSCTLS}.")
    return [*before.split("."), SYSCTLS, sysctl] if among else before.split(".")


def setting(settings: dict[str, Any], path: str) -> Any:
    """Returns the value of a setting of plain data by its dotted path, in its short form if it has one;
    raises NoSuchSetting."""
    value: Any = settings
    for step in steps_of(path):
        value = value[_key(value, step, path)]
    return queues.short(variates.short(value))


def ending_in(settings: dict[str, Any], name: str) -> list[str]:
    """Returns the dotted paths of plain data whose last step is `name`, in any capitals, or a synonym of it;
    those with the fewest steps first."""
    wanted = {name.lower(), *SYNONYMS.get(name.lower(), ())}
    paths = [path for path in _paths(settings) if path[-1].lower() in wanted]
    return [".".join(path) for path in sorted(paths, key=len)]


def _paths(parent: Any) -> Iterator[list[str]]:
    """Yields the steps to each part of plain data, in which a flow goes by its name."""
    for step in _names(parent):
        yield [step]
        yield from ([step, *rest] for rest in _paths(parent[_key(parent, step, step)]))


def _key(parent: Any, step: str, path: str) -> str | int:
    """Returns the key or index for a step of a dotted path."""
    if isinstance(parent, dict) and step in parent:
        return step
    if isinstance(parent, list):
        for number, flow in enumerate(parent):
            if isinstance(flow, dict) and flow.get("flow") == step:
                return number
    raise NoSuchSetting(path, _names(parent))


def _names(parent: Any) -> list[str]:
    if isinstance(parent, dict):
        return list(parent)
    if isinstance(parent, list):
        return [str(flow["flow"]) for flow in parent if isinstance(flow, dict) and "flow" in flow]
    return []
