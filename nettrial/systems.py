"""The differences between operating systems: locking directories and files, the owners of files, starting a
program detached from the terminal, waiting so that Ctrl-C works, names of programs, and writing text.

There are two kinds of systems here: Windows, and POSIX systems such as Linux and macOS."""

from __future__ import annotations

import codecs
import contextlib
import errno
import hashlib
import importlib.util
import io
import ipaddress
import os
import shutil
import socket
import stat
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

if sys.platform == "win32":
    import msvcrt

    def raise_descriptor_limit() -> int:
        """Returns the largest number of file descriptors of this process. Windows has no limit for
        sockets."""
        return sys.maxsize

    APART: dict[str, Any] = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    WAKE_SECONDS: float | None = 0.2
    _SUFFIX = ".exe"

    def hold(directory: Path) -> int | None:
        """Returns a file descriptor that locks a directory until it is closed or this process ends in any
        way; None while another process holds the lock. Raises OSError if there is no such directory."""
        # Windows can neither lock a directory nor rename one that contains an open file: a file elsewhere is
        # locked instead.
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

    def hold_file(descriptor: int) -> bool:
        """Keeps other processes from removing an open file, and returns true. Windows removes no file that is
        open."""
        return True

    def remove_unheld(file: Path) -> None:
        """Removes a file unless a process holds it; raises OSError."""
        file.unlink()

    def rename_held(file: BinaryIO, path: Path, target: Path) -> None:
        """Closes a file, because Windows renames no open one, and renames it; raises OSError."""
        file.close()
        path.replace(target)

    def is_running(process: int) -> bool:
        """Returns whether a process with this number runs, which is not looked up on Windows: false."""
        return False

    def is_of_user(status: os.stat_result) -> bool:
        """Returns whether a file with this status belongs to the user of this process. Windows has no user
        IDs; there, every file counts as the user's."""
        return True

    def is_writable_by_all(status: os.stat_result) -> bool:
        """Returns whether every user can write a file with this status, which Windows does not report."""
        return False

    def is_root() -> bool:
        """Returns whether this process runs as root, which Windows does not have."""
        return False

    def confine(seconds: int) -> None:
        """Does nothing on Windows, where only `run_confined` limits a process: by its time."""

else:
    import fcntl
    import resource

    def raise_descriptor_limit() -> int:
        """Raises this process's limit of file descriptors to its hard limit, which needs no privileges, and
        returns it (RLIMIT_NOFILE, getrlimit(2))."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (OSError, ValueError):  # macOS reports a larger hard limit than it grants.
            hard = soft
        return sys.maxsize if hard == resource.RLIM_INFINITY else hard

    APART: dict[str, Any] = {"start_new_session": True}
    """The arguments of subprocess.Popen that start a program which does not receive the terminal's Ctrl-C."""
    WAKE_SECONDS: float | None = None
    """The interval at which a wait for a thread must be interrupted so that Ctrl-C works; None if Ctrl-C
    itself interrupts it."""
    _SUFFIX = ""

    def hold(directory: Path) -> int | None:
        """Returns a file descriptor that locks a directory until it is closed or this process ends in any
        way; None while another process holds the lock. Raises OSError if there is no such directory."""
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        return descriptor

    def hold_file(descriptor: int) -> bool:
        """Locks an open file until it is closed or this process ends in any way; returns false while another
        process holds the lock, or if the file was removed meanwhile."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return os.fstat(descriptor).st_nlink > 0

    def remove_unheld(file: Path) -> None:
        """Removes a file unless a process holds it; raises OSError."""
        descriptor = os.open(file, os.O_WRONLY | OPENED_SAFELY)
        try:
            if hold_file(descriptor):
                file.unlink()
        finally:
            os.close(descriptor)

    def rename_held(file: BinaryIO, path: Path, target: Path) -> None:
        """Renames a file that this process holds, and closes it; raises OSError."""
        file.flush()
        path.replace(target)
        file.close()

    def is_running(process: int) -> bool:
        """Returns whether a process with this number runs, as any user."""
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return False
        except (PermissionError, OverflowError):
            return True
        return True

    def is_of_user(status: os.stat_result) -> bool:
        """Returns whether a file with this status belongs to the user of this process or, under sudo, to the
        user who called it (sudo(8): SUDO_UID)."""
        user = os.geteuid()
        return status.st_uid == user or (user == 0 and str(status.st_uid) == os.environ.get("SUDO_UID"))

    def is_writable_by_all(status: os.stat_result) -> bool:
        """Returns whether every user can write a file with this status."""
        return bool(status.st_mode & stat.S_IWOTH)

    def is_root() -> bool:
        """Returns whether this process runs as root."""
        return os.geteuid() == 0

    def confine(seconds: int) -> None:
        """Takes from this process what it does not need to compute: it can use that many seconds of CPU time
        and 1 GiB, and start no process and write no file. As root, it first leaves the network and becomes
        the user nobody; on Linux, it can gain no privileges any more."""
        import ctypes  # when it is needed: every command imports this module

        if os.geteuid() == 0:
            with contextlib.suppress(OSError, AttributeError):
                ctypes.CDLL(None).unshare(_CLONE_NEWNET)
            os.setgroups([])
            os.setgid(_NOBODY)
            os.setuid(_NOBODY)
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        limits = {"CPU": seconds, "FSIZE": 0, "CORE": 0, "NPROC": 0, "AS": 2**30}
        for name, value in limits.items():
            with contextlib.suppress(
                AttributeError, OSError, ValueError
            ):  # other systems lack or refuse some
                resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))


OPENED_SAFELY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
"""The flags of open(2) with which no symbolic link is followed and no FIFO waited for; 0 where a system has
none of them."""


def become(program: Path, *arguments: str) -> NoReturn:
    """Replaces this process by another program, so that a signal to this process reaches the program. Windows
    has no such call: there, this process waits for the program, which Ctrl-C also ends, and exits with its
    status."""
    sys.stdout.flush()
    sys.stderr.flush()
    if sys.platform == "win32":
        raise SystemExit(subprocess.run([program, *arguments], check=False).returncode)
    os.execv(program, [str(program), *arguments])


GUEST_SYSTEMS = "NETTRIAL_SYSTEMS"
"""The environment variable that names the directory of `guest_systems`."""


def guest_systems() -> Path:
    """Returns the directory of the operating systems for guests: the one named by the environment, or one in
    the user's cache."""
    own = os.environ.get(GUEST_SYSTEMS)
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(own) if own else caches / "nettrial" / "systems"


CONTROLLERS = "NETTRIAL_CONTROLLERS"
"""The environment variable that names the Python which has os-ken; empty where none has."""


def controllers_python() -> str:
    """This Python, if it has the library of OpenFlow controllers (the extra `openflow`); else nothing."""
    return sys.executable if importlib.util.find_spec("os_ken") else ""


_LAST_LINES = 8
"""The number of lines of a failed program's output that are quoted."""
_LAST_BYTES = 1 << 16
"""The number of bytes of the end of a program's error output that are kept."""
_PIECE_BYTES = 1 << 12
"""The largest number of bytes of a program's output that are read at once, and the length of its longest
line; a longer one becomes several."""
_LAST_WORDS_SECONDS = 1.0
"""The time that the end of a program's error output may take to arrive after the program has ended."""


@contextlib.contextmanager
def killed_after(process: subprocess.Popen[bytes], seconds: float) -> Iterator[threading.Event]:
    """Kills a process if the context takes longer than that many seconds, and yields an event that tells
    whether it was killed."""
    late = threading.Event()

    def give_up() -> None:
        late.set()
        process.kill()

    patience = threading.Timer(seconds, give_up)
    patience.daemon = True
    patience.start()
    try:
        yield late
    finally:
        patience.cancel()


def _run(command: list[str], directory: Path | None, seconds: float, data: bytes = b"") -> tuple[int, str]:
    """Runs a program in a directory with `data` on its standard input, and returns its exit status and the
    end of its error output. Raises OSError if it can't be started, and if it takes longer than that many
    seconds; then it is killed."""
    process = subprocess.Popen(
        command, cwd=directory, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stderr is not None
    said, errors = bytearray(), process.stderr

    def listen() -> None:
        with errors:
            while piece := os.read(errors.fileno(), _PIECE_BYTES):
                said.extend(piece)
                del said[:-_LAST_BYTES]

    # A process that the program leaves behind may keep the pipe open: this thread is then not waited for.
    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    with killed_after(process, seconds) as late:
        try:
            # It may have ended; its error output tells why.
            with contextlib.suppress(OSError), process.stdin as pipe:
                pipe.write(data)
            process.wait()
        finally:
            process.kill()
            process.wait()
    listener.join(_LAST_WORDS_SECONDS)
    if late.is_set():
        raise TimeoutError(f"it did not end within {seconds:.0f} s")
    return process.returncode, said.decode(errors="replace").strip()


_MOST_OUTPUT_BYTES = 1 << 24
"""The largest output of a confined process, in bytes."""
_NOBODY = 65534
"""The number of the user and of the group nobody."""
_CLONE_NEWNET = 0x40000000
"""The flag of unshare(2) for a network of the process's own."""
_PR_SET_NO_NEW_PRIVS = 38
"""The operation of prctl(2) after which a process can gain no privileges."""


def run_confined(module: str, seconds: float, data: bytes) -> bytes:
    """Runs a module of this package as a process for code that is not trusted, with `data` on its standard
    input, and returns its output. The process confines itself (`confine`) before it runs that code. Raises
    OSError if it takes longer than that many seconds or writes more than 16 MiB; then it is killed."""
    environment = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
    environment |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryFile() as given:
        given.write(data)
        given.seek(0)
        process = subprocess.Popen(
            [sys.executable, "-m", module],
            env=environment,
            cwd=tempfile.gettempdir(),
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            **APART,
        )
    assert process.stdout is not None
    with killed_after(process, seconds) as late:
        try:
            with process.stdout as pipe:
                output: bytes = pipe.read(_MOST_OUTPUT_BYTES + 1)
        finally:
            process.kill()
            process.wait()
    if late.is_set():
        raise TimeoutError(f"it did not end within {seconds:.0f} s")
    if len(output) > _MOST_OUTPUT_BYTES:
        raise OSError(f"it wrote more than {_MOST_OUTPUT_BYTES} bytes")
    return output


def run_program(command: list[str], directory: Path, seconds: float, data: bytes = b"") -> str | None:
    """Runs a program in a directory for at most that many seconds, with `data` on its standard input. Returns
    the reason why it failed, or None if it succeeded."""
    try:
        status, said = _run(command, directory, seconds, data)
    except FileNotFoundError:
        return f"there is no {command[0]} here"
    except OSError as error:
        return f"{command[0]}: {error}"
    if status == 0:
        return None
    return said.splitlines()[-1] if said else f"{command[0]} ended with status {status}"


def run_watched(
    command: list[str], directory: Path, variables: dict[str, str], watch: Callable[[str], None]
) -> str | None:
    """Runs a program in a directory with these variables beside the environment's, and calls `watch` with
    each line of its output. If it failed, returns the lines that name an error, or else the end of the
    output; None if it succeeded. The program ends if this function is interrupted."""
    last: deque[str] = deque(maxlen=_LAST_LINES)
    faults: deque[str] = deque(maxlen=_LAST_LINES)
    try:
        with subprocess.Popen(
            command,
            cwd=directory,
            env=os.environ | variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            **APART,
        ) as process:
            assert process.stdout is not None
            try:
                while piece := process.stdout.readline(_PIECE_BYTES):
                    line = piece.decode(errors="replace")
                    last.append(line.strip())
                    if "error:" in line:
                        faults.append(line.strip())
                    watch(line)
            except BaseException:
                process.terminate()
                raise
    except OSError as error:
        return f"{command[0]}: {error.strerror}"
    return None if process.returncode == 0 else " | ".join(faults or last) or f"status {process.returncode}"


class UnknownZone(ValueError):
    """The error for a link-local address whose link is not known. The text is the reason."""

    expected = "a link-local address with an interface of this machine, such as fe80::1%eth0"
    """The expected form."""


def zoned(address: str) -> str:
    """Returns an IP address with its zone as the number of an interface (RFC 4007, section 11); raises
    ValueError, and UnknownZone if a link-local address has no zone or one that this machine does not have."""
    text, percent, zone = address.partition("%")
    parsed = ipaddress.ip_address(text)
    if parsed.version == 4 or not parsed.is_link_local:
        if percent:
            raise UnknownZone(f"{text} is not link-local and has no zone")
        return address
    if not zone:
        raise UnknownZone("each interface has a link of its own with such addresses")
    try:
        number = int(zone) if zone.isascii() and zone.isdigit() else socket.if_nametoindex(zone)
        socket.if_indextoname(number)
    except (OSError, OverflowError):
        raise UnknownZone(f"there is no interface {zone} here") from None
    return f"{text}%{number}"


BROWSERS = ("chromium", "chromium-browser", "chromium-headless-shell", "google-chrome", "chrome", "msedge")
"""The browsers that can print a page without opening a window."""


def print_page(page: Path, target: Path, profile: Path) -> str | None:
    """Prints a page as PDF with a browser on this machine, which keeps its files in the directory `profile`.
    Returns the reason why it failed, or None if it succeeded."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        return f"there is no {', '.join(BROWSERS[:-1])} or {BROWSERS[-1]} on PATH to print it"
    options = ["--headless", "--disable-gpu", "--no-pdf-header-footer", f"--user-data-dir={profile}"]
    # As root, Chromium refuses to start with its sandbox; the page is nettrial's own and has no scripts.
    options += ["--no-sandbox"] if is_root() else []
    command = [browser, *options, f"--print-to-pdf={target.resolve()}", page.resolve().as_uri()]
    try:
        status, _ = _run(command, None, 120.0)
    except OSError as error:
        return f"{browser}: {error}"
    return None if target.exists() else f"{browser} ended with status {status}"


IS_LINUX: bool = sys.platform == "linux"
"""True on Linux."""


CPU_FREQUENCY = Path("/sys/devices/system/cpu/cpufreq")
"""The directory in which Linux describes the frequency of CPUs."""


def frequency() -> dict[str, str]:
    """Returns how the frequency of this machine's CPUs is chosen: the driver and the governor, each distinct
    one once (Documentation/admin-guide/pm/cpufreq.rst). What the system does not tell is absent."""
    settings: dict[str, set[str]] = {}
    for policy in CPU_FREQUENCY.glob("policy*"):
        for name in ("driver", "governor"):
            with contextlib.suppress(OSError):
                said = (policy / f"scaling_{name}").read_text().strip()
                settings.setdefault(f"CPU frequency {name}", set()).add(said)
    return {name: ", ".join(sorted(said)) for name, said in sorted(settings.items())}


def steady_clock() -> float:
    """Returns the seconds of a clock that is never set and that counts the time in which the machine sleeps,
    or of Python's monotonic clock where the system has no such clock."""
    if sys.platform == "linux":
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


@cache
def boot() -> str:
    """Returns the name of the boot of this machine from which `steady_clock` counts
    (/proc/sys/kernel/random/boot_id); where the system gives none, a new name for each process."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if name := Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip():
            return name
    return str(uuid.uuid4())


def tcp_option(name: str) -> int | None:
    """Returns the number of one of Linux's TCP socket options, such as `TCP_INFO`; None on other systems."""
    number: int | None = getattr(socket, name, None) if IS_LINUX else None
    return number


def port_remedy(error: OSError) -> str:
    """Returns the remedy for a port that could not be opened."""
    if error.errno == errno.EADDRNOTAVAIL:
        return "choose an address of this machine with --bind"
    if error.errno in (errno.EACCES, errno.EPERM):
        return "choose a port above 1023 with --port; lower ones need privileges"
    if error.errno == errno.EADDRINUSE:
        return "choose another port with --port: a program uses this one"
    return "choose another address or port (--bind, --port)"


def executable(name: str) -> str:
    """Returns the file name of a program."""
    return name + _SUFFIX


def executables() -> list[Path]:
    """Returns the directories with the programs of this Python's packages, the likeliest first."""
    return list(dict.fromkeys([Path(sys.executable).parent, Path(sysconfig.get_path("scripts"))]))


_ASCII = str.maketrans(
    {
        **dict.fromkeys("–−─", "-"),
        "×": "x",
        "±": "+-",
        "·": ".",
        "…": "...",
        "▲": "^",
        "▼": "v",
        "→": "->",
        "√": "sqrt",
        "²": "^2",
        **dict.fromkeys("“”", '"'),
        "’": "'",
    }
)
"""ASCII for the characters of nettrial's output."""


def _in_ascii(error: UnicodeError) -> tuple[str | bytes, int]:
    """Returns what is written for characters that an encoding lacks, as an error handler of `codecs`."""
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end].translate(_ASCII)
    return text.encode("ascii", "backslashreplace").decode("ascii"), error.end


def write_unicode() -> None:
    """Makes standard output and standard error accept every character: on Windows, pipes and files use a
    legacy code page. Elsewhere a user may have chosen one, and characters that it lacks are written as
    similar ones, or as escapes."""
    codecs.register_error("nettrial", _in_ascii)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            encoding = "utf-8" if sys.platform == "win32" else None
            stream.reconfigure(encoding=encoding, errors="nettrial")
