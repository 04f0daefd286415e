"""Kills work at every moment, with SIGKILL, in processes of its own."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from itertools import count

CHANGES = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate")
"""The audit events (https://docs.python.org/3/library/audit_events.html) that precede a change of the file
system."""


def each_moment(work: Callable[[], object]) -> Iterator[int]:
    """Does work in a new process again and again, which is killed before its first change of the file system,
    before its second one, and so on; yields the number of changes made after each kill. The last process ends
    by itself, and must succeed."""
    for done in count():
        status = _killed_after(done, work)
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0
            assert done > 1
            return
        assert os.WTERMSIG(status) == signal.SIGKILL
        yield done


def _killed_after(changes: int, work: Callable[[], object]) -> int:
    """Does work in a new process that is killed after this number of changes; returns its wait status."""
    process = os.fork()
    if process:
        return os.waitpid(process, 0)[1]
    try:
        left = iter(range(changes))

        def hook(event: str, arguments: object) -> None:
            if event in CHANGES and next(left, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
        work()
        os._exit(0)
    finally:
        os._exit(1)
