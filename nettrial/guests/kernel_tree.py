"""Kernels in virtual time, which are compiled from a tree of Linux's source: Linux as an ordinary program
(user-mode Linux, the kernel's arch/um), with the project's configuration and patches."""

from __future__ import annotations

import os
import platform
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from nettrial.errors import CannotRun, Lack
from nettrial.files import Unreadable, read_text
from nettrial.guests.kernel import Unfit
from nettrial.systems import run_program, run_watched

BUILDING = "building a kernel in virtual time"
"""The current action, for error messages."""
OLDEST = (6, 1)
"""The oldest version of Linux that is supported."""
PROGRAMS = {
    "gcc": "gcc",
    "make": "make",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "patch": "patch",
    "strip": "binutils",
    "tar": "tar",
    "xz": "xz-utils",
}
"""The programs that a build needs, and the Debian package of each."""
_STATIC_C = ("gcc's static C library", "libc6-dev")
_CPU = "x86_64"
_OWN = "net/ipv4/nettrial"
"""The directory of a tree into which nettrial's own files go."""
_COMPILER = f"{_OWN}/headers/compile.sh"
"""The program that compiles instead of gcc, with the headers that it has compiled once."""
_HEADERS = f"{_OWN}/headers/all.o"
"""The target by which it compiles these headers."""
_UNLESS = re.compile(r"^Unless: (\S+) has (.+)$", re.MULTILINE)
_PATCHED = re.compile(r"^\+\+\+ b/(\S+)", re.MULTILINE)
ESSENTIAL = (
    "UML_TIME_TRAVEL_SUPPORT",
    "STATIC_LINK",
    "HOSTFS",
    "BLK_DEV_INITRD",
    "NET_NS",
    "VETH",
    "NET_SCH_HTB",
)
"""The options without which no trial can run."""
_LEFT_OUT = {".git", "LICENSES", "debian"}
"""The directories of a tree that a build does not need, besides tools/testing and those in Documentation."""
_UNUSED = re.compile(
    r"sound|arch/(?!um\b|x86\b)|drivers/(gpu|hid|iio|infiniband|media|scsi|staging|usb|net/ethernet|net/wireless)"
)
"""The directories of which a build reads only what describes their options: they are most of a tree."""
_BUILT = re.compile(
    r".*\.(o|a|ko|mod|cmd|order)|\.config.*|\.tmp.*|vmlinux(\.(map|symvers))?|linux|modules\.builtin.*"
)
"""The files that an earlier build may have left in a tree."""
_MOST_TEXT_BYTES = 4 << 20
_PREPARING_SECONDS = 1800.0
_REPEATABLE = {
    "LC_ALL": "C",
    "KBUILD_BUILD_TIMESTAMP": "1970-01-01",
    "KBUILD_BUILD_USER": "nettrial",
    "KBUILD_BUILD_HOST": "nettrial",
}
"""The variables with which the same tree gives the same program, whoever builds it."""

Progress = Callable[[str], None]
"""A function that is called with each step of a build, such as the name of a file that is compiled."""


@dataclass(frozen=True)
class UserMode:
    """A kernel as a program."""

    program: Path
    """The program's file."""
    release: str
    """The kernel's release, such as `6.12.117`."""

    @property
    def version(self) -> str:
        """Returns the first two numbers of the release, such as `6.12`."""
        return ".".join(self.release.split(".")[:2])


def fragment() -> Path:
    """Returns the file of the configuration."""
    return Path(str(resources.files("nettrial").joinpath("kernel", "nettrial.config")))


def patches() -> list[Path]:
    """Returns the files of the patches, in the order in which they are applied."""
    return sorted(Path(str(resources.files("nettrial").joinpath("kernel", "patches"))).glob("*.patch"))


def own_files() -> dict[str, Path]:
    """Returns nettrial's own files for a tree, by their place in it: congestion controls and exact wires,
    which are built in, and the headers that are compiled once."""
    kernel = Path(str(resources.files("nettrial").joinpath("kernel")))
    net = kernel / "net"
    files = {file.relative_to(net).as_posix(): file for file in net.glob("**/*") if file.is_file()}
    for suffix in ("c", "h"):
        for file in (kernel / "programs").glob(f"**/*.{suffix}"):
            files[file.relative_to(kernel).as_posix()] = file
    return {f"{_OWN}/{name}": file for name, file in sorted(files.items())}


def version(tree: Path) -> tuple[int, int]:
    """Returns the version of a tree of Linux's source; raises Unfit if it is none, or too old."""
    expected = "a directory with Linux's source, such as ~/linux"
    try:
        text = read_text(tree / "Makefile", _MOST_TEXT_BYTES)
    except Unreadable as error:
        raise Unfit(f"{tree / 'Makefile'}: {error}; expected {expected}") from None
    numbers = [re.search(rf"^{name} = (\d+)$", text, re.MULTILINE) for name in ("VERSION", "PATCHLEVEL")]
    if not all(numbers) or not (tree / "arch" / "um" / "Kconfig").is_file():
        raise Unfit(f"{tree} is no tree of Linux's source; expected {expected}")
    release = tuple(int(number[1]) for number in numbers if number)
    if release < OLDEST:
        raise Unfit(f"{tree} is Linux {release[0]}.{release[1]}; expected {OLDEST[0]}.{OLDEST[1]} or later")
    return release[0], release[1]


def lacks() -> list[Lack]:
    """Returns everything that this machine lacks for a build; empty if it lacks nothing."""
    absent = {f"the program {name}": package for name, package in PROGRAMS.items() if not shutil.which(name)}
    if "the program gcc" not in absent:
        main = b"int main(void) { return 0; }"
        why = run_program(["gcc", "-static", "-x", "c", "-", "-o", os.devnull], Path.cwd(), 60.0, main)
        if why is not None:
            absent[_STATIC_C[0]] = _STATIC_C[1]
    remedy = f"apt-get install {' '.join(sorted(set(absent.values())))}"
    lacking = [Lack(what, "it is not installed", remedy) for what in absent]
    if platform.machine() != _CPU:
        why, other = f"this machine's is {platform.machine()}", "run the study with `--backend lab` or `sim`"
        lacking.append(Lack("an x86-64 CPU", why, other))
    return lacking


def unpack_source(package: str, directory: Path) -> Path:
    """Unpacks the source in a Debian package such as linux-source-6.12, given as a file or as a name for
    apt-get to download, in an empty directory; returns the tree. Raises CannotRun."""
    file = Path(package)
    directory.chmod(0o755)  # apt-get downloads as another user if it can
    if file.suffix != ".deb":
        why = run_program(["apt-get", "download", package], directory, _PREPARING_SECONDS)
        fetched = list(directory.glob("*.deb"))
        if why is not None or len(fetched) != 1:
            hint = "`apt-cache search linux-source` lists packages"
            raise CannotRun(BUILDING, [Lack(package, why or "apt-get downloaded nothing", hint)])
        file = fetched[0]
    _prepare(["dpkg-deb", "-x", str(file.resolve()), "files"], directory, package)
    archives = sorted(directory.glob("files/usr/src/linux-source-*.tar.xz"))
    if len(archives) != 1:
        why = f"it has {len(archives)} archives of Linux's source, not one"
        raise CannotRun(BUILDING, [Lack(package, why, "name a package such as linux-source-6.12")])
    _prepare(
        ["tar", "-xf", str(archives[0]), "--strip-components=1", "--one-top-level=tree"], directory, package
    )
    return directory / "tree"


def copy(tree: Path, directory: Path) -> Path:
    """Creates a copy of a tree in a directory, in which nothing of the tree changes: its files are links.
    What an earlier build left in the tree is not copied. Returns the copy."""
    # Links of up to 59 bytes need no block of their own (ext4, inline symlinks).
    source, target = directory / "s", directory / "tree"
    source.symlink_to(tree.resolve())
    for root, directories, files in os.walk(source):
        below = Path(root).relative_to(source)
        base = Path(*[".."] * (len(below.parts) + 1), source.name, below)
        kept = {name for name in directories if not _is_left_out(below / name)}
        directories[:] = sorted(kept)
        place = target / below
        place.mkdir(parents=True)
        is_unused = _UNUSED.match(below.as_posix()) is not None
        for name in files:
            is_text = name.startswith(("Kconfig", "Makefile", "Kbuild"))
            if is_text if is_unused else not _BUILT.fullmatch(name) or below.parts[:1] == ("scripts",):
                (place / name).symlink_to(base / name)
    return target


def _is_left_out(below: Path) -> bool:
    generated = below.name in ("generated", "config") and "include" in below.parts
    text = below.parts[0] == "Documentation" and len(below.parts) > 1
    return below.parts[0] in _LEFT_OUT or below.parts == ("tools", "testing") or text or generated


def build(tree: Path, progress: Progress = lambda step: None) -> UserMode:
    """Patches, configures and compiles a tree, which changes; returns the kernel, a file in it. Raises
    CannotRun if this machine lacks something or the compilation fails, and Unfit if the tree has no such
    kernel."""
    version(tree)
    if missing := lacks():
        raise CannotRun(BUILDING, missing)
    for patch in patches():
        _apply(patch, tree)
    _add_own_files(tree)
    make = ["make", "ARCH=um", f"--jobs={os.cpu_count() or 1}"]
    _make([*make, f"KCONFIG_ALLCONFIG={fragment()}", "allnoconfig"], tree, lambda line: None)
    configured = set(read_text(tree / ".config", _MOST_TEXT_BYTES).split())
    absent = [name for name in ESSENTIAL if f"CONFIG_{name}=y" not in configured]
    if absent:
        raise Unfit(f"{tree} can't be configured with {', '.join(absent)}")
    make.append(f"CC={(tree / _COMPILER).resolve()}")
    _make([*make, _HEADERS], tree, progress)
    _make([*make, "linux"], tree, progress)
    _prepare(["strip", "linux"], tree, str(tree))
    release = read_text(tree / "include" / "config" / "kernel.release", _MOST_TEXT_BYTES).strip()
    return UserMode(tree / "linux", release)


def _apply(patch: Path, tree: Path) -> None:
    """Applies a patch, unless the tree has what its header names."""
    text = read_text(patch, _MOST_TEXT_BYTES)
    for name, condition in _UNLESS.findall(text):
        if condition in read_text(tree / name, _MOST_TEXT_BYTES):
            return
    for name in _PATCHED.findall(text):
        _separate(tree / name)
    command = ["patch", "--strip=1", "--forward", "--no-backup-if-mismatch", "--reject-file=-"]
    if why := run_watched([*command, f"--input={patch.resolve()}"], tree, _REPEATABLE, lambda line: None):
        raise Unfit(f"{tree} does not take the patch {patch.name}: {why}")


def _add_own_files(tree: Path) -> None:
    for name, file in own_files().items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, tree / name)
    (tree / _COMPILER).chmod(0o755)
    listed, directory = (tree / _OWN).parent / "Makefile", f"obj-y += {Path(_OWN).name}/\n"
    _separate(listed)
    with listed.open("a") as makefile:
        makefile.write(directory)


def _separate(file: Path) -> None:
    """Replaces a link by a copy of its file."""
    if file.is_symlink():
        contents = file.read_bytes()
        file.unlink()
        file.write_bytes(contents)


def _make(command: list[str], tree: Path, progress: Progress) -> None:
    def watch(line: str) -> None:
        word, _, rest = line.strip().partition(" ")
        if word in ("CC", "AR", "LD", "LINK"):
            progress(rest.strip())

    if why := run_watched(command, tree, _REPEATABLE, watch):
        raise CannotRun(BUILDING, [Lack(str(tree), why, "compile the tree by itself to find the reason")])


def _prepare(command: list[str], directory: Path, object: str) -> None:
    if why := run_program(command, directory, _PREPARING_SECONDS):
        raise CannotRun(BUILDING, [Lack(object, why, "check the file, and the space on the disk")])
