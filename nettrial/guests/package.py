"""Kernels in Debian packages: fetched by apt-get, unpacked without being installed."""

from __future__ import annotations

from pathlib import Path

from nettrial.errors import CannotRun, Lack
from nettrial.systems import run_program

_FETCHING = "fetching a kernel's package"
_SECONDS = 1800.0


def unpack(package: str, directory: Path) -> tuple[Path, Path]:
    """Unpacks a package of a kernel, a file or one that apt-get can download, in a directory that is empty.
    Returns the places of the kernel's image and modules; raises CannotRun."""
    file = Path(package)
    if file.suffix != ".deb":
        # apt-get fetches as another user where it may.
        directory.chmod(0o755)
        why = run_program(["apt-get", "download", package], directory, _SECONDS)
        fetched = list(directory.glob("*.deb"))
        if why is not None or len(fetched) != 1:
            raise _cannot(
                package, why or "apt-get fetched nothing", "`apt-cache search linux-image` lists packages"
            )
        file = fetched[0]
    files = directory / "files"
    why = run_program(["dpkg-deb", "-x", str(file.resolve()), str(files)], directory, _SECONDS)
    if why is not None:
        raise _cannot(package, why, "name a Debian package, or give --kernel and --modules")
    images = sorted(files.glob("boot/vmlinuz-*"))
    # Debian 13's packages have them below usr.
    modules = sorted([*files.glob("lib/modules/*"), *files.glob("usr/lib/modules/*")])
    if len(images) != 1 or len(modules) != 1:
        raise _cannot(
            package,
            f"it has {len(images)} kernel images and {len(modules)} sets of modules, not one of each",
            "name the package of one kernel, such as linux-image-6.12.0-1-amd64, and not one that "
            "depends on it",
        )
    return images[0], modules[0]


def _cannot(package: str, why: str, remedy: str) -> CannotRun:
    return CannotRun(_FETCHING, [Lack(package, why, remedy)])
