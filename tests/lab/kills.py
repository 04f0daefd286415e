"""Kills each long command of nettrial at random moments, with SIGKILL, and says what each kill left.

    sudo .venv/bin/python -m tests.lab.kills [--share 1] [--only NAME ...] [--out FILE]

Each command runs in a process-ID namespace and a network namespace of its own (`Sandbox`), with directories
of its own for its home and its temporary files. What is in them after a kill is therefore left by that
command, whatever else runs on the machine. After each kill the program looks for

- processes, network namespaces, interfaces and mounts, of which none may be left,
- settings of machines that are not as before, and entries of their journals,
- files that only a part of the work wrote.

Then it starts the command again, after three kills at most, which must succeed: no lock, no half-written file
and no used port stops it. A run must have the same plan as before, each trial once, and the records that it
had. Prints a table in Markdown; the exit status is 1 if any of this failed."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nettrial.backends.find import engine
from nettrial.guests import Catalogue
from nettrial.systems import GUEST_SYSTEMS
from tests import forked
from tests.lab import machines
from tests.lab.sandbox import Sandbox, wait_for

ROOT = Path(__file__).parents[2]
SYSTEMS = ROOT / ".venv" / "systems"
"""The directory into which tools/setup-tests.sh puts kernels."""
PATIENCE = 600.0
"""The time limit in seconds for what takes seconds on a quiet machine."""
PER_RUN = 3
"""The number of times that a run is killed before it must end."""
RUNNER = "the command"
PORT = 7777
"""The port of the server, in a network namespace of its own."""
TOKEN = "a-token-only-for-these-kills"
INTERFACES = {"lo"}
"""The interfaces of a new network namespace. The kernel may add those of tunnels (`TUNNELS`)."""
TUNNELS = re.compile(r"(tunl|gre|gretap|erspan|ip_vti|ip6_vti|sit|ip6tnl|ip6gre)0")

State = dict[str, str]


class Failed(Exception):
    """The error for something that a kill must not leave, or for a command that fails after it."""


@dataclass
class Row:
    """A row of the table: a command, and the process that was killed."""

    command: str
    victim: str
    kills: int = 0
    early: int = 0
    """The number of kills before the command had begun to write or after it had ended."""
    left: Counter[str] = field(default_factory=Counter)
    """The files that a kill left, by their kind. They stop no command."""
    failures: list[str] = field(default_factory=list)

    def cells(self) -> list[str]:
        left = ", ".join(f"{count} × {what}" for what, count in sorted(self.left.items())) or "nothing"
        again = "; ".join(self.failures) or "succeeded"
        return [self.command, self.victim, str(self.kills), left, again]


class World:
    """The place in which the commands run."""

    def __init__(self, folder: Path) -> None:
        self.sandbox = Sandbox(network=True)
        self.folder = folder
        self.temporary = folder / "tmp"
        self.home = folder / "home"
        for directory in (self.temporary, self.home, folder / "work"):
            directory.mkdir()
        self.work = folder / "work"
        self._mounts = self.sandbox.mounted()

    def start(self, *arguments: str, **more: str) -> forked.Process:
        """Starts a command of nettrial."""
        given = {**os.environ, "PYTHONPATH": str(ROOT), "NETTRIAL_ENGINE": str(engine()), "NO_COLOR": "1"}
        given |= {"TMPDIR": str(self.temporary), "HOME": str(self.home), "NETTRIAL_TOKEN": TOKEN, **more}
        log = self.folder / ("errors-of-server" if arguments[0] == "serve" else "errors")
        command = forked.Command(
            arguments, given, self.work, report=arguments[0] in ("report", "compare"),
            inside=self.sandbox.first, errors=log,
        )  # fmt: skip
        return forked.Process(command)

    def run(self, *arguments: str, **more: str) -> None:
        """Runs a command until it ends; raises Failed if it fails."""
        with self.start(*arguments, **more) as process:
            process.communicate(timeout=PATIENCE)
        if process.returncode != 0:
            said = (self.folder / "errors").read_text().strip()[-400:]
            raise Failed(f"`nettrial {' '.join(arguments)}` ended with {process.returncode}: {said}")

    def kill(self, process: forked.Process) -> None:
        """Kills a command of nettrial, and waits for its end."""

        def is_over() -> bool:
            # The command may not have entered the sandbox yet.
            self.sandbox.send(process.pid, signal.SIGKILL)
            return process.poll() is not None

        wait_for(is_over, PATIENCE)
        process.communicate(timeout=PATIENCE)

    def left(self) -> list[str]:
        """Returns processes, namespaces, interfaces and mounts that are left after a while."""
        wait_for(lambda: not self.sandbox.processes() and not self.sandbox.namespaces(), 60)
        found = [f"the process {command[:80]}" for command in self.sandbox.processes().values()]
        found += [f"the namespace {name}" for name in self.sandbox.namespaces()]
        listed = json.loads(self.sandbox.do(["ip", "-j", "link"]))
        names = {link["ifname"] for link in listed} - INTERFACES
        found += [f"the interface {name}" for name in names if not TUNNELS.fullmatch(name)]
        return found + (["a mount"] if self.sandbox.mounted() != self._mounts else [])

    def listens(self, port: int) -> bool:
        """Returns whether a process listens at this TCP port."""
        return f":{port} " in self.sandbox.do(["ss", "-Hltn"])

    def files(self) -> list[str]:
        """Returns the kinds of temporary files that are left, and deletes them."""
        found = []
        for path in [*self.temporary.iterdir(), *self.home.iterdir()]:
            found.append(f"`{re.sub(r'[0-9a-z_]{6,}', '…', path.name)}` in the directory of temporary files")
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        return found

    def unfinished(self) -> list[str]:
        """Returns the kinds of temporary files and directories in the directory of the work, which the next
        command of that kind removes."""
        found = [path.name for path in self.work.rglob(".*nettrial-*")]
        return [f"`{re.sub(r'[0-9a-f]{16}', '…', name)}`, which the next command removes" for name in found]

    def expect_whole(self) -> None:
        """Raises Failed if a command has not removed what a killed one left."""
        if found := self.unfinished():
            raise Failed(f"{', '.join(found)}; it did not")

    def close(self) -> None:
        self.sandbox.close()


class Command(ABC):
    """A long command, which is killed."""

    name: str
    victims: dict[str, str] = {RUNNER: ""}
    """The processes that are killed, with words in the command line of each; none of the command itself."""
    kills: int
    """The number of times that it is killed."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.chance = random.Random(self.name)
        self.seconds = 1.0
        """The duration of the command when nothing kills it."""

    @abstractmethod
    def prepare(self) -> None:
        """Makes what the command needs, and runs it once, which gives its duration."""

    def missing(self) -> str:
        """Returns the reason for which the command can't run here; empty if it can."""
        return ""

    @abstractmethod
    def once(self, victim: str, row: Row) -> None:
        """Kills the command once; raises Failed."""

    def end(self, row: Row) -> None:
        """Checks what can be checked after several kills only; raises Failed."""
        return

    def timed(self, work: Callable[[], None]) -> None:
        began = time.monotonic()
        work()
        self.seconds = time.monotonic() - began

    def kill_in_time(self, row: Row, *arguments: str, **more: str) -> None:
        """Starts the command with these arguments and variables, kills it at a random moment of the time that
        it takes, and notes what it left."""
        with self.world.start(*arguments, **more) as process:
            time.sleep(self.chance.uniform(0.0, self.seconds))
            row.early += process.poll() is not None
            self.world.kill(process)
        row.kills += 1
        self.expect_nothing()
        row.left.update(self.world.files())

    def expect_nothing(self) -> None:
        if found := self.world.left():
            raise Failed(f"left {', '.join(sorted(set(found)))}")


class Run(Command):
    """A run, which is killed and resumed."""

    study: Sequence[str]
    options: Sequence[str] = ()
    environment: dict[str, str] = {}
    begun: str
    """Words in the command line of a process that exists as soon as a trial begins."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.number = 0
        self.kept: dict[int, bytes] = {}
        self.plan: list[tuple[object, ...]] = []
        self.since = 0

    @property
    def out(self) -> str:
        return f"{self.name.replace(' ', '-').replace(',', '')}-{self.number}"

    def prepare(self) -> None:
        self.timed(
            lambda: self.world.run("run", *self.study, *self.options, f"--out={self.out}", **self.environment)
        )
        self.read()
        self.next_one()

    def words(self) -> list[str]:
        if (self.world.work / self.out / "run.sqlite").exists():
            return [f"--resume={self.out}", *self.options]
        return [*self.study, *self.options, f"--out={self.out}"]

    def once(self, victim: str, row: Row) -> None:
        with self.start() as runner:
            if victim == RUNNER:
                time.sleep(self.chance.uniform(0.05, self.seconds))
                self.world.kill(runner)
            else:
                wanted = self.victims[victim]
                seen = lambda: self.has(wanted) or runner.poll() is not None  # noqa: E731
                assert wait_for(seen, PATIENCE)
                time.sleep(self.chance.uniform(0.0, self.seconds / 3))
                row.early += not self.has(wanted)
                self.world.sandbox.kill(wanted, signal.SIGKILL)
                # The command ends after the current trial, as after Ctrl-C.
                self.world.sandbox.send(runner.pid, signal.SIGTERM)
                runner.communicate(timeout=PATIENCE)
        row.kills += 1
        self.check(row)
        self.since += 1
        if self.since == PER_RUN:
            self.complete()

    def start(self) -> forked.Process:
        return self.world.start("run", *self.words(), **self.environment)

    def has(self, wanted: str) -> bool:
        return any(wanted in command for command in self.world.sandbox.processes().values())

    def check(self, row: Row) -> None:
        self.expect_nothing()
        row.left.update(self.world.files())
        row.left.update(self.world.unfinished())
        self.read()

    def read(self) -> None:
        """Compares the run file with what it contained before."""
        file = self.world.work / self.out / "run.sqlite"
        if not file.exists():
            return
        with contextlib.closing(sqlite3.connect(file)) as connection:
            if connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
                raise Failed("the run file is damaged")
            if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'trial'").fetchall():
                return
            plan = connection.execute("SELECT * FROM planned ORDER BY 1").fetchall()
            records = connection.execute("SELECT number, record FROM trial").fetchall()
        if len({number for number, _ in records}) != len(records):
            raise Failed("a trial is in the run file twice")
        if self.plan and plan != self.plan:
            raise Failed("the plan changed")
        if any(dict(records).get(number) != record for number, record in self.kept.items()):
            raise Failed("a record was lost or changed")
        self.plan, self.kept = plan, dict(records)

    def complete(self) -> None:
        """Resumes the run until its end; raises Failed if a trial is missing."""
        self.world.run("run", *self.words(), f"--out={self.out}", **self.environment)
        self.read()
        if len(self.kept) != len(self.plan) or not self.plan:
            raise Failed(f"{len(self.kept)} of {len(self.plan)} trials after the end")
        if not (self.world.work / self.out / "report.html").exists():
            raise Failed("no report")
        self.world.expect_whole()
        self.next_one()

    def next_one(self) -> None:
        """Begins another run."""
        shutil.rmtree(self.world.work / self.out, ignore_errors=True)
        self.number += 1
        self.since, self.kept, self.plan = 0, {}, []

    def end(self, row: Row) -> None:
        if self.since:
            self.complete()


class InSimulator(Run):
    name = "run, in the simulator"
    kills = 14
    study = (*machines.short_study("20 s", replicates=2), "--backend=sim")
    victims = {RUNNER: "", "the engine": "nettrial-engine sim"}


class InLab(Run):
    name = "run, in the lab"
    kills = 18
    study = machines.short_study("300 ms", replicates=2)
    victims = {RUNNER: "", "the engine": "nettrial-engine lab", "an agent": "/proc/self/exe agent"}


class WithGuests(Run):
    name = "run, with guests"
    kills = 6
    study = (
        *(
            "kernel-versions",
            "--replicates=1",
            "--set=ip=4",
            "--set=mtu=1500",
            "--set=network.rate=10 Mbit/s",
        ),
        *("--set=workload.transfer.traffic.duration=500 ms", "--set=workload.request.start=1 s"),
        "--set=workload.request.traffic.duration=300 ms",
    )
    victims = {RUNNER: "", "the engine": "nettrial-engine lab", "QEMU": "qemu-system"}
    environment = {GUEST_SYSTEMS: str(SYSTEMS)}

    def missing(self) -> str:
        names = {entry.name for entry in Catalogue(SYSTEMS).entries()} if SYSTEMS.exists() else set()
        return "" if {"linux-6.1", "linux-6.12"} <= names else "no kernels: tools/setup-tests.sh fetches them"


class OnMachines(Run):
    name = "run, on machines"
    kills = 24
    study = (*machines.short_study("150 ms", replicates=2), "--backend=hosts")
    options = ("--machines=machines.yaml",)
    victims = {
        RUNNER: "",
        "the engine": "nettrial-engine hosts",
        "ssh": "ServerAliveInterval",
        "the engine on a machine": "machine serve",
        "the guard": "machine guard",
        "an agent": "/proc/self/exe agent",
    }

    def missing(self) -> str:
        return "" if machines.SERVER.exists() else "no OpenSSH server: tools/setup-tests.sh fetches it"

    def prepare(self) -> None:
        # The machines are in a sandbox of their own, where their servers run, too.
        self.sandbox = Sandbox()
        folder = self.world.folder / "machines"
        folder.mkdir()
        self.row = machines.Machines(self.sandbox, folder)
        self.row.install()
        self.world = _OnRow(self.world, self.row)
        self.before = self.row.state()
        super().prepare()

    def check(self, row: Row) -> None:
        if not wait_for(lambda: not self.row.engines(), 60):
            raise Failed(f"left {', '.join(self.row.engines().values())}")
        after = self.row.state()
        changed = [name for name, value in after.items() if value != self.before[name]]
        if changed:
            raise Failed(f"left the settings {', '.join(changed)}")
        self.read()

    def end(self, row: Row) -> None:
        try:
            super().end(row)
        finally:
            self.sandbox.close()


class _OnRow(World):
    """The runner's place among machines."""

    def __init__(self, world: World, row: machines.Machines) -> None:
        self.folder, self.sandbox, self.work = world.folder, row.sandbox, row.folder
        self._row = row

    def start(self, *arguments: str, **_: str) -> forked.Process:
        return self._row.start(*arguments)

    def run(self, *arguments: str, **_: str) -> None:
        done = self._row.nettrial(*arguments)
        if done.returncode != 0:
            raise Failed(
                f"`nettrial {' '.join(arguments)}` ended with {done.returncode}: {done.stderr[-400:]}"
            )


class Results(Command):
    """A command that reads a finished run and writes files, which is started again after each kill."""

    arguments: Sequence[str]
    product: str
    """The name of the file or directory that the command makes."""

    def prepare(self) -> None:
        self.source()
        self.timed(self.whole)
        self.expected = self.contents()
        self.remove()

    def source(self) -> None:
        study = machines.short_study("1 s", replicates=3)
        if not (self.world.work / "mine").exists():
            self.world.run("run", *study, "--backend=sim", "--out=mine")

    def whole(self) -> None:
        self.world.run(*self.arguments)

    def path(self) -> Path:
        return self.world.work / self.product

    def contents(self) -> set[str]:
        return {path.name for path in self.path().iterdir()} if self.path().is_dir() else {self.product}

    def remove(self) -> None:
        shutil.rmtree(self.path()) if self.path().is_dir() else self.path().unlink(missing_ok=True)

    def once(self, victim: str, row: Row) -> None:
        self.remove()
        around = self.listed()
        self.kill_in_time(row, *self.arguments)
        if self.path().exists() and self.contents() != self.expected:
            raise Failed(f"left a part of {self.product}")
        self.intact()
        left = self.world.unfinished()
        row.left.update(left)
        is_due = row.kills % PER_RUN == 0 or row.kills == self.kills
        if left or (is_due and not self.path().exists()):
            self.remove()
            self.whole()
            if self.contents() != self.expected:
                raise Failed(f"{self.product} is incomplete after the next start")
            self.intact()
        if more := self.listed() - around - {self.product}:
            raise Failed(f"left {', '.join(sorted(more))}")

    def listed(self) -> set[str]:
        inner = {f"mine/{path.name}" for path in (self.world.work / "mine").iterdir()}
        return {path.name for path in self.world.work.iterdir()} | inner

    def intact(self) -> None:
        """Checks what the command made, if it made something; raises Failed."""


class Report(Results):
    name = "report"
    kills = 5
    arguments = ("report", "mine", "--figures", "figures")
    product = "figures"

    def intact(self) -> None:
        page = (self.world.work / "mine" / "report.html").read_text()
        if not page.rstrip().endswith("</html>"):
            raise Failed("the page is incomplete")


class Export(Results):
    name = "export"
    kills = 8
    arguments = ("export", "mine", "--to", "csv", "--out", "tables")
    product = "tables"


class Import(Results):
    name = "import"
    kills = 8
    arguments = ("import", "iperf3.json", "--out", "imported")
    product = "imported"
    copies = 40

    def source(self) -> None:
        super().source()
        text = (ROOT / "tests" / "iperf3" / "3.12.json").read_text().lstrip()
        _, end = json.JSONDecoder().raw_decode(text)
        (self.world.work / "iperf3.json").write_text((text[:end] + "\n") * self.copies)


class SystemsAdd(Command):
    """Systems are added to a cache, and removed from it."""

    name = "systems add"
    kills = 12
    arguments: Sequence[str] = ("systems", "add", "disk", "--image", "disk.raw")

    def prepare(self) -> None:
        image = self.world.work / "disk.raw"
        if not image.exists():
            with image.open("wb") as file:
                file.write(bytes(510) + b"\x55\xaa" + os.urandom(2**20) * 192 + bytes(512 * 2))
                file.truncate(file.tell() // 512 * 512)
        self.cache = self.world.folder / "cache"
        self.timed(lambda: self.command("add"))
        self.whole = self.kept()
        self.command("remove")

    def command(self, which: str) -> None:
        words = self.words(which)
        self.world.run(*words, **{GUEST_SYSTEMS: str(self.cache)})

    def words(self, which: str) -> list[str]:
        return (
            ["systems", "add", "disk", "--image", "disk.raw"]
            if which == "add"
            else ["systems", "remove", "disk"]
        )

    def kept(self) -> set[str]:
        return {path.name for path in self.cache.iterdir() if not path.name.startswith(".")}

    def once(self, victim: str, row: Row) -> None:
        self.killed("add", row)
        if any(name.endswith(".json") for name in self.kept()):
            if self.kept() != self.whole:
                raise Failed("the cache has a system without its files")
            self.command("remove")
        self.command("add")
        if self.kept() != self.whole:
            raise Failed(f"the cache has other files after the next start: {self.kept() ^ self.whole}")
        self.command("remove")
        if remains := [path.name for path in self.cache.iterdir() if path.name != ".lock"]:
            raise Failed(f"the cache is not empty after a removal: {', '.join(remains)}")

    def killed(self, which: str, row: Row) -> None:
        self.kill_in_time(row, *self.words(which), **{GUEST_SYSTEMS: str(self.cache)})
        names = [path.name for path in self.cache.iterdir() if path.name.startswith(".unfinished")]
        row.left.update(["`.unfinished-…` in the cache, which the next command removes"] * len(names))
        documents = [name for name in self.kept() if name.endswith(".json")]
        if not documents and self.kept():
            row.left["a file of no system in the cache, which the next removal deletes"] += 1


class SystemsRemove(SystemsAdd):
    name = "systems remove"
    kills = 12

    def once(self, victim: str, row: Row) -> None:
        self.command("add")
        self.killed("remove", row)
        if any(name.endswith(".json") for name in self.kept()):
            if self.kept() != self.whole:
                raise Failed("the cache has a system without its files")
            self.command("remove")
        self.command("add")
        self.command("remove")
        if remains := [path.name for path in self.cache.iterdir() if path.name != ".lock"]:
            raise Failed(f"the cache is not empty after a removal: {', '.join(remains)}")


class WithServer(Command):
    """A command that needs `nettrial serve`."""

    @contextlib.contextmanager
    def serving(self) -> Iterator[forked.Process]:
        # The engine of an earlier server ends a moment after its command was killed.
        wait_for(lambda: not self.world.listens(PORT), PATIENCE)
        process = self.world.start("serve", "--bind", "127.0.0.1", "--port", str(PORT))
        try:
            ready = lambda: self.world.listens(PORT) or process.poll() is not None  # noqa: E731
            if not wait_for(ready, PATIENCE) or process.poll() is not None:
                raise Failed(f"the server did not start: {(self.world.folder / 'errors').read_text()[-300:]}")
            yield process
        finally:
            self.world.kill(process)
            process.__exit__()


class Measure(WithServer):
    """A measurement with a server, of which either is killed."""

    name = "measure, serve"
    kills = 10
    victims = {"the client": "", "the server": ""}

    def prepare(self) -> None:
        self.number = 0
        self.timed(self.whole)

    def whole(self) -> None:
        with self.serving():
            self.measure()

    def measure(self) -> None:
        self.number += 1
        self.world.run(*self.words())

    def words(self) -> list[str]:
        return [
            "measure",
            "127.0.0.1",
            "--port",
            "7777",
            "--time",
            "300 ms",
            "--replicates",
            "3",
            "--out",
            f"m-{self.number}",
        ]

    def once(self, victim: str, row: Row) -> None:
        with self.serving() as server:
            self.number += 1
            with self.world.start(*self.words()) as client:
                time.sleep(self.chance.uniform(0.0, self.seconds))
                self.world.kill(client if victim == "the client" else server)
                if victim == "the client":
                    row.kills += 1
                    self.measure()  # The server serves the next client.
                else:
                    row.kills += 1
                    client.communicate(timeout=PATIENCE)
        self.expect_nothing()
        row.left.update(self.world.files())
        row.left.update(self.world.unfinished())
        self.whole()  # The port is free again.
        self.world.expect_whole()


class Monitor(WithServer):
    """A monitor, which is killed and started again on its archive."""

    name = "monitor"
    kills = 10
    MESH = """
mesh: kills
hosts:
  here: {}
  there: {address: 127.0.0.1, serves: nettrial, port: 7777, token_file: token}
limits: {share: 100%}
measurements:
  goodput: {kind: tcp, from: [here], to: [there], every: 10 s, duration: 100 ms}
"""

    def prepare(self) -> None:
        (self.world.work / "token").write_text(TOKEN)
        (self.world.work / "token").chmod(0o600)
        (self.world.work / "mesh.yaml").write_text(self.MESH)
        self.entries: set[tuple[int, int, float, str | None, bytes | None]] = set()
        with self.serving(), self.world.start("monitor", "mesh.yaml") as monitor:
            began = time.monotonic()
            if (
                not wait_for(lambda: self.read() or self.entries or monitor.poll() is not None, PATIENCE)
                or not self.entries
            ):
                raise Failed(
                    f"the monitor measured nothing: {(self.world.folder / 'errors').read_text()[-300:]}"
                )
            # Some kills come before the first measurement, and some between others.
            self.seconds = 2 * (time.monotonic() - began)
            self.world.kill(monitor)

    def once(self, victim: str, row: Row) -> None:
        with self.serving(), self.world.start("monitor", "mesh.yaml") as monitor:
            time.sleep(self.chance.uniform(0.0, self.seconds))
            if monitor.poll() is not None:
                raise Failed(f"the monitor ended: {(self.world.folder / 'errors').read_text()[-300:]}")
            self.world.kill(monitor)
            row.kills += 1
        self.expect_nothing()
        row.left.update(self.world.files())
        self.read()

    def read(self) -> None:
        files = list(self.world.work.glob("kills-archive/*.sqlite"))
        if not files:
            return
        with contextlib.closing(sqlite3.connect(files[0])) as connection:
            if connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
                raise Failed("the archive is damaged")
            if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'entry'").fetchall():
                return
            entries = set(connection.execute("SELECT first, last, at_s, reason, record FROM entry"))
        for first, last, at_s, reason, record in self.entries - entries:
            # The next monitor extends a gap that comes directly before its own.
            extended = {(at, why) for begin, end, at, why, _ in entries if begin == first and end > last}
            if record is not None or (at_s, reason) not in extended:
                raise Failed("an entry of the archive was lost or changed")
        self.entries = entries

    def end(self, row: Row) -> None:
        if not self.entries:
            raise Failed("the archive has no entry")


COMMANDS: tuple[type[Command], ...] = (
    *(InSimulator, InLab, WithGuests, OnMachines, Measure, Monitor),
    *(Export, Import, Report, SystemsAdd, SystemsRemove),
)


def rows_of(kind: type[Command], kills: int, folder: Path) -> list[Row]:
    """Kills a command this number of times; returns a row for each victim."""
    folder.mkdir()
    world = World(folder)
    command = kind(world)
    rows = [Row(command.name, victim) for victim in command.victims]
    if lacking := command.missing():
        world.close()
        return [Row(command.name, victim, failures=[f"not run: {lacking}"]) for victim in command.victims]
    try:
        command.prepare()
        for number in range(kills):
            row = rows[number % len(rows)]
            try:
                command.once(row.victim, row)
            except Failed as why:
                row.failures.append(str(why))
            say(f"{command.name}: {row.victim}, {number + 1} of {kills}: {row.failures[-1:] or 'sound'}")
        try:
            command.end(rows[-1])
        except Failed as why:
            rows[-1].failures.append(str(why))
    except Failed as why:
        rows[0].failures.append(f"can't be prepared: {why}")
    finally:
        world.close()
    return rows


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    """Kills, and prints the table."""
    parser = argparse.ArgumentParser(description="Kills each long command at random moments.")
    parser.add_argument("--share", type=float, default=1.0, help="the part of all kills")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    chosen = [kind for kind in COMMANDS if not given.only or kind.name in given.only]
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="nettrial-kills-") as directory:
        for kind in chosen:
            kills = max(len(kind.victims), round(given.share * kind.kills))
            rows += rows_of(kind, kills, Path(directory) / re.sub(r"\W+", "-", kind.name))
    table = [
        "| command | killed | kills | left by a kill | started again |",
        "| --- | --- | ---: | --- | --- |",
    ]
    table += [f"| {' | '.join(row.cells())} |" for row in rows]
    table.append(f"| all | | {sum(row.kills for row in rows)} | | |")
    text = "\n".join(table) + "\n"
    print(text)
    if given.out:
        given.out.write_text(text)
    return int(any(row.failures and not row.failures[0].startswith("not run") for row in rows))


if __name__ == "__main__":
    sys.exit(main())
