"""`nettrial list`: stored runs, and the registered studies, topologies and so on, by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from nettrial import study
from nettrial.backends import BACKENDS, Configuration
from nettrial.capabilities import CAPABILITIES
from nettrial.cli import READING
from nettrial.cli.console import print_table
from nettrial.congestion import CONTROLS, Control, backends_of
from nettrial.errors import BadInput
from nettrial.metrics import METRICS
from nettrial.registry import Registry, UnknownName, near
from nettrial.stacks import STACKS
from nettrial.topology import TOPOLOGIES

Rows = list[list[str]]
"""The rows of a table."""
RUNS = "runs"
"""The list of stored runs."""


def _studies() -> tuple[list[str], Rows]:
    loaded = {name: study.load(name) for name in [*study.shipped(), *study.examples()]}
    backends = study.runs_on()
    return ["study", "title", "factors", "runs on"], [
        [name, each.title, ", ".join(each.factors), ", ".join(backends[name]) or each.backend]
        for name, each in loaded.items()
    ]


def _topologies() -> tuple[list[str], Rows]:
    return ["topology", "title", "hosts", "parameters"], [
        [name, shape.title, shape.hosts, ", ".join(shape.settable())]
        for name, shape in ((name, TOPOLOGIES[name]) for name in TOPOLOGIES)
    ]


def _metrics() -> tuple[list[str], Rows]:
    return ["metric", "unit", "of", "better", "group", "backends", "definition", "source"], [
        [
            m.name,
            m.unit,
            m.of,
            m.better,
            m.group if m.of in ("flow", "size") else "",
            ", ".join(m.backends()) or "none",
            m.definition,
            m.source,
        ]
        for m in METRICS.values()
    ]


def _stacks() -> tuple[list[str], Rows]:
    return ["stack", "title", "source"], [[name, STACKS[name].title, STACKS[name].source] for name in STACKS]


def _congestion() -> tuple[list[str], Rows]:
    here: set[str] = set()
    for name in BACKENDS:
        needs_no_machines = BACKENDS[name].configuration is Configuration
        of_this_machine = needs_no_machines and not CAPABILITIES[name].simulated_time
        if CAPABILITIES[name].kernel_congestion_controls and of_this_machine:
            with BACKENDS[name].start(Configuration()) as backend:
                here.update(backend.preflight(thorough=True).environment.congestion_controls)

    def is_here(name: str, control: Control) -> str:
        if not control.kernel:
            return ""
        return "yes" if name in here else "no" if control.own else "not loaded"

    return ["congestion control", "title", "backends", "the lab needs", "here", "source"], [
        [
            name,
            CONTROLS[name].title,
            ", ".join(backends_of(name)),
            CONTROLS[name].needs if CONTROLS[name].kernel else "",
            is_here(name, CONTROLS[name]),
            CONTROLS[name].source,
        ]
        for name in CONTROLS
    ]


def _backends() -> tuple[list[str], Rows]:
    return ["backend", "title"], [[name, BACKENDS[name].title] for name in BACKENDS]


LISTS: Registry[Callable[[], tuple[list[str], Rows]]] = Registry("list")
"""The available lists by name, each a function that returns its columns and rows."""

LISTS.add("studies", _studies)
LISTS.add("topologies", _topologies)
LISTS.add("metrics", _metrics)
LISTS.add("stacks", _stacks)
LISTS.add("congestion", _congestion)
LISTS.add("backends", _backends)


def show(what: str, directory: Path | None = None, as_json: bool = False) -> None:
    """Prints the list of that name, for "runs" of those in a directory; raises BadInput, and CannotRun if no
    engine can be asked."""
    if what == RUNS:
        from nettrial.cli import runs  # imported only when needed: the analysis is slow to load

        runs.show(directory, as_json)
        return
    try:
        make = LISTS[what]
    except UnknownName as unknown:
        expected, hint = f"{unknown.expected}, {RUNS}", near(what, [*LISTS, RUNS])
        raise BadInput(READING, "WHAT", str(unknown), expected, hint) from None
    if directory is not None:
        raise BadInput(READING, "DIR", str(directory), f"only with {RUNS}")
    columns, rows = make()
    if as_json:
        from nettrial.cli.documents import base as documents
        from nettrial.cli.documents import listing as listing_documents

        entries = [dict(zip(columns, row, strict=True)) for row in rows]
        documents.show(listing_documents.ListDocument(list=what, entries=entries))
        return
    print_table(columns, rows)
