"""Runs commands of nettrial as on Windows, as far as this is possible on Linux: `as_windows.py ANSWERS`.
Standard input has one command on each line; the file ANSWERS receives the exit statuses as JSON.

Every module of the package is imported a second time, on a system that calls itself Windows. The package (but
not Python's standard library, which is Linux's) finds msvcrt instead of POSIX modules. Functions that only
POSIX systems have are missing for everyone."""

import builtins
import fcntl  # The module is still available at this point.
import importlib
import json
import os
import pkgutil
import shlex
import shutil
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
    """Imports a module, but raises ModuleNotFoundError if the package imports one that Windows lacks."""
    if (globals or {}).get("__name__", "").startswith("nettrial.") and name.split(".")[0] in POSIX_MODULES:
        raise ModuleNotFoundError(f"No module named {name!r}")
    return import_module(name, globals, *rest, **named)


def locking(descriptor, mode, size):
    """Locks a file like the function of msvcrt: by its descriptor, and without waiting."""
    assert (mode, size) == (2, 1)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


class Popen(subprocess.Popen):
    """Accepts the flags of Windows, and records them."""

    def __init__(self, *arguments, creationflags=0, **options):
        started.append(creationflags)
        assert not options.get("start_new_session")
        super().__init__(*arguments, **options)


def become_windows():
    """Makes this process look like Windows to modules of the package that are imported later."""
    for module in pkgutil.walk_packages(nettrial.__path__, "nettrial."):
        if not module.name.endswith("__main__"):
            # This also imports the libraries that the package uses, as they are on Linux.
            importlib.import_module(module.name)
    for name in [name for name in sys.modules if name.split(".")[0] == "nettrial"]:
        del sys.modules[name]
    for name in POSIX_CALLS:
        delattr(os, name)
    sys.modules["msvcrt"] = types.SimpleNamespace(LK_NBLCK=2, locking=locking)
    subprocess.CREATE_NEW_PROCESS_GROUP = NEW_GROUP
    subprocess.Popen = Popen
    shutil.rmtree.avoids_symlink_attacks = False
    builtins.__import__ = without_posix
    sys.platform = "win32"
    warnings.filterwarnings("error", category=EncodingWarning, module=r"nettrial\.")


def exit_status(command):
    """Runs a command in this process, and returns its exit status."""
    from nettrial.cli import main

    sys.argv = shlex.split(command)
    try:
        main()
    except SystemExit as ended:
        return ended.code or 0
    return 0


def draw_no_more_charts():
    """Leaves charts out of later reports: drawing takes most of a report's time, and the first one shows that
    it works."""
    from nettrial.report import vega

    vega.on_page = lambda chart: "<svg></svg>"


def held_twice(directory):
    """Returns whether a directory that is locked can be locked again, and whether it can be locked after its
    release."""
    from nettrial.systems import hold

    first = hold(directory)
    second = hold(directory)
    os.close(first)
    return second is not None, hold(directory) is not None


def lacking():
    """Returns those of two POSIX features that the package can't use."""
    found = []
    try:
        exec("import fcntl", {"__name__": "nettrial.somewhere"})
    except ImportError:
        found.append("fcntl")
    return found if hasattr(os, "geteuid") else [*found, "geteuid"]


if __name__ == "__main__":
    answers_file = Path(sys.argv[1]).absolute()
    become_windows()
    statuses = {}
    for line in sys.stdin:
        statuses[line.strip()] = exit_status(line)
        if line.startswith("nettrial run"):
            draw_no_more_charts()
    answers = {"statuses": statuses, "held_twice": held_twice(Path.cwd()), "flags": sorted(set(started))}
    answers["lacking"] = lacking()
    answers_file.write_text(json.dumps(answers), encoding="utf-8")
