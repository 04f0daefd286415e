"""`nettrial monitor`: measures between many hosts again and again."""

from __future__ import annotations

import getpass
import os
import signal
import sqlite3
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from nettrial.cli.console import print_table, say
from nettrial.errors import BadInput, CannotRun, Lack
from nettrial.monitor.archive import OPENING, Archive
from nettrial.monitor.kinds import KINDS
from nettrial.monitor.mesh import READING, Mesh, load, share_of
from nettrial.monitor.running import Monitor, Post, SystemClock, Threads
from nettrial.report import numbers
from nettrial.systems import is_root
from nettrial.texts import visible

ADDRESS = "127.0.0.1"
"""The default address of the page, at which only this machine can reach it."""
STATE = Path("/var/lib")
"""The directory below which systemd creates the state directories of services."""
CONFINED = (
    "NoNewPrivileges=yes",
    "ProtectSystem=strict",
    "ProtectHome=read-only",
    "PrivateTmp=yes",
    "PrivateDevices=yes",
    "ProtectClock=yes",
    "ProtectControlGroups=yes",
    "ProtectHostname=yes",
    "ProtectKernelLogs=yes",
    "ProtectKernelModules=yes",
    "ProtectKernelTunables=yes",
    "ProtectProc=invisible",
    "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK",
    "RestrictNamespaces=yes",
    "RestrictRealtime=yes",
    "RestrictSUIDSGID=yes",
    "LockPersonality=yes",
    "RemoveIPC=yes",
    "SystemCallArchitectures=native",
    "SystemCallFilter=@system-service",
    "SystemCallErrorNumber=EPERM",
)
"""The lines of the unit that take from the monitor what it does not need (systemd.exec(5)). Memory may be
written and executed: the JavaScript engine that draws the page's charts compiles code."""
STOPPED = "stopped by a signal"
"""The note in the archive about a monitor that a signal ended."""


@dataclass(frozen=True)
class MonitorOptions:
    """The options of the command, as they were given."""

    file: Path
    """The mesh file."""
    dry: bool
    """True if the plan is only printed."""
    systemd: bool
    """True if a unit for systemd is printed instead."""
    quiet: bool
    """True without messages about each round."""
    port: int | None = None
    """The port of the page; None for no page, 0 for any free port."""
    bind: str = ADDRESS
    """The address of the page."""
    allow_exec: bool = False
    """True if the command of alerts may run."""


def monitor(options: MonitorOptions) -> None:
    """Measures until Ctrl-C; raises BadInput and CannotRun."""
    mesh = load(options.file)
    if not (options.allow_exec or options.dry):
        _refuse_programs(mesh, options.file)
    if options.systemd:
        print(unit(mesh, options), end="")
    elif options.dry:
        _show(mesh)
    else:
        _run(mesh, options)


def _refuse_programs(mesh: Mesh, file: Path) -> None:
    """Raises BadInput for the first program that the mesh file or its inventory names."""
    named = [(f"{file}: alerts.command", mesh.alerts.command)] if mesh.alerts else []
    named += [
        (f"{mesh.machines}: machines.{host.machine}", machine.command or machine.engine)
        for host in mesh.hosts.values()
        if (machine := mesh.inventory.get(host.machine or ""))
    ]
    for where, command in named:
        if command:
            expected = "--allow-exec, which lets the monitor run this program"
            hint = "a file of somebody else could name any program: read it first"
            raise BadInput(READING, where, command[0], expected, hint)


def _run(mesh: Mesh, options: MonitorOptions) -> None:
    assert mesh.archive is not None

    def note(text: str) -> None:
        if not options.quiet:
            say(f"{time.strftime('%H:%M:%S')} {visible(text)}")

    # Needed in the background of a shell, which makes its jobs ignore Ctrl-C.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    archive = Archive.create(mesh.archive)
    try:
        post = Post(mesh.alerts, options.file.parent) if mesh.alerts else None
        running = Monitor(mesh, archive, Threads(), SystemClock(), note, post)
        try:
            running.begin()
        except sqlite3.Error as error:
            remedy = "free space on its disk, or choose another `archive`"
            raise CannotRun("starting the monitor", [Lack(str(mesh.archive), str(error), remedy)]) from None
        pairs = numbers.counted(len(mesh.tasks()), "pair")
        try:
            say(f"{mesh.mesh}: measuring {pairs} until Ctrl-C; archive: {mesh.archive}")
            with _page(mesh.archive, options):
                while True:
                    running.step()
        except KeyboardInterrupt:
            running.end(STOPPED)
            say("")
    finally:
        archive.close()


@contextmanager
def _page(archive: Path, options: MonitorOptions) -> Iterator[None]:
    """Serves the page while the block runs, if it was asked for; raises CannotRun."""
    if options.port is None:
        yield
        return
    from nettrial.monitor.site import server  # imported only when needed: charts are slow to load

    with server(archive, options.bind, options.port) as served, served.running():
        say(f"page: {served.url}")
        yield


def _show(mesh: Mesh) -> None:
    """Prints the measurements, and the share of its time for which each host is measured."""
    tasks = mesh.tasks()
    rows = [
        (
            *(task.measurement, task.settings.kind, task.source, task.target, task.settings.every),
            f"{KINDS[task.settings.kind].seconds(task):.3g} s",
        )
        for task in tasks
    ]
    print_table(["measurement", "kind", "from", "to", "every", "expected time"], rows)
    print()
    hosts = []
    for host in mesh.hosts:
        share = sum(share_of(task) for task in tasks if host in (task.source, task.target))
        most = mesh.limits_of(host)
        size = "none" if most.bytes_a_day is None else most.bytes_a_day
        hosts.append((host, f"{100 * share:.3g}%", most.share, size))
    print_table(["host", "time measured", "its limit", "limit of bytes a day"], hosts)


def unit(mesh: Mesh, options: MonitorOptions) -> str:
    """Returns a unit of systemd that runs the monitor (systemd.service(5), systemd.exec(5)), as the present
    user or, for root, as a user of its own where that user can read every file.

    No line of it runs with more privileges than the monitor, so that user can't use it to get more. systemd
    therefore creates the archive's directory where it can do so safely, which is below /var/lib, and this
    function creates it elsewhere. Raises BadInput."""
    assert mesh.archive is not None
    archive = Path(os.path.abspath(mesh.archive))
    words = [sys.executable, "-m", "nettrial.cli", "monitor", str(options.file.absolute())]
    words += ["--allow-exec"] if options.allow_exec else []
    words += [] if options.port is None else ["--port", str(options.port), "--bind", options.bind]
    for text in (*words, str(archive)):
        if not text.isprintable():
            raise BadInput(OPENING, "--systemd", visible(text), "paths without control characters")
    is_state = archive != STATE and archive.is_relative_to(STATE)
    user = f"User={getpass.getuser()}"
    if is_state:
        place = f"StateDirectory={_path(str(archive.relative_to(STATE)))}"
        if is_root() and all(map(_is_open, _read(mesh, options))):
            user = "DynamicUser=yes"
    else:
        place = f"ReadWritePaths={_path('-' + str(archive))}"
        try:
            archive.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            why = error.strerror or str(error)
            raise BadInput(
                OPENING, str(archive), why, "a directory to write to, or one below /var/lib"
            ) from None
    capability = "CAP_NET_BIND_SERVICE" if options.port is not None and 0 < options.port < 1024 else ""
    lines = [
        "[Unit]",
        f"Description=nettrial monitor of {mesh.mesh}",
        "Wants=network-online.target",
        "After=network-online.target",
        "",
        "[Service]",
        user,
        place,
        f"ExecStart={' '.join(map(_word, words))}",
        "Restart=on-failure",
        "RestartSec=30",
        f"AmbientCapabilities={capability}",
        f"CapabilityBoundingSet={capability}",
        *CONFINED,
        "",
        "[Install]",
        "WantedBy=multi-user.target",
    ]
    return "\n".join(lines) + "\n"


def _read(mesh: Mesh, options: MonitorOptions) -> Iterator[Path]:
    """Yields the files that the monitor reads. Those of an inventory include the keys of a user's SSH client,
    whose places are not known; its own file stands for them."""
    yield Path(sys.executable)
    yield Path(__file__)
    yield options.file
    for host in mesh.hosts.values():
        if host.token_file is not None:
            yield host.token_file
    if mesh.machines is not None:
        yield Path.home() / ".ssh"


def _is_open(path: Path) -> bool:
    """Returns whether every user can read a file."""
    path = path.absolute()
    for each in (path, path.resolve()):
        if not all(folder.stat().st_mode & stat.S_IXOTH for folder in each.parents):
            return False
    return path.is_file() and bool(path.stat().st_mode & stat.S_IROTH)


def _word(text: str) -> str:
    """Returns a word of a command of a unit, escaped: systemd also expands $ there."""
    return _path(text.replace("$", "$$"))


def _path(text: str) -> str:
    """Returns a path of a unit, escaped: systemd expands %, and reads quotes and backslashes as C does."""
    text = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{text}"'
