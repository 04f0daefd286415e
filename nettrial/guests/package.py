"""Kernels in Debian packages, which are downloaded by apt-get and unpacked without being installed."""

from __future__ import annotations

from pathlib import Path

from nettrial.errors import CannotRun, Lack
from nettrial.systems import run_program

_FETCHING = "fetching a kernel's package"
_SECONDS = 1800.0


def unpack(package: str, directory: Path) -> tuple[Path, Path]:
    """Unpacks a kernel package, given as a file or as a name for apt-get to download, in an empty directory.
    Returns the paths of the kernel's image and modules; raises CannotRun."""
    file = Path(package)
    if file.suffix != ".deb":
        # apt-get downloads as another user if it can.
        directory.chmod(0o755)
        why = run_program(["apt-get", "download", package], directory, _SECONDS)
        fetched = list(directory.glob("*.deb"))
        if why is not None or len(fetched) != 1:
            raise _cannot(
                package, why or "apt-get downloaded nothing", "`apt-cache search linux-image` lists packages"
            )
        file = fetched[0]
    files = directory / "files"
    why = run_program(["dpkg-deb", "-x", str(file.resolve()), str(files)], directory, _SECONDS)
    if why is not None:
        raise _cannot(package, why, "name a Debian package, or give --kernel and --modules")
    images = sorted(files.glob("boot/vmlinuz-*"))
    # Debian 13's packages contain them below usr.
    modules = sorted([*files.glob("lib/modules/*"), *files.glob("usr/lib/modules/*")])
    if len(images) != 1 or len(modules) != 1:
        raise _cannot(
            package,
            f"it has {len(images)} kernel images and {len(modules)} sets of modules, not one of each",
            "name the package of a kernel, such as linux-image-6.12.0-1-amd64, not a package that depends on "
            "it",
        )
    return images[0], modules[0]


def _cannot(package: str, why: str, remedy: str) -> CannotRun:
    return CannotRun(_FETCHING, [Lack(package, why, remedy)])
