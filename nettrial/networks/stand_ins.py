"""Stand-ins for the modules of Mininet that files with a Topo class import. `Topo` and the topologies that
come with Mininet keep nodes, links and their options; every other name is a class that can be named and
extended, but not used."""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import Any

MOST_NODES = 4000
"""The largest number of nodes, as of other graphs."""
MOST_LINKS = 20_000
"""The largest number of links, as of other graphs."""


class NotMininet(Exception):
    """The error for the use of a part of Mininet that is only a name here."""


class _Named(type):
    """The class of names, whose attributes are names, too."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _name(f"{cls.__name__}.{name}")


def _name(name: str) -> type:
    """Returns a class that stands for something of Mininet."""

    def refuse(self: object, *_: Any, **__: Any) -> None:
        if type(self).__name__ == name:
            raise NotMininet(f"it uses Mininet's {name}, and only its topology is read")

    return _Named(name, (), {"__init__": refuse, "of_mininet": name})


def _name_of_module(name: str) -> type:
    """Returns a class for a name that a module of Mininet may have."""
    if name.startswith("__"):
        raise AttributeError(name)
    return _name(name)


def irange(start: int, end: int) -> list[int]:
    """Returns the numbers from the first to the last (mininet.util)."""
    return list(range(start, end + 1))


def natural(text: Any) -> list[tuple[int, Any]]:
    """Returns a key that sorts h2 before h10 (mininet.util)."""
    parts = re.split(r"([0-9]+)", str(text))
    return [(1, int(part)) if part.isdecimal() else (0, part) for part in parts]


def _do_nothing(*_: Any, **__: Any) -> None:
    """Stands for functions that only print or set the verbosity."""


def custom(cls: Any, **_: Any) -> Any:
    """Returns the class without its parameters, which are a network's and not a topology's (mininet.util)."""
    return cls


class Topo:
    """Nodes and links with their options (mininet.topo)."""

    def __init__(self, *args: Any, **params: Any) -> None:
        self.hopts = params.pop("hopts", {})
        self.sopts = params.pop("sopts", {})
        self.lopts = params.pop("lopts", {})
        self.params = params
        self.nodes_by_name: dict[str, dict[str, Any]] = {}
        self.edges: list[tuple[str, str, int, dict[str, Any]]] = []
        self.build(*args, **params)

    def build(self, *args: Any, **params: Any) -> None:
        """Adds the nodes and links; subclasses do it here or in their constructor."""

    def addNode(self, name: str, **opts: Any) -> str:
        """Adds a node, and returns its name."""
        if len(self.nodes_by_name) >= MOST_NODES:
            raise NotMininet(f"it has more than {MOST_NODES} nodes")
        self.nodes_by_name[str(name)] = opts
        return str(name)

    def addHost(self, name: str, **opts: Any) -> str:
        """Adds a host."""
        return self.addNode(name, **{**self.hopts, **opts})

    def addSwitch(self, name: str, **opts: Any) -> str:
        """Adds a switch."""
        return self.addNode(name, **{**self.sopts, **opts, "isSwitch": True})

    def addLink(
        self, node1: str, node2: str, port1: Any = None, port2: Any = None, key: Any = None, **opts: Any
    ) -> int:
        """Adds a link, and returns its key."""
        if len(self.edges) >= MOST_LINKS:
            raise NotMininet(f"it has more than {MOST_LINKS} links")
        for node in (str(node1), str(node2)):
            self.nodes_by_name.setdefault(node, {})
        number = len(self.linksBetween(node1, node2)) if key is None else key
        opts = {**self.lopts, **opts}
        self.edges.append((str(node1), str(node2), number, opts))
        return int(number)

    def isSwitch(self, name: str) -> bool:
        """Returns whether a node is a switch."""
        return bool(self.nodes_by_name[name].get("isSwitch", False))

    def nodes(self, sort: bool = True) -> list[str]:
        """Returns the names of all nodes."""
        return self.sorted(self.nodes_by_name) if sort else list(self.nodes_by_name)

    def switches(self, sort: bool = True) -> list[str]:
        """Returns the names of the switches."""
        return [name for name in self.nodes(sort) if self.isSwitch(name)]

    def hosts(self, sort: bool = True) -> list[str]:
        """Returns the names of the hosts."""
        return [name for name in self.nodes(sort) if not self.isSwitch(name)]

    def links(self, sort: bool = False, withKeys: bool = False, withInfo: bool = False) -> list[Any]:
        """Returns the links, with their keys or their options where these are requested."""
        links = [
            (one, other, *((key,) if withKeys else ()), *((opts,) if withInfo else ()))
            for one, other, key, opts in self.edges
        ]
        return sorted(links, key=lambda link: (natural(link[0]), natural(link[1]))) if sort else links

    iterLinks = links

    def linksBetween(self, node1: str, node2: str) -> list[int]:
        """Returns the keys of the links between two nodes."""
        pair = {str(node1), str(node2)}
        return [key for one, other, key, _ in self.edges if {one, other} == pair]

    def nodeInfo(self, name: str) -> dict[str, Any]:
        """Returns the options of a node, which may be changed."""
        return self.nodes_by_name[name]

    def setNodeInfo(self, name: str, info: dict[str, Any]) -> None:
        """Sets the options of a node."""
        self.nodes_by_name[name] = info

    def linkInfo(self, src: str, dst: str, key: Any = None) -> dict[str, Any]:
        """Returns the options of a link, which may be changed."""
        for one, other, number, opts in self.edges:
            if {one, other} == {src, dst} and key in (None, number):
                return opts
        raise KeyError((src, dst))

    def setlinkInfo(self, src: str, dst: str, info: dict[str, Any], key: Any = None) -> None:
        """Sets the options of a link."""
        opts = self.linkInfo(src, dst, key)
        opts.clear()
        opts.update(info)

    @staticmethod
    def sorted(items: Iterable[Any]) -> list[Any]:
        """Returns names with numbers in their order."""
        return sorted(items, key=natural)


class SingleSwitchTopo(Topo):
    """A switch with k hosts."""

    def build(self, k: int = 2, **_: Any) -> None:
        """Adds the nodes and links."""
        self.k = k
        switch = self.addSwitch("s1")
        for number in irange(1, k):
            self.addLink(self.addHost(f"h{number}"), switch)


class LinearTopo(Topo):
    """k switches in a row, with n hosts each."""

    def build(self, k: int = 2, n: int = 1, **_: Any) -> None:
        """Adds the nodes and links."""
        self.k, self.n = k, n
        last = None
        for row in irange(1, k):
            switch = self.addSwitch(f"s{row}")
            for column in irange(1, n):
                self.addLink(self.addHost(f"h{row}" if n == 1 else f"h{column}s{row}"), switch)
            if last:
                self.addLink(switch, last)
            last = switch


class MinimalTopo(SingleSwitchTopo):
    """A switch with two hosts."""

    def build(self, k: int = 2, **_: Any) -> None:
        """Adds the nodes and links."""
        super().build(k=k)


class TreeTopo(Topo):
    """A tree of switches of a depth and a fanout, whose leaves are hosts."""

    def build(self, depth: int = 1, fanout: int = 2, **_: Any) -> None:
        """Adds the nodes and links."""
        self.hostNum = self.switchNum = 1
        self._add(depth, fanout)

    def _add(self, depth: int, fanout: int) -> str:
        if depth <= 0:
            node = self.addHost(f"h{self.hostNum}")
            self.hostNum += 1
            return node
        node = self.addSwitch(f"s{self.switchNum}")
        self.switchNum += 1
        for _ in range(fanout):
            self.addLink(node, self._add(depth - 1, fanout))
        return node


def _module(name: str) -> types.ModuleType:
    """Returns the stand-in for a module of Mininet."""
    module = types.ModuleType(name)
    module.__path__ = []  # every module may have others below it
    module.__dict__.update(KNOWN.get(name, {}))
    module.__getattr__ = _name_of_module  # type: ignore[method-assign]
    return module


_TOPOLOGIES = (Topo, SingleSwitchTopo, LinearTopo, MinimalTopo, TreeTopo)
KNOWN: dict[str, dict[str, Any]] = {
    "mininet.topo": {each.__name__: each for each in _TOPOLOGIES},
    "mininet.topolib": {"TreeTopo": TreeTopo},
    "mininet.log": dict.fromkeys(("setLogLevel", "info", "debug", "output", "warn", "error"), _do_nothing),
    "mininet.util": {
        "irange": irange,
        "natural": natural,
        "naturalSeq": natural,
        "custom": custom,
        "customClass": custom,
    },
}
"""The stand-ins that are more than names, by module."""


class Finder(MetaPathFinder, Loader):
    """Finds `mininet` and every module below it, instead of an installed Mininet."""

    def find_spec(self, fullname: str, *_: Any) -> ModuleSpec | None:
        """Returns the specification of a module of Mininet."""
        if fullname.partition(".")[0] != "mininet":
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        """Returns the stand-in."""
        return _module(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Has nothing to execute."""


def install() -> None:
    """Lets imports of Mininet find the stand-ins."""
    sys.meta_path.insert(0, Finder())


def topologies(module: types.ModuleType) -> Iterator[tuple[str, Callable[..., Topo]]]:
    """Yields the topologies of a file: those of its dictionary `topos`, and its classes."""
    named = getattr(module, "topos", {})
    if isinstance(named, dict):
        yield from ((str(name), make) for name, make in named.items() if callable(make))
    for name, value in vars(module).items():
        is_own = isinstance(value, type) and value.__module__ == module.__name__
        if is_own and issubclass(value, Topo):
            yield name, value
