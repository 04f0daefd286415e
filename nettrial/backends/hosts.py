"""The user's own machines: how the engine reaches them, and getting it there."""

from __future__ import annotations

import hashlib
import json
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Protocol

import nettrial
from nettrial.backends import find
from nettrial.backends.backend import BACKENDS, Backend, BackendKind, Configuration
from nettrial.errors import BadInput, Lack

SSH = ("ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10")
"""The OpenSSH client (ssh_config(5)): without a terminal, and never asking for anything."""
ALIVE = ("-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3")
"""The options of ssh by which it notices that a machine vanished."""
SHELL = "sh"
"""The shell that is run there, a POSIX shell, which takes what follows from its standard input, so that
nothing must be quoted for what the command passes its words through."""
FOLDER = ".local/share/nettrial"
"""The directory of the engine there, below the user's home directory."""
READY = "nettrial-ready"
INSTALLED = "nettrial-installed"
HASHES = "sha256sum 'shasum -a 256' 'sha256 -q'"
"""The commands that print a file's SHA-256: of Linux, of macOS, and of FreeBSD."""
PATIENCE_SECONDS = 120.0
"""The time that copying the engine, or restoring, may take."""


class Reachable(Protocol):
    """A machine of an inventory."""

    @property
    def ssh(self) -> str | None:
        """The destination for the OpenSSH client, if that reaches it."""

    @property
    def command(self) -> list[str] | None:
        """The command that reaches it, if one does."""

    @property
    def engine(self) -> list[str] | None:
        """The command that is the engine there, if one is."""

    @property
    def binary(self) -> Path | None:
        """The file here of the engine for its system and CPU, if that is another than this machine's."""

    @property
    def interfaces(self) -> dict[str, list[str]]:
        """The addresses of traffic, by interface."""

    @property
    def may_change(self) -> Sequence[str]:
        """The settings that may be changed there."""

    @property
    def nodes(self) -> list[str]:
        """The nodes of studies that it stands for."""

    @property
    def reached_by(self) -> str:
        """The way to it, in the user's words."""


def reach(machine: Reachable) -> list[str]:
    """The command whose standard input and output are those of a shell on the machine; of its engine, where a
    command of the user's is that."""
    if machine.engine:
        return [*machine.engine, "machine", "serve"]
    if machine.ssh:
        return [*SSH, *ALIVE, machine.ssh, SHELL]
    return [*(machine.command or []), SHELL]


def engine_there(machine: Reachable) -> str:
    """Returns the file of the engine on a machine, below the user's home directory.

    Its name has the version and the hash of the file here, so that no other one is run. Raises BadInput where
    that file can't be read."""
    return f"{FOLDER}/engine-{nettrial.__version__}-{_digest(_binary(machine))[:16]}"


def _binary(machine: Reachable) -> Path:
    """Returns the file here of the engine that is for a machine."""
    return machine.binary or find.engine()


@lru_cache
def _digest(binary: Path) -> str:
    """Returns the SHA-256 of an engine, which most machines have in common. Raises BadInput where it can't be
    read."""
    try:
        with binary.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise BadInput(
            "reading the engine of the inventory",
            "binary",
            str(binary),
            "the engine for that machine's system and CPU, a file on this machine",
            error.strerror or "",
        ) from None


class Machines(Configuration):
    """The machines that the backend is started with."""

    inventory: str = '{"machines": {}}'
    """The engine's inventory, a JSON document. Without a machine the engine can say what none could run."""

    @classmethod
    def of(cls, machines: Mapping[str, Reachable]) -> Machines:
        """Makes the machines of an inventory.

        Raises CannotRun where there is no engine, and BadInput where one of the inventory can't be read."""
        document = {
            name: {
                "reach": reach(machine),
                "reached_by": machine.reached_by,
                "engine": None if machine.engine else engine_there(machine),
                "interfaces": [
                    {"name": interface, "addresses": addresses}
                    for interface, addresses in machine.interfaces.items()
                ],
                "may_change": list(machine.may_change),
                "nodes": machine.nodes,
            }
            for name, machine in machines.items()
        }
        return cls(inventory=json.dumps({"machines": document}))

    def arguments(self) -> list[str]:
        """The engine's arguments that say it, after the subcommand."""
        return [self.inventory]


BACKENDS.add(
    "hosts",
    BackendKind(
        "machines of your own, reached over SSH or by any command",
        partial(Backend, "hosts"),
        "on your machines",
        Machines,
    ),
)


@dataclass(frozen=True)
class Done:
    """The result of a command on a machine."""

    output: str
    lack: Lack | None
    """Why it did not do what it should, if it did not."""


def install(name: str, machine: Reachable) -> Lack | None:
    """Copies the engine for a machine there, where it is checked by its hash; gives why that failed, if it
    did. What was there under its name stays until the copy is whole.

    Raises BadInput where the inventory names an engine that can't be read."""
    digest = _digest(_binary(machine))
    data = _binary(machine).read_bytes()
    target, part = f'"$HOME"/{engine_there(machine)}', '"$part"'
    script = "; ".join(
        [
            f'part="$HOME/{FOLDER}/part-$$"',
            f'mkdir -p "$HOME/{FOLDER}" || exit 1',
            f"echo {READY}",
            f"head -c {len(data)} > {part} || {{ rm -f {part}; exit 1; }}",
            f"found=$(for tool in {HASHES}; do $tool < {part} 2> /dev/null && break; done | cut -c 1-64)",
            f'if [ "$found" = {digest} ]',
            f"then chmod 700 {part} && {part} --version > /dev/null && mv -f {part} {target}",
            f"[ ! -e {part} ] && echo {INSTALLED}",
            "else echo the copy is damaged >&2",
            f"fi; rm -f {part}; exit",
        ]
    )
    done = _shell(name, machine, script, data)
    if done.lack is None and INSTALLED not in done.output.split():
        why = "the copy could not be run there" if READY in done.output else "no shell answered"
        remedy = (
            f"try {machine.reached_by} by hand; if its system or CPU is another than this machine's, name "
            "the engine that is built for it as its `binary` in the inventory"
        )
        return Lack(_what(name, machine), why, remedy)
    return done.lack


def restore(name: str, machine: Reachable) -> Done:
    """Restores on a machine what a session left changed there."""
    if machine.engine:
        return _run(name, machine, [*machine.engine, "machine", "restore"])
    target = f'"$HOME"/{shlex.quote(engine_there(machine))}'
    absent = "the engine is not installed there"
    return _shell(
        name, machine, f"test -x {target} || {{ echo {absent} >&2; exit 1; }}; exec {target} machine restore"
    )


def _what(name: str, machine: Reachable) -> str:
    return f"machine {name} ({machine.reached_by})"


def _shell(name: str, machine: Reachable, script: str, data: bytes = b"") -> Done:
    """Runs one line of a shell on a machine. The data is sent once the line says that it is ready: until then
    the shell may read ahead."""
    return _run(name, machine, reach(machine), script.encode() + b"\n", data)


def _run(name: str, machine: Reachable, words: Sequence[str], script: bytes = b"", data: bytes = b"") -> Done:
    what = _what(name, machine)
    try:
        started = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
    except OSError as error:
        return Done("", Lack(what, f"{words[0]} can't be started: {error.strerror}", "install it"))
    assert started.stdin is not None
    assert started.stdout is not None
    before = b""
    with started:
        try:
            started.stdin.write(script)
            started.stdin.flush()
            while data and (line := started.stdout.readline()):
                before += line
                if line.strip() == READY.encode():
                    break
        except OSError:
            pass  # it has ended; its error output tells why
        try:
            output, errors = started.communicate(data, PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            started.kill()
            output, errors = started.communicate()
            errors += f"no answer within {PATIENCE_SECONDS:.0f} s".encode()
    text = (before + output).decode(errors="replace")
    if started.returncode == 0:
        return Done(text, None)
    said = " ".join(errors.decode(errors="replace").split()) or f"exit status {started.returncode}"
    return Done(text, Lack(what, said, _remedy(said, machine)))


def _remedy(said: str, machine: Reachable) -> str:
    """Returns the remedy, by what ssh, the shell or the engine said."""
    if "No space left" in said:
        return "make room on the disk there that has the user's home directory"
    if "not installed there" in said:
        return "`nettrial machines install` copies it there"
    if "Host key verification failed" in said:
        return (
            f"connect once by hand ({machine.reached_by}), and compare the machine's key before you accept it"
        )
    if "not restored" in said or "uses this machine" in said:
        return "mend that there, or wait for the end of the session, and try again"
    return f"see that {machine.reached_by} gives a shell without asking for anything"
