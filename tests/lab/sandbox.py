"""The processes of a test, in a process-ID namespace of their own.

Processes that are left in it after a kill belong to this test, whoever else builds networks on the machine at
the same time. A process holds each namespace and each socket, so none is left if no process is."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

PATIENCE = 300.0
"""The time limit in seconds for what takes a moment on a quiet machine. However busy the machine is, no test
fails because it waited for too short a time."""


class Sandbox:
    """A process-ID namespace. Its first process waits for the end of its input, and all others end with
    it."""

    def __init__(self, network: bool = False) -> None:
        """Starts it; `network` gives it a network namespace of its own, which has only loopback."""
        more = ["--net"] if network else []
        command = ["unshare", "--pid", *more, "--fork", "--kill-child", "--mount-proc"]
        self._outer = subprocess.Popen(
            [*command, "sh", "-ec", "ip link set lo up; exec cat"] if network else [*command, "cat"],
            stdin=subprocess.PIPE,
        )
        assert wait_for(lambda: children(self._outer.pid))
        self._first = children(self._outer.pid)[0]
        self._proc = Path(f"/proc/{self._first}/root/proc")
        # Its /proc is mounted, and lists only the first process.
        assert wait_for(lambda: list(self._numbers()) == [1])
        self._mounts = self.mounted()
        self._network = network

    def command(self, command: list[str], directory: Path | str = "/") -> list[str]:
        """Returns the command line that runs `command` in the sandbox."""
        more = ["--net"] if self._network else []
        enter = ["nsenter", "--target", str(self._first), "--pid", "--mount", *more, "--"]
        return [*enter, "env", f"--chdir={directory}", *command]

    def do(self, command: list[str]) -> str:
        """Runs a command in the sandbox and returns its output."""
        return subprocess.run(self.command(command), check=True, capture_output=True, text=True).stdout

    @property
    def first(self) -> int:
        """The identifier, outside the sandbox, of its first process."""
        return self._first

    def send(self, started: int, signal: int) -> None:
        """Sends a signal to the process in the sandbox that the process `started` outside waits for."""
        for child in children(started):
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal)

    def processes(self, user: int | None = None) -> dict[int, str]:
        """Returns the command lines of its processes except the first, of this user or of all, by
        identifier."""
        found = {}
        for number in self._numbers():
            # A process may end meanwhile; a zombie has no command line.
            with contextlib.suppress(OSError):
                command = (self._proc / str(number) / "cmdline").read_bytes().decode(errors="replace")
                owner = (self._proc / str(number)).stat().st_uid
                if command and number != 1 and user in {None, owner}:
                    found[number] = command.replace("\0", " ")
        return found

    def kill(self, wanted: str, signal: int) -> None:
        """Sends a signal to the processes with these words in their command line."""
        for number, command in self.processes().items():
            if wanted in command:
                kill = ["kill", f"-{signal}", str(number)]
                subprocess.run(self.command(kill), check=False, stderr=subprocess.DEVNULL)

    def namespaces(self) -> set[str]:
        """Returns the network namespaces, except this one, that its processes use or hold by a descriptor."""
        found = set()
        for number in self._numbers():
            entry = self._proc / str(number)
            with contextlib.suppress(OSError):
                found.add(os.readlink(entry / "ns" / "net"))
            with contextlib.suppress(OSError):
                for descriptor in (entry / "fd").iterdir():
                    with contextlib.suppress(OSError):
                        found.add(os.readlink(descriptor))
        own = {os.readlink("/proc/self/ns/net"), os.readlink(f"/proc/{self._first}/ns/net")}
        return {name for name in found if name.startswith("net:")} - own

    def assert_empty(self) -> None:
        """Checks that no process is left in it, and no mount."""
        # A process that ends loses its command line before its descriptors and namespaces.
        wait_for(lambda: not self.processes() and not self.namespaces())
        assert (self.processes(), self.namespaces()) == ({}, set())
        assert self.mounted() == self._mounts

    def close(self) -> None:
        assert self._outer.stdin is not None
        self._outer.stdin.close()
        self._outer.wait()

    def _numbers(self) -> Iterator[int]:
        return (int(entry.name) for entry in self._proc.iterdir() if entry.name.isdigit())

    def mounted(self) -> str:
        """Returns its mounts."""
        return (self._proc / "1" / "mountinfo").read_text()


def children(process: int) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    return []


def wait_for(condition: Callable[[], object], seconds: float = PATIENCE) -> bool:
    """Returns whether the condition became true within the time."""
    end = time.monotonic() + seconds
    while (began := time.monotonic()) < end:
        if condition():
            return True
        # A condition that looks at hundreds of processes is looked at less often.
        time.sleep(min(max(0.02, 4 * (time.monotonic() - began)), 0.5))
    return False
