"""Linux kernels: the release of an image, and the modules that a guest needs, in the order of loading."""

from __future__ import annotations

import lzma
import re
from dataclasses import dataclass
from pathlib import Path

from nettrial.files import Unreadable, read_bytes, read_text

MOST_KERNEL_BYTES = 128 << 20
"""The largest accepted size of a kernel's file."""
MOST_MODULE_BYTES = 64 << 20
"""The largest accepted size of a module's file."""
MOST_LIST_BYTES = 4 << 20
"""The largest accepted size of a list of modules."""

NEEDED = ("virtio_pci", "virtio_net", "virtio_console")
"""The drivers without which a guest can't be reached, built into the kernel or as modules."""
_CONGESTION = "kernel/net/ipv4/tcp_*.ko*"
"""The modules of congestion controls, all of which are provided to a guest."""
_ENDINGS = (".ko", ".ko.xz")


class Unfit(Exception):
    """The error for a kernel that no guest can run; the text is the reason."""


@dataclass(frozen=True)
class GuestKernel:
    """A kernel, and the modules that a guest loads."""

    release: str
    """The release of the kernel, such as `6.12.117+deb12-amd64`."""
    image: bytes
    """The compressed image for boot loaders (bzImage)."""
    modules: list[tuple[str, bytes]]
    """The names and contents of the modules, each after the modules on which it depends."""

    @classmethod
    def read(cls, image: Path, modules: Path) -> GuestKernel:
        """Reads a kernel; `modules` is a directory such as /lib/modules/6.12.0. Raises Unreadable, and Unfit
        if a driver is missing."""
        content = read_bytes(image, MOST_KERNEL_BYTES)
        return cls(_release(image, content), content, _modules(modules))

    @property
    def version(self) -> str:
        """Returns the first two numbers of the release, such as `6.12`."""
        return ".".join(self.release.split(".")[:2])


def _release(path: Path, image: bytes) -> str:
    """Returns the release stated in an image for x86 (Documentation/arch/x86/boot.rst of the kernel)."""
    if image[0x202:0x206] != b"HdrS":
        raise Unfit(f"{path} is not a kernel image for x86 (bzImage)")
    start = int.from_bytes(image[0x20E:0x210], "little") + 0x200
    words = image[start : start + 256].partition(b"\0")[0].decode("ascii", "replace").split()
    if not words or not re.fullmatch(r"\d+\.\d+[\w.+~-]*", words[0]):
        raise Unfit(f"{path} does not state its release")
    return words[0]


def _modules(directory: Path) -> list[tuple[str, bytes]]:
    files = {_name(file): file for file in sorted(directory.glob("kernel/**/*.ko*"))}
    try:
        listed = read_text(directory / "modules.builtin", MOST_LIST_BYTES).split()
    except Unreadable as error:
        raise Unfit(f"{directory / 'modules.builtin'}: {error}") from None
    builtin = {_name(Path(line)) for line in listed}
    missing = [name for name in NEEDED if name not in files and name not in builtin]
    if missing:
        raise Unfit(f"the kernel lacks {', '.join(missing)}, and {directory} has no such modules")
    order: dict[str, bytes] = {}

    def load(name: str) -> None:
        file = files.get(name)
        if file is None or name in order:  # The module is built into the kernel, or already in the list.
            return
        contents = _contents(file)
        for other in depends(contents):
            load(other)
        order[name] = contents

    congestion = sorted(_name(file) for file in directory.glob(_CONGESTION))
    for name in [*NEEDED, *congestion]:
        load(name)
    return list(order.items())


def _name(file: Path) -> str:
    """Returns the name of a module, in which the kernel does not distinguish - and _."""
    return file.name.partition(".ko")[0].replace("-", "_")


def _contents(file: Path) -> bytes:
    content = read_bytes(file, MOST_MODULE_BYTES)
    if not file.name.endswith(_ENDINGS):
        raise Unfit(f"{file} is compressed with an algorithm other than xz")
    try:
        return lzma.decompress(content) if file.suffix == ".xz" else content
    except lzma.LZMAError as error:
        raise Unfit(f"{file}: {error}") from None


def depends(module: bytes) -> list[str]:
    """Returns the modules on which a module depends, from its section .modinfo."""
    entry = re.search(rb"\0depends=([^\0]*)\0", module)
    names = entry[1].decode("ascii", "replace").split(",") if entry else []
    return [name.replace("-", "_") for name in names if name]
