"""Networks of Mininet: the Topo class of a file, which a process without privileges runs.

Mininet need not be installed: `stand_ins` has what such files import. A link's options become attributes of a
graph's link; what has no counterpart is refused by name, and what does not affect measurements is ignored."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nettrial import systems
from nettrial.fields import as_value
from nettrial.files import Unreadable, read_text
from nettrial.networks.graph import ForeignGraph

MOST_BYTES = 2**20
"""The largest size of a file."""
MOST_SECONDS = 20
"""The longest time that a file may take."""
OF_NODES = (
    *("ip", "mac", "defaultRoute", "privateDirs", "inNamespace", "isSwitch"),
    *("dpid", "protocols", "listenPort", "datapath", "failMode", "stp", "prio", "opts", "batch", "verbose"),
    *("inband", "reconnectms"),
)
"""The options of nodes without an effect on what nettrial measures: it assigns addresses and routes."""
OF_LINKS = (
    *("bw", "delay", "loss", "max_queue_size", "params1", "params2", "cls", "cls1", "cls2"),
    *("port1", "port2", "intf", "intfName", "intfName1", "intfName2", "addr1", "addr2", "ip", "mac", "fast"),
    *("use_htb", "use_hfsc", "use_tbf", "latency_ms", "speedup"),
)
"""The options of links that are read, or that have no effect."""
QUEUE = "1000 packets"
"""The queue of Mininet's links without `max_queue_size`: the default of an interface and of netem."""


def graph_of(argument: str) -> ForeignGraph:
    """Returns the network of a file's Topo class. `argument` is the file's path, and may name the class and
    its arguments in Mininet's notation: FILE:NAME,2,n=3. Raises BadInput."""
    path, name, arguments, options = _parts(argument)
    graph = ForeignGraph(path)
    try:
        source = read_text(Path(path), MOST_BYTES)
    except Unreadable as why:
        raise graph.bad("not read", f"a readable file of up to {MOST_BYTES} bytes", str(why)) from None
    request = {"file": path, "source": source, "name": name, "arguments": arguments, "options": options}
    answer = _run(graph, {**request, "seconds": MOST_SECONDS})
    if "fault" in answer:
        raise graph.bad(answer["fault"], answer["expected"])
    for node, opts in answer["nodes"]:
        graph.add_node(node, _kind(graph, node, opts))
    for one, other, opts in answer["links"]:
        graph.links.append(_link(graph, one, other, opts))
    return graph


def _parts(argument: str) -> tuple[str, str | None, list[Any], dict[str, Any]]:
    """Returns the path, the name of the class, and its arguments."""
    path, colon, rest = argument.rpartition(":")
    if not colon or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*(,.*)?", rest):
        return argument, None, [], {}
    name, *values = rest.split(",")
    options = dict(value.split("=", 1) for value in values if "=" in value)
    arguments = [as_value(value) for value in values if "=" not in value]
    return path, name, arguments, {key: as_value(value) for key, value in options.items()}


def _run(graph: ForeignGraph, request: dict[str, Any]) -> dict[str, Any]:
    """Returns the answer of the process that runs the file."""
    data = json.dumps(request).encode()
    try:
        output = systems.run_confined("nettrial.networks.mininet_process", MOST_SECONDS, data)
    except OSError as error:
        raise graph.bad(str(error), f"a topology that is built within {MOST_SECONDS} s") from None
    try:
        answer = json.loads(output)
    except ValueError:
        expected = f"a topology that is built within {MOST_SECONDS} s and 1 GiB, without other processes"
        raise graph.bad("the process that ran it ended without an answer", expected) from None
    return answer if isinstance(answer, dict) else {}


def _kind(graph: ForeignGraph, node: str, opts: Mapping[str, Any]) -> str:
    """Returns the kind of a node from its options."""
    kind = "switch" if opts.get("isSwitch") else "host"
    cls = opts.get("cls")
    if isinstance(cls, dict) and not cls["is_of_mininet"]:
        if not cls["forwards"]:
            hint = "a class of the file is a router if it sets ip_forward"
            raise graph.bad(f"the class {cls['class']} of {node}", "a class of Mininet, or a router", hint)
        kind = "router"
    for name, value in opts.items():
        if name == "cls" or value is None:
            continue
        if name not in OF_NODES:
            hint = "nettrial has no counterpart of it: remove it if it does not matter to the question"
            raise graph.bad(f"the option {name} of {node}", f"one of {', '.join(OF_NODES)}", hint)
        if name != "isSwitch":
            graph.ignored.add(name)
    return kind


def _link(graph: ForeignGraph, one: str, other: str, opts: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a link with the attributes that its options give."""
    for node in (one, other):
        if node not in graph.nodes:
            raise graph.bad(f"the link {one} - {other}", f"a node {node}")
    common = {name: value for name, value in opts.items() if name not in ("params1", "params2")}
    sides = [{**common, **(opts.get(side) or {})} for side in ("params1", "params2")]
    there, back = (_attributes(graph, f"the link {one} - {other}", side) for side in sides)
    link = {"source": one, "target": other, **there}
    differing = {name for name in (*there, *back) if there.get(name) != back.get(name)}
    for name in sorted(differing):
        if name not in back or name not in there:
            raise graph.bad(
                f"the {name} of the link {one} - {other} in one direction", "both directions, or none"
            )
        link[f"reverse_{name}"] = back[name]
    return link


def _attributes(graph: ForeignGraph, link: str, opts: Mapping[str, Any]) -> dict[str, str]:
    """Returns the attributes of one direction of a link."""
    attributes: dict[str, str] = {}
    for name, value in opts.items():
        if value is None or value is False:
            continue
        if name not in OF_LINKS:
            hint = "nettrial has no counterpart of it in a file: set it in the study, or remove it"
            raise graph.bad(f"the option {name} of {link}", f"one of {', '.join(OF_LINKS)}", hint)
        if name not in ("bw", "delay", "loss", "max_queue_size", "cls"):
            graph.ignored.add(name)
    bw, delay, loss, queue = (opts.get(name) for name in ("bw", "delay", "loss", "max_queue_size"))
    if bw is not None:
        attributes["rate"] = f"{_number(graph, link, 'bw', bw)} Mbit/s"
        attributes["queue"] = (
            QUEUE if queue is None else f"{_number(graph, link, 'max_queue_size', queue)} packets"
        )
    if delay is not None and delay != 0:
        match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(us|usecs?|ms|msecs?|s|secs?)\s*", str(delay))
        if match is None:
            hint = "tc reads a number without a unit in different ways"
            raise graph.bad(f"the delay {delay!r} of {link}", "a delay with its unit, such as '5ms'", hint)
        attributes["delay"] = f"{match[1]} {match[2].rstrip('ecs') + 's'}"
    if loss:
        attributes["loss"] = f"{_number(graph, link, 'loss', loss)}%"
    return attributes


def _number(graph: ForeignGraph, link: str, name: str, value: Any) -> str:
    """Returns a number as text, without an exponent."""
    if isinstance(value, bool) or not re.fullmatch(r"[0-9]+(\.[0-9]+)?", str(value)):
        raise graph.bad(f"the {name} {value!r} of {link}", "a number")
    return str(value).removesuffix(".0")
