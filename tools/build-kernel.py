"""Builds a kernel in virtual time (kernel/README.md), a program that is linked statically, from the source in
a Debian package or from a tree. It becomes the package nettrial-kernel in dist/, with its configuration, the
patches, and the name of the source."""

from __future__ import annotations

import argparse
import base64
import hashlib
import sys
import tempfile
import zipfile
from pathlib import Path

from nettrial.cli.compilation import Compilation
from nettrial.errors import NettrialError
from nettrial.guests import kernel_tree

ROOT = Path(__file__).parents[1]
DEFAULT = "linux-source-6.12"
TAG = "py3-none-manylinux2014_x86_64"
"""The systems on which it runs: every Linux on x86-64, since it is linked statically."""
PROGRAM, DATA = 0o100_755, 0o100_644
INIT = '"""A kernel in virtual time for nettrial: the file `linux` in this directory."""\n'
SOURCE = """\
This program is Linux {release} for user-mode Linux (arch/um), under GPL-2.0-only.

Its source is {source}, with the patches in this directory, in the order of
their names, with the files in `net` here, and with the line `obj-y += nettrial/`
at the end of net/ipv4/Makefile. Its configuration is the file `config`. The program is made by

    make ARCH=um linux

after `config` was copied to `.config`. The patches and the program that does
this are in nettrial's sources: kernel/ and tools/build-kernel.py.
"""
METADATA = """\
Metadata-Version: 2.4
Name: nettrial-kernel
Version: {version}
Summary: Linux {release} in virtual time, in which nettrial runs trials
License-Expression: GPL-2.0-only
License-File: GPL-2.0.txt
Requires-Python: >=3.11
"""
WHEEL = f"Wheel-Version: 1.0\nGenerator: build-kernel\nRoot-Is-Purelib: false\nTag: {TAG}\n"
LICENSE = ROOT / "LICENSES" / "GPL-2.0.txt"


def main() -> int:
    """Builds what the command line asks for, and returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "source", nargs="?", default=DEFAULT, help=f"a package or a tree, by default {DEFAULT}"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nettrial-") as scratch:
        try:
            tree, source = unpack(given.source, Path(scratch))
            with Compilation() as progress:
                kernel = kernel_tree.build(tree, progress)
        except NettrialError as error:
            print(error, file=sys.stderr)
            return error.exit_code
        target = pack(tree, kernel, source)
    print(f"built {target}: {target.stat().st_size / 1e6:.1f} MB", file=sys.stderr)
    return 0


def unpack(given: str, scratch: Path) -> tuple[Path, str]:
    """Returns a tree to build in, and the name of its source."""
    if Path(given).is_dir():
        return kernel_tree.copy(Path(given), scratch), f"the tree {Path(given).name}"
    tree = kernel_tree.unpack_source(given, scratch)
    package = next(scratch.glob("*.deb"), Path(given)).name.removesuffix("_all.deb").replace("_", " ")
    return tree, f"Debian's package {package} (snapshot.debian.org keeps it)"


def pack(tree: Path, kernel: kernel_tree.UserMode, source: str) -> Path:
    """Makes the package of a kernel, and returns its file."""
    numbers = kernel.release.partition("-")[0]
    files = {
        "nettrial_kernel/__init__.py": (INIT.encode(), DATA),
        "nettrial_kernel/linux": (kernel.program.read_bytes(), PROGRAM),
        "nettrial_kernel/config": ((tree / ".config").read_bytes(), DATA),
        "nettrial_kernel/SOURCE": (SOURCE.format(release=kernel.release, source=source).encode(), DATA),
    }
    files |= {f"nettrial_kernel/{patch.name}": (patch.read_bytes(), DATA) for patch in kernel_tree.patches()}
    files |= {
        f"nettrial_kernel/{name}": (file.read_bytes(), DATA) for name, file in kernel_tree.own_files().items()
    }
    information = f"nettrial_kernel-{numbers}.dist-info"
    metadata = METADATA.format(version=numbers, release=kernel.release)
    files |= {
        f"{information}/METADATA": (metadata.encode(), DATA),
        f"{information}/WHEEL": (WHEEL.encode(), DATA),
        f"{information}/licenses/{LICENSE.name}": (LICENSE.read_bytes(), DATA),
    }
    target = ROOT / "dist" / f"nettrial_kernel-{numbers}-{TAG}.whl"
    target.parent.mkdir(exist_ok=True)
    write(target, files, f"{information}/RECORD")
    return target


def write(target: Path, files: dict[str, tuple[bytes, int]], record: str) -> None:
    """Writes a wheel (packaging.python.org: binary distribution format), whose bytes depend on nothing but
    the contents and modes of its files."""
    lines = [
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}"
        for name, (data, _) in files.items()
    ]
    listed = files | {record: ("\n".join([*lines, f"{record},,", ""]).encode(), DATA)}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, (data, mode) in listed.items():
            entry = zipfile.ZipInfo(name)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, mode << 16
            archive.writestr(entry, data)


if __name__ == "__main__":
    sys.exit(main())
