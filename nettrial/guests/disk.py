"""Images of disks with an installed system."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from nettrial.guests.kernel import Unfit

_SECTOR_BYTES = 512
_MAGIC = b"QFI\xfb"
_SHORT_HEADER_BYTES, _HEADER_BYTES = 72, 104
"""The sizes of the headers of qcow2, versions 2 and 3 (QEMU's docs/interop/qcow2.rst)."""
_CORRUPT, _EXTERNAL_DATA = 1 << 1, 1 << 2
_KNOWN_FEATURES = 1 | 1 << 3 | 1 << 4
"""The incompatible features with which an image needs no other file: dirty, another compression, and extended
L2 entries."""
_END, _DATA_FILE = 0, 0x44415441
"""The types of the header extension that ends the others, and of that with the name of the data file."""
_KNOWN_EXTENSIONS = {0xE2792ACA, 0x6803F857, 0x23852875}
"""The header extensions that name no file which is opened: the format of a backing file, names of features,
and bitmaps."""
_CLUSTER_BITS = range(9, 22)


@dataclass(frozen=True)
class Disk:
    """A disk image."""

    path: Path
    """The image's file."""
    format: Literal["qcow2", "raw"]
    """The image's format."""

    @classmethod
    def read(cls, path: Path) -> Disk:
        """Returns the image in this file; raises Unfit if the file is not a disk image, or if it refers to
        other files, which the guest could then read."""
        try:
            if not path.is_file():
                raise Unfit(f"{path} is no file")
            with path.open("rb") as file:
                first = file.read(_SECTOR_BYTES)
                if first.startswith(_MAGIC):
                    reason = refusal(file)
                    if reason:
                        hint = "`qemu-img convert -O qcow2` makes a plain image"
                        raise Unfit(f"{path} can't be used: {reason}; {hint}")
                    return cls(path, "qcow2")
            size = path.stat().st_size
        except OSError as error:
            raise Unfit(f"{path} can't be read: {error.strerror}") from None
        # The mark of a disk from which BIOS can boot. Disks for UEFI have it, too.
        if size % _SECTOR_BYTES or first[-2:] != b"\x55\xaa":
            raise Unfit(f"{path} is no image of a disk to start from, of the format qcow2 or raw")
        return cls(path, "raw")


def refusal(image: BinaryIO) -> str | None:
    """Returns the reason why a qcow2 image is not used, such as that a guest could read other files of this
    machine with it; None if there is none. The engine checks the same before it starts a guest
    (`engine/guest/src/disk.rs`)."""
    try:
        return _refusal(image)
    except EOFError:
        return "its header is cut off"


def _refusal(image: BinaryIO) -> str | None:
    if _number(image, 0, 4) != int.from_bytes(_MAGIC):
        return "it is not a qcow2 image"
    version = _number(image, 4, 4)
    if version not in (2, 3):
        return f"it is of an unknown version of qcow2, {version}"
    if _number(image, 8, 8):
        return "it has another image behind it"
    if _number(image, 32, 4):
        return "it is encrypted"
    features = _number(image, 72, 8) if version == 3 else 0
    if features & _EXTERNAL_DATA:
        return "its data are in another file"
    if features & _CORRUPT:
        return "it is marked as damaged"
    if features & ~_KNOWN_FEATURES:
        return f"it has unknown features, {features:#x}"
    bits = _number(image, 20, 4)
    if bits not in _CLUSTER_BITS:
        return f"it has clusters of an unknown size, 2^{bits}"
    begin, end = _SHORT_HEADER_BYTES, 1 << bits
    if version == 3:
        begin = _number(image, 100, 4)
        if not _HEADER_BYTES <= begin <= end:
            return f"its header has an unknown length, {begin}"
    return _of_extensions(image, begin, end)


def _of_extensions(image: BinaryIO, at: int, end: int) -> str | None:
    """Returns the reason to refuse an image for its header's extensions, which begin at `at` and end with the
    first cluster."""
    while at + 8 <= end:
        kind, length = _number(image, at, 4), _number(image, at + 4, 4)
        if kind == _END:
            return None
        if kind == _DATA_FILE:
            return "its data are in another file"
        if kind not in _KNOWN_EXTENSIONS:
            return f"its header has an unknown extension, {kind:#010x}"
        at += 8 + length + -length % 8
    return None


def _number(image: BinaryIO, at: int, count: int) -> int:
    """Returns the number in these bytes of an image; raises EOFError."""
    image.seek(at)
    data = image.read(count)
    if len(data) < count:
        raise EOFError
    return int.from_bytes(data)
