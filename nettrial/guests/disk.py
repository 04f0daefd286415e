"""Images of disks with an installed system."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from nettrial.guests.kernel import Unfit

_SECTOR_BYTES = 512
_HEADER_BYTES = 72
"""The bytes of the oldest header of qcow2 (QEMU's docs/interop/qcow2.rst)."""


@dataclass(frozen=True)
class Disk:
    """A disk image."""

    path: Path
    """The image's file."""
    format: Literal["qcow2", "raw"]
    """The image's format."""

    @classmethod
    def read(cls, path: Path) -> Disk:
        """Returns the image in this file; raises Unfit if the file is not a disk image."""
        try:
            if not path.is_file():
                raise Unfit(f"{path} is no file")
            with path.open("rb") as file:
                header = file.read(_HEADER_BYTES)
            size = path.stat().st_size
        except OSError as error:
            raise Unfit(f"{path} can't be read: {error.strerror}") from None
        if header.startswith(b"QFI\xfb"):
            if int.from_bytes(header[8:16], "big"):
                raise Unfit(f"{path} has another image behind it: `qemu-img convert -O qcow2` joins the two")
            return cls(path, "qcow2")
        # The mark of a disk from which BIOS can boot. Disks for UEFI have it, too.
        if size % _SECTOR_BYTES or not size or not _is_bootable(path):
            raise Unfit(f"{path} is no image of a disk to start from, of the format qcow2 or raw")
        return cls(path, "raw")


def _is_bootable(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(_SECTOR_BYTES)[-2:] == b"\x55\xaa"
