"""The user's own machines: the commands that reach them, and the installation of the engine there."""

from __future__ import annotations

import hashlib
import json
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import IO, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

import nettrial
from nettrial.backends import find
from nettrial.backends.backend import BACKENDS, Backend, BackendKind, Configuration
from nettrial.backends.pipes import Gathered
from nettrial.errors import BadInput, Lack
from nettrial.systems import killed_after

SSH = ("ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10")
"""The command of the OpenSSH client (ssh_config(5)), without a terminal and without prompts."""
ALIVE = ("-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3")
"""The options by which ssh notices that a machine has vanished."""
SHELL = "sh"
"""The POSIX shell that is run there. It reads its commands from standard input, so that nothing must be
quoted for the programs through which the words pass."""
FOLDER = ".local/share/nettrial"
"""The directory of the engine on a machine, below the user's home directory."""
READY = "nettrial-ready"
"""The line that shows that a shell on the machine answered."""
INSTALLED = "nettrial-installed"
"""The line that shows that the copied engine runs on the machine."""
JOURNAL = "nettrial-journal "
"""The beginning of the line with the result of carrying out a machine's journal. Earlier lines come from
other programs, such as login scripts."""
ABSENT = 97
"""The exit status of the line of the shell that runs the engine, if the engine is not installed there."""
BUSY = 98
"""The exit status of the engine there if a session uses the machine (engine/cli/src/machine.rs)."""
NOT_RESTORED = 99
"""The exit status of the engine there if a setting could not be restored."""
HASHES = "sha256sum 'shasum -a 256' 'sha256 -q'"
"""The commands that print a file's SHA-256 on Linux, macOS and FreeBSD."""
PATIENCE_SECONDS = 120.0
"""The time in seconds allowed for copying the engine, or for restoring settings."""


MOST_OUTPUT_BYTES = 1 << 20
"""The largest size in bytes of what a machine may send in answer to one of these commands, on each of
standard output and standard error."""


class Reachable(Protocol):
    """A machine of an inventory."""

    @property
    def ssh(self) -> str | None:
        """The destination for the OpenSSH client, if it is used."""

    @property
    def command(self) -> list[str] | None:
        """The command that runs commands on the machine, if there is one."""

    @property
    def engine(self) -> list[str] | None:
        """The command that runs the engine there, if there is one."""

    @property
    def binary(self) -> Path | None:
        """The engine for its operating system and CPU as a file on this machine, if it differs from this
        machine's engine."""

    @property
    def interfaces(self) -> dict[str, list[str]]:
        """The addresses that traffic may use, by interface."""

    @property
    def starts(self) -> list[str] | None:
        """The command that starts it in the lab, if there is one."""

    @property
    def may_change(self) -> Sequence[str]:
        """The settings that may be changed there."""

    @property
    def nodes(self) -> list[str]:
        """The nodes of studies whose role it takes."""

    @property
    def reached_by(self) -> str:
        """The way to reach it, in the user's words."""


def reach(machine: Reachable) -> list[str]:
    """Returns the command whose standard input and output belong to a shell on the machine or, if the
    inventory has a command for it, to the engine there."""
    if machine.engine:
        return [*machine.engine, "machine", "serve"]
    if machine.ssh:
        return [*SSH, *ALIVE, machine.ssh, SHELL]
    return [*(machine.command or []), SHELL]


def engine_there(machine: Reachable) -> str:
    """Returns the file of the engine on a machine, below the user's home directory.

    Its name contains the version and the hash of the file here, so that no other engine is run. Raises
    BadInput if that file can't be read."""
    return f"{FOLDER}/engine-{nettrial.__version__}-{_digest(_binary(machine))[:16]}"


def _binary(machine: Reachable) -> Path:
    """Returns the path of the engine for a machine on this machine."""
    return machine.binary or find.engine()


@lru_cache
def _digest(binary: Path) -> str:
    """Returns the SHA-256 of an engine, which most machines share; raises BadInput if it can't be read."""
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
    """The configuration of the backend: its machines, or those on the lab's links."""

    inventory: str = '{"machines": {}}'
    """The engine's inventory as a JSON document. Without machines, the engine can only report what no machine
    could run."""

    @classmethod
    def of(cls, machines: Mapping[str, Reachable], name: str | None = None) -> Machines:
        """Returns the configuration for the machines of an inventory, or for one of its sets, whose records
        have this name.

        Raises CannotRun if there is no engine, and BadInput if an engine named by the inventory can't be
        read."""
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
                "starts": machine.starts or [],
            }
            for name, machine in machines.items()
        }
        return cls(inventory=json.dumps({"machines": document, **({"set": name} if name else {})}))

    def arguments(self) -> list[str]:
        """Returns the arguments for the engine that follow the subcommand."""
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
    """The output of the command."""
    lack: Lack | None
    """The reason why it failed, if it did."""


def install(name: str, machine: Reachable) -> Lack | None:
    """Copies the engine to a machine, where its hash is verified; returns the reason if that failed. An
    existing file of that name stays until the copy is complete.

    Raises BadInput if the inventory names an engine that can't be read."""
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
            f"try {machine.reached_by} by hand; if its operating system or CPU differs from this machine's, "
            "name "
            "an engine built for it as its `binary` in the inventory"
        )
        return Lack(_what(name, machine), why, remedy)
    return done.lack


def restore(name: str, machine: Reachable) -> Done:
    """Restores settings that a session left changed on a machine."""
    return _engine(name, machine, "machine", "restore")


class JournalEntry(BaseModel):
    """An entry of a machine's journal that can't be carried out."""

    model_config = ConfigDict(extra="forbid")

    key: str = Field(pattern="^[0-9a-f]{12}$")
    """The name of the entry, by which it is discarded."""
    entry: str
    """The setting and its old value in words, or the line of the journal if it is not understood."""
    why: str
    """The reason."""
    is_absent: bool
    """True if the setting's interface does not exist there."""


class Journal(BaseModel):
    """The result of carrying out a machine's journal."""

    model_config = ConfigDict(extra="forbid")

    restored: list[str] = []
    """The settings that were restored, in words."""
    kept: list[JournalEntry] = []
    """The entries that can't be carried out, which are still there."""
    forgotten: list[str] = []
    """The entries that were discarded, in words."""


def forget(name: str, machine: Reachable, keys: Sequence[str] = ()) -> tuple[Journal, Lack | None]:
    """Restores settings that a session left changed on a machine, and discards the entries of its journal
    with these keys that can't be carried out. Returns the result, and the reason if it failed."""
    done = _engine(name, machine, "machine", "forget", *keys)
    lines = [line for line in done.output.splitlines() if line.startswith(JOURNAL)]
    if done.lack is not None or not lines:
        absent = Lack(_what(name, machine), "no engine answered", _remedy("", machine))
        return Journal(), done.lack or absent
    try:
        return Journal.model_validate_json(lines[-1].removeprefix(JOURNAL)), None
    except ValidationError as error:
        why = f"it sent an invalid answer: {error.errors()[0]['msg']}"
        return Journal(), Lack(_what(name, machine), why, _remedy("", machine))


def _engine(name: str, machine: Reachable, *words: str) -> Done:
    """Runs the engine on a machine to its end."""
    if machine.engine:
        return _run(name, machine, [*machine.engine, *words])
    target = f'"$HOME"/{shlex.quote(engine_there(machine))}'
    absent = "the engine is not installed there"
    command = f"exec {target} {shlex.join(words)}"
    return _shell(name, machine, f"test -x {target} || {{ echo {absent} >&2; exit {ABSENT}; }}; {command}")


def _what(name: str, machine: Reachable) -> str:
    return f"machine {name} ({machine.reached_by})"


def _shell(name: str, machine: Reachable, script: str, data: bytes = b"") -> Done:
    """Runs one line of a shell script on a machine. The data is sent when the line reports that it is ready,
    because the shell may read ahead until then."""
    return _run(name, machine, reach(machine), script.encode() + b"\n", data)


def _run(name: str, machine: Reachable, words: Sequence[str], script: bytes = b"", data: bytes = b"") -> Done:
    what = _what(name, machine)
    try:
        # A buffer would keep what could not be written, and fail again when it is closed.
        started = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
        )
    except OSError as error:
        return Done("", Lack(what, f"can't start {words[0]}: {error.strerror}", "install it"))
    assert started.stdin is not None
    assert started.stdout is not None
    assert started.stderr is not None
    with killed_after(started, PATIENCE_SECONDS) as late, started:
        output = Gathered(started.stdout, MOST_OUTPUT_BYTES, started.kill)
        errors = Gathered(started.stderr, MOST_OUTPUT_BYTES, started.kill)
        with suppress(OSError):  # it has ended; its error output tells why
            _write(started.stdin, script)
            if data and output.await_line(READY.encode()):
                _write(started.stdin, data)
        with suppress(OSError):
            started.stdin.close()
        text, complaint = output.whole(), errors.whole()
    if started.returncode == 0 and not (output.is_too_much or errors.is_too_much):
        return Done(text, None)
    said = " ".join(complaint.split())
    if output.is_too_much or errors.is_too_much:
        return Done("", Lack(what, f"it sent more than {MOST_OUTPUT_BYTES} bytes", _remedy("", machine)))
    if late.is_set():
        said = f"{said} no answer within {PATIENCE_SECONDS:.0f} s".strip()
    said = said or f"it ended with {_status(started.returncode)} and said nothing"
    return Done(text, Lack(what, said, _remedy(said, machine, started.returncode)))


def _status(status: int) -> str:
    """Returns the end of a process in words."""
    return f"signal {-status}" if status < 0 else f"exit status {status}"


def _write(pipe: IO[bytes], data: bytes) -> None:
    """Writes all bytes to an unbuffered pipe, which may take fewer at a time; raises OSError."""
    left = memoryview(data)
    while left:
        left = left[pipe.write(left) :]


def _remedy(said: str, machine: Reachable, status: int = 1) -> str:
    """Returns the remedy for a command that failed with an exit status. ssh exits with 255 whatever the
    reason (ssh(1)), and a shell with the status of its last command, so that their messages are read
    (docs/architecture.md has the versions)."""
    if status == ABSENT:
        return "`nettrial machines install` copies it there"
    if "No space left" in said:
        return "free space on the machine's disk with the user's home directory"
    if "Host key verification failed" in said:
        return (
            f"connect once by hand ({machine.reached_by}), and verify the machine's key before you accept it"
        )
    if status == BUSY:
        return "wait for the end of the session, and try again"
    if status == NOT_RESTORED:
        return "fix that on the machine and try again, or discard it with `nettrial machines forget`"
    return f"make sure that {machine.reached_by} opens a shell without asking for anything"
