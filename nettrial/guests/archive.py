"""Archives in the format newc of cpio, as Linux reads its initial RAM disk from (the kernel's
Documentation/driver-api/early-userspace/buffer-format.rst)."""

from __future__ import annotations

import stat
from collections.abc import Sequence

_END = "TRAILER!!!"


def archive(directory: str, files: Sequence[tuple[str, bytes]]) -> bytes:
    """The archive of a directory and of files in it, by name and contents, in this order. It depends on
    nothing else: no time and no owner."""
    parts = [_entry(1, directory, stat.S_IFDIR | 0o755, b"")]
    parts += [
        _entry(number, f"{directory}/{name}", stat.S_IFREG | 0o644, contents)
        for number, (name, contents) in enumerate(files, start=2)
    ]
    return b"".join([*parts, _entry(0, _END, 0, b"")])


def _entry(number: int, name: str, mode: int, contents: bytes) -> bytes:
    text = name.encode() + b"\0"
    # Inode, mode, user, group, links, time, size, four of devices, length of the name, checksum (unused).
    fields = (number, mode, 0, 0, 1, 0, len(contents), 0, 0, 0, 0, len(text), 0)
    header = b"070701" + b"".join(b"%08X" % field for field in fields)
    return _padded(header + text) + _padded(contents)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
