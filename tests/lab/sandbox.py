"""Processes that a test can account for: a process-ID namespace of their own.

What is left in it after a kill is this test's, whoever else builds networks on the machine at the same time.
A namespace or a socket lives by a process that holds it: where no process is left, neither is."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path


class Sandbox:
    """Its first process waits for the end of its input, and with it ends all that was started in there."""

    def __init__(self) -> None:
        self._outer = subprocess.Popen(
            ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "cat"], stdin=subprocess.PIPE
        )
        assert wait_for(lambda: children(self._outer.pid), 120)
        self._first = children(self._outer.pid)[0]
        self._proc = Path(f"/proc/{self._first}/root/proc")
        # Its /proc is there, and lists nobody but the first process.
        assert wait_for(lambda: list(self._numbers()) == [1], 120)
        self._mounts = self._mounted()

    def command(self, command: list[str], directory: Path | str = "/") -> list[str]:
        """The command line that runs this one in the sandbox."""
        enter = ["nsenter", "--target", str(self._first), "--pid", "--mount", "--"]
        return [*enter, "env", f"--chdir={directory}", *command]

    def send(self, started: subprocess.Popen[bytes], signal: int) -> None:
        """Sends a signal to what was started by a `command`, and not to what waits for it out here."""
        for child in children(started.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal)

    def processes(self, user: int | None = None) -> dict[int, str]:
        """The command lines of the processes in it but the first, of this user or of all, by number."""
        found = {}
        for number in self._numbers():
            # A process may end while it is looked at; a zombie has no command line.
            with contextlib.suppress(OSError):
                command = (self._proc / str(number) / "cmdline").read_bytes().decode(errors="replace")
                owner = (self._proc / str(number)).stat().st_uid
                if command and number != 1 and user in {None, owner}:
                    found[number] = command.replace("\0", " ")
        return found

    def kill(self, wanted: str, signal: int) -> None:
        """Sends a signal to those with these words in their command line."""
        for number, command in self.processes().items():
            if wanted in command:
                kill = ["kill", f"-{signal}", str(number)]
                subprocess.run(self.command(kill), check=False, stderr=subprocess.DEVNULL)

    def namespaces(self) -> set[str]:
        """The network namespaces, but this one, that its processes are in or hold by a descriptor."""
        found = set()
        for number in self._numbers():
            entry = self._proc / str(number)
            with contextlib.suppress(OSError):
                found.add(os.readlink(entry / "ns" / "net"))
            with contextlib.suppress(OSError):
                for descriptor in (entry / "fd").iterdir():
                    with contextlib.suppress(OSError):
                        found.add(os.readlink(descriptor))
        return {name for name in found if name.startswith("net:")} - {os.readlink("/proc/self/ns/net")}

    def assert_empty(self) -> None:
        """No process is left in it, and no mount."""
        # A process that ends loses its command line before its descriptors, and with them its namespaces.
        wait_for(lambda: not self.processes() and not self.namespaces(), 60)
        assert (self.processes(), self.namespaces()) == ({}, set())
        assert self._mounted() == self._mounts

    def close(self) -> None:
        assert self._outer.stdin is not None
        self._outer.stdin.close()
        self._outer.wait()

    def _numbers(self) -> Iterator[int]:
        return (int(entry.name) for entry in self._proc.iterdir() if entry.name.isdigit())

    def _mounted(self) -> str:
        return (self._proc / "1" / "mountinfo").read_text()


def children(process: int) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    return []


def wait_for(condition: Callable[[], object], seconds: float) -> bool:
    """Returns whether it came true within a time that is long beside what it takes on a quiet machine."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False
