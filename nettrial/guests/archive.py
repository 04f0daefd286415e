"""cpio archives in the newc format, from which Linux reads its initial RAM disk
(Documentation/driver-api/early-userspace/buffer-format.rst of the kernel)."""

from __future__ import annotations

import stat
from collections.abc import Sequence

_END = "TRAILER!!!"


def archive(directory: str, files: Sequence[tuple[str, bytes]]) -> bytes:
    """Returns an archive of a directory with these files, given by name and content, in this order. It
    depends on nothing else, such as times or owners."""
    parts = [_entry(1, directory, stat.S_IFDIR | 0o755, b"")]
    parts += [
        _entry(number, f"{directory}/{name}", stat.S_IFREG | 0o644, contents)
        for number, (name, contents) in enumerate(files, start=2)
    ]
    return b"".join([*parts, _entry(0, _END, 0, b"")])


def _entry(number: int, name: str, mode: int, contents: bytes) -> bytes:
    text = name.encode() + b"\0"
    # Inode, mode, user, group, links, time, size, four device numbers, length of the name, checksum (unused).
    fields = (number, mode, 0, 0, 1, 0, len(contents), 0, 0, 0, 0, len(text), 0)
    header = b"070701" + b"".join(b"%08X" % field for field in fields)
    return _padded(header + text) + _padded(contents)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
