"""Runs commands of nettrial as on Windows, as far as Linux can: `as_windows.py ANSWERS`, with one command a
line on standard input; the exit statuses go to the file ANSWERS.

Every module of the package is imported a second time, on a system that calls itself Windows: for the package
(and not for Python's library, which is Linux's) the modules of POSIX are gone and msvcrt is there; functions
that only POSIX has are gone for all."""

import builtins
import fcntl  # here it is still there
import importlib
import json
import os
import pkgutil
import shlex
import subprocess
import sys
import types
import warnings
from pathlib import Path

import nettrial

POSIX_MODULES = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
POSIX_CALLS = {
    *("fork", "getegid", "geteuid", "getgid", "getpgid", "getuid", "killpg", "mkfifo", "nice", "O_CLOEXEC"),
    *("O_DIRECTORY", "O_NOFOLLOW", "sched_getaffinity", "setsid", "uname", "wait3"),
}
NEW_GROUP = 0x200
started = []
import_module = builtins.__import__


def without_posix(name, globals=None, *rest, **named):
    """Imports for the package what Windows has."""
    if (globals or {}).get("__name__", "").startswith("nettrial.") and name.split(".")[0] in POSIX_MODULES:
        raise ModuleNotFoundError(f"No module named {name!r}")
    return import_module(name, globals, *rest, **named)


def locking(descriptor, mode, size):
    """Locks by handle and at once, or fails, as that of msvcrt."""
    assert (mode, size) == (2, 1)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


class Popen(subprocess.Popen):
    """Takes Windows' flags."""

    def __init__(self, *arguments, creationflags=0, **options):
        started.append(creationflags)
        assert not options.get("start_new_session")
        super().__init__(*arguments, **options)


def become_windows():
    """From here on this is Windows to what imports the package's modules."""
    for module in pkgutil.walk_packages(nettrial.__path__, "nettrial."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)  # and with it what others bring, as it is on Linux
    for name in [name for name in sys.modules if name.split(".")[0] == "nettrial"]:
        del sys.modules[name]
    for name in POSIX_CALLS:
        delattr(os, name)
    sys.modules["msvcrt"] = types.SimpleNamespace(LK_NBLCK=2, locking=locking)
    subprocess.CREATE_NEW_PROCESS_GROUP = NEW_GROUP
    subprocess.Popen = Popen
    builtins.__import__ = without_posix
    sys.platform = "win32"
    warnings.filterwarnings("error", category=EncodingWarning, module=r"nettrial\.")


def exit_status(command):
    """Runs a command in this process."""
    from nettrial.cli import main

    sys.argv = shlex.split(command)
    try:
        main()
    except SystemExit as ended:
        return ended.code or 0
    return 0


def held_twice(directory):
    """Tells whether a directory that is held can be held again; then whether it can be once it was let go."""
    from nettrial.systems import hold

    first = hold(directory)
    second = hold(directory)
    os.close(first)
    return second is not None, hold(directory) is not None


def lacking():
    """Lists those of these that the package can't use."""
    found = []
    try:
        exec("import fcntl", {"__name__": "nettrial.somewhere"})
    except ImportError:
        found.append("fcntl")
    return found if hasattr(os, "geteuid") else [*found, "geteuid"]


if __name__ == "__main__":
    answers_file = Path(sys.argv[1]).absolute()
    become_windows()
    statuses = {line.strip(): exit_status(line) for line in sys.stdin}
    answers = {"statuses": statuses, "held_twice": held_twice(Path.cwd()), "flags": sorted(set(started))}
    answers["lacking"] = lacking()
    answers_file.write_text(json.dumps(answers), encoding="utf-8")
