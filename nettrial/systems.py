"""The differences between operating systems, in one place: holding a directory, starting a program apart from
the terminal, waiting so that Ctrl-C is heard, names of programs, writing text.

There are two kinds here: Windows, and those with POSIX's calls, such as Linux and macOS."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any, NoReturn

if sys.platform == "win32":
    import msvcrt

    APART: dict[str, Any] = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    WAKE_SECONDS: float | None = 0.2
    _SUFFIX = ".exe"

    def hold(directory: Path) -> int | None:
        """A descriptor that holds a directory until it is closed or this process ends, however that be; None
        while another has one. Raises OSError where there is no such directory."""
        # A directory can't be locked here, nor renamed with an open file in it: one elsewhere stands for it.
        name = hashlib.sha256(os.path.normcase(directory.resolve(strict=True)).encode()).hexdigest()
        locks = Path(tempfile.gettempdir()) / "nettrial-locks"
        locks.mkdir(exist_ok=True)
        descriptor = os.open(locks / name, os.O_RDWR | os.O_CREAT)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            os.close(descriptor)
            return None
        return descriptor

else:
    import fcntl

    APART: dict[str, Any] = {"start_new_session": True}
    """The arguments of subprocess.Popen that start a program so that the terminal's Ctrl-C is not for it."""
    WAKE_SECONDS: float | None = None
    """The interval at which a wait for a thread must end for Ctrl-C to be heard; None: Ctrl-C itself ends
    it."""
    _SUFFIX = ""

    def hold(directory: Path) -> int | None:
        """A descriptor that holds a directory until it is closed or this process ends, however that be; None
        while another has one. Raises OSError where there is no such directory."""
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        return descriptor


def become(program: Path, *arguments: str) -> NoReturn:
    """Has this process be another program from here on, so that what ends it ends that. Windows has no such
    call: this process waits for the program there, which Ctrl-C ends, too, and ends as it does."""
    sys.stdout.flush()
    sys.stderr.flush()
    if sys.platform == "win32":
        raise SystemExit(subprocess.run([program, *arguments], check=False).returncode)
    os.execv(program, [str(program), *arguments])


GUEST_SYSTEMS = "NETTRIAL_SYSTEMS"
"""The environment variable that names the directory of `guest_systems`."""


def guest_systems() -> Path:
    """The directory that keeps the systems that guests run: the one that the environment names, or else one
    in the user's cache."""
    own = os.environ.get(GUEST_SYSTEMS)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(own) if own else cache / "nettrial" / "systems"


def run_program(command: list[str], directory: Path, seconds: float) -> str | None:
    """Runs a program in a directory, for so many seconds at most. Returns why it failed; None where it did
    not."""
    try:
        done = subprocess.run(
            command,
            cwd=directory,
            capture_output=True,
            check=False,
            timeout=seconds,
            stdin=subprocess.DEVNULL,
        )
    except FileNotFoundError:
        return f"there is no {command[0]} here"
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{command[0]}: {error}"
    if done.returncode == 0:
        return None
    said = done.stderr.decode(errors="replace").strip().splitlines()
    return said[-1] if said else f"{command[0]} ended with status {done.returncode}"


BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome", "msedge")
"""The browsers that print a page without a window."""


def print_page(page: Path, target: Path) -> str | None:
    """Prints a page as PDF by a browser of this machine. Returns why it could not be printed; None where it
    was."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        return f"no {', '.join(BROWSERS[:-1])} or {BROWSERS[-1]} on PATH to print it"
    with tempfile.TemporaryDirectory() as profile:
        options = ["--headless", "--disable-gpu", "--no-pdf-header-footer", f"--user-data-dir={profile}"]
        # As root Chromium refuses to start with its sandbox; the page is nettrial's own and has no script.
        options += ["--no-sandbox"] if getattr(os, "geteuid", lambda: 1)() == 0 else []
        command = [browser, *options, f"--print-to-pdf={target.resolve()}", page.resolve().as_uri()]
        try:
            done = subprocess.run(command, capture_output=True, check=False, timeout=120)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"{browser}: {error}"
    return None if target.exists() else f"{browser} ended with status {done.returncode}"


def executable(name: str) -> str:
    """The file name of a program."""
    return name + _SUFFIX


def executables() -> list[Path]:
    """The folders that have the programs of this Python's packages, the likeliest first."""
    return list(dict.fromkeys([Path(sys.executable).parent, Path(sysconfig.get_path("scripts"))]))


def write_unicode() -> None:
    """Lets both outputs take every character: on Windows, pipes and files have an old code page. Elsewhere a
    user may have one: what it lacks is written as its escape."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            encoding = "utf-8" if sys.platform == "win32" else None
            stream.reconfigure(encoding=encoding, errors="backslashreplace")
