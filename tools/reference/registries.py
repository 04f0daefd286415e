"""A page for each of the lists that `nettrial list` prints, and one for the options of tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nettrial import study
from nettrial.backends import BACKENDS
from nettrial.capabilities import CAPABILITIES
from nettrial.congestion import CONTROLS, backends_of
from nettrial.metrics import METRICS
from nettrial.scenario import Capabilities
from nettrial.stacks import STACKS
from nettrial.study.tool_options import TOOLS
from nettrial.topology import TOPOLOGIES
from reference.markdown import one_line, page, table
from reference.study_file import rows_of


def pages() -> dict[str, str]:
    """Returns the pages by the names of their files."""
    return {
        "metrics.md": _metrics(),
        "stacks.md": _stacks(),
        "congestion-controls.md": _congestion(),
        "topologies.md": _topologies(),
        "backends.md": _backends(),
        "studies.md": _studies(),
        "tool-options.md": _tool_options(),
        "environment.md": Path(__file__).with_name("environment.md").read_text(encoding="utf-8"),
    }


def _tool_options() -> str:
    rows = []
    for name, tool in TOOLS.items():
        for field, program in (("arguments", tool.client), ("server_arguments", tool.server)):
            options = [
                " ".join((option, *(value.name for value in values)))
                for option, values in program.options.items()
            ]
            rows.append(
                (
                    f"`{name}`",
                    f"`{field}`",
                    program.name,
                    ", ".join(f"`{each}`" for each in options) or "none",
                )
            )
    return page(
        "Tool options",
        "A study may give these options to the programs of a tool. They only shape the tool's own traffic: "
        "none names a file, a program, an address, a port or a user. A study with any other argument runs "
        "only with `--allow-exec`, or after a question at the terminal, and `nettrial run --dry-run` lists "
        "it; that holds for abbreviations of names and for several options in one argument, too. All "
        "arguments of the tool `exec` are a command, which needs the same permission.",
        "A value may be an argument of its own, or follow in the same one: `-w 1M`, `-w1M`, `--window=1M`. N "
        "is a whole number, an amount may end in K, M or G, a time in h, m, s, ms, us or ns. A byte may be "
        "hexadecimal (0x10), a code point may have a name (af11), and CPUs are a list such as 0-3,5.",
        table(["tool", "setting", "program", "options"], rows),
    )


def _metrics() -> str:
    return page(
        "Metrics",
        "A metric is a figure of a flow, a group of flows, a host or an interface in a trial. If it could "
        "not be measured, it is absent, with the reason; it never has a made-up value. For a group of flows, "
        "it is the sum, mean, maximum or minimum of their figures, as the table says, or absent. A response "
        "names the metric's object under `of`: a flow or group, a host, an interface as NODE.INTERFACE, or a "
        "size of a sweep as FLOW.BYTES, such as sweep.11000. A study with a response that its backend can't "
        "measure is refused. `nettrial measure` measures metrics without a backend, between two machines.",
        table(
            ["metric", "unit", "of a", "better", "of a group", "backends", "definition", "source"],
            [
                (
                    f"`{m.name}`",
                    m.unit,
                    m.of,
                    m.better,
                    m.group if m.of in ("flow", "size") else "",
                    ", ".join(m.backends()) or "none",
                    m.definition,
                    m.source,
                )
                for m in METRICS.values()
            ],
        ),
    )


ROOT = Path(__file__).resolve().parents[2]

_ABOUT_STACKS = Path(__file__).with_name("stacks.md").read_text(encoding="utf-8").strip()


def _programs() -> str:
    """Returns the table of what each stack that is a program can do, from the tables that they bring."""
    files = sorted((ROOT / "stacks").glob("*/stack.json"))
    programs = [json.loads(path.read_text(encoding="utf-8")) for path in files]

    def choice(values: list[bool]) -> str:
        return {(True,): "always", (False,): "never"}.get(tuple(values), "by the stack's setting")

    def yes(value: bool, words: str = "yes") -> str:
        return words if value else "no"

    rows = [
        ("stack", [one["title"] for one in programs]),
        ("IP versions", ["IPv4, IPv6" for _ in programs]),
        ("transports", [", ".join(one["transports"]).upper() for one in programs]),
        ("congestion controls", [_codes(one["congestion_controls"]) for one in programs]),
        ("window scaling", ["always" for _ in programs]),
        ("selective acknowledgments", [choice(one["sack"]) for one in programs]),
        ("timestamps", [choice(one["timestamps"]) for one in programs]),
        (
            "room for options in every segment",
            [yes(one["has_option_room"], "28 bytes with SACK, 36 without timestamps") for one in programs],
        ),
        ("socket buffers", ["grow" if one["buffers_grow"] else "have one size" for one in programs]),
        (
            "fragments",
            [", ".join(f"IPv{version}" for version in one["fragments"]) or "no" for one in programs],
        ),
        (
            "heeds routers that say that a packet is too large",
            [yes(one["finds_path_mtu"]) for one in programs],
        ),
        ("traffic", [_codes(one["traffic"]) for one in programs]),
        ("flows' socket options", [_codes(one["socket_options"]) for one in programs]),
        ("`ip_bytes`, `wire_bytes`", [yes(one["counts_bytes"], "counted") for one in programs]),
        (
            "congestion window, round-trip times, `intervals` of connections",
            [yes(one["tells_state"]) for one in programs],
        ),
        ("captures, losses, delays, events", ["as with any host" for _ in programs]),
        ("backends", ["`lab`, `virtual`" for _ in programs]),
    ]
    columns = ["of such a host", *(f"`{one['name']}`" for one in programs)]
    return table(columns, [(row, *cells) for row, cells in rows])


def _codes(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _stacks() -> str:
    parts = [_ABOUT_STACKS.replace("TABLE", _programs())]
    for name in STACKS:
        profile = STACKS[name]
        settings = profile.stack.model_dump(exclude={"name"}, exclude_none=True)
        parts.append(f"## {name}\n\n{profile.title}. Source: {profile.source}.")
        parts.append(
            table(["setting", "value"], [(f"`{key}`", _value(value)) for key, value in settings.items()])
        )
    return page("Stacks", *parts)


def _congestion() -> str:
    def rows(own: bool, lab: bool = True) -> list[tuple[str, ...]]:
        chosen = [(name, CONTROLS[name]) for name in CONTROLS]
        return [
            (
                f"`{name}`",
                control.title,
                ", ".join(backends_of(name)),
                control.needs if lab else "",
                control.source,
            )
            for name, control in chosen
            if control.own == own and control.kernel == lab
        ]

    columns = ["congestion control", "title", "backends", "the lab needs", "source"]
    return page(
        "Congestion controls",
        "A host uses the congestion control of its stack, or that of its `congestion_control`. `nettrial "
        "list congestion` lists those that a machine has.",
        "## nettrial's own\n\nThese are implemented from their documents, and loaded into the running kernel "
        "(BPF) while a run needs them. They couple the subflows of MPTCP; a plain TCP connection has only "
        "one.",
        table(columns, rows(own=True)),
        "## The kernel's",
        table(columns, rows(own=False)),
        "## Only in the simulator",
        table(columns, rows(own=False, lab=False)),
    )


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {part}" for key, part in value.items())
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def _topologies() -> str:
    rows = []
    for name in TOPOLOGIES:
        shape = TOPOLOGIES[name]
        devices = ", ".join(shape.devices) or ("none" if shape.joins else "by its parameters")
        parts = (
            f"[`{name}`](#{name})" if shape.settable() else f"`{name}`",
            shape.title,
            shape.hosts,
            devices,
            " or ".join(shape.forwarding) or "none",
        )
        rows.append(parts)
    parts = [
        "A topology connects the hosts that a study names under `hosts`, in that order, or creates its own "
        "hosts: `host-1`, `host-2`, …. In that case, `hosts` in the study has one entry `every`, and may "
        "have entries for single hosts. Parameters are given under `network.parameters`. `nettrial draw` "
        "draws a topology.",
        table(["topology", "title", "hosts", "other nodes", "forwarding"], rows),
    ]
    for name in TOPOLOGIES:
        shape = TOPOLOGIES[name]
        if shape.settable():
            described = {row[0].strip("`"): row for row in rows_of(shape.parameters)}
            parts.append(f"## {name}\n\n{one_line(shape.parameters.__doc__)}")
            parts.append(
                table(
                    ["parameter", "value", "default", "meaning"],
                    [described[name] for name in shape.settable()],
                )
            )
    return page("Topologies", *parts)


def _backends() -> str:
    rows = [(f"`{name}`", BACKENDS[name].title) for name in BACKENDS]
    return page(
        "Backends",
        table(["backend", "title"], rows),
        "## Capabilities",
        "Each backend states its capabilities on a machine that lacks nothing. `settings` are settings that "
        "not every backend supports: the others refuse them. `figures` are figures that not every record "
        "has: a backend without one refuses responses with the [metrics](metrics.md) that need it.",
        table(["capability", *(f"`{name}`" for name in CAPABILITIES)], _capabilities()),
    )


def _capabilities() -> list[tuple[str, ...]]:
    def shown(value: Any) -> str:
        if isinstance(value, list):
            return ", ".join(f"`{each}`" for each in value) or "none"
        return "yes" if value else "no"

    stated = [CAPABILITIES[name].model_dump() for name in CAPABILITIES]
    return [(f"`{field}`", *(shown(each[field]) for each in stated)) for field in Capabilities.model_fields]


def _studies() -> str:
    studies, backends = [study.load(name) for name in study.shipped()], study.runs_on()
    rows = [
        (
            f"[{one.study}](../studies/{one.study}.md)",
            one.title,
            ", ".join(one.factors),
            one_line(one.question),
            ", ".join(f"`{name}`" for name in backends[one.study] or [one.backend]),
        )
        for one in studies
    ]
    return page(
        "Studies",
        "A study runs as it is on the backends in the last column; other levels or settings may need others. "
        "`sim`, `fluid` and `virtual` run on any machine of x86-64, unprivileged, and `sim` and `fluid` also "
        "on macOS and Windows.",
        table(["study", "title", "factors", "question", "runs on"], rows),
    )
