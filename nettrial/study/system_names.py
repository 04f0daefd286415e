"""Names of operating systems: what sources call them, and what hosts report.

A source's `ubuntu-14.04` and a host's "Ubuntu 14.04.6 LTS" are one system, and both belong to the family
`linux`."""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache

FAMILIES: dict[str, tuple[str, ...]] = {
    "linux": (
        *("linux", "alma", "almalinux", "alpine", "amazon", "android", "arch", "centos", "debian", "fedora"),
        *("gentoo", "kali", "mint", "nixos", "opensuse", "oracle", "raspbian", "red-hat", "rhel", "rocky"),
        *("suse", "ubuntu"),
    ),
    "windows": ("windows",),
    "macos": ("macos", "mac-os"),
    "freebsd": ("freebsd",),
    "openbsd": ("openbsd",),
    "netbsd": ("netbsd",),
    "solaris": ("solaris", "illumos"),
    "gvisor": ("gvisor",),
    "lwip": ("lwip",),
    "smoltcp": ("smoltcp",),
}
"""The families of systems, and the words with which names of their members begin. Stacks that are programs
are families of their own."""
_NAMES = {
    "macos": "macOS",
    "freebsd": "FreeBSD",
    "openbsd": "OpenBSD",
    "netbsd": "NetBSD",
    "gvisor": "gVisor",
}
"""The names of families whose capitals follow no rule."""
_SERVERS = (
    *((26100, "2025"), (20348, "2022"), (17763, "2019"), (14393, "2016"), (9600, "2012-r2"), (9200, "2012")),
    *((7600, "2008-r2"), (6001, "2008")),
)
_WORKSTATIONS = (
    *((22000, "11"), (10240, "10"), (9600, "8.1"), (9200, "8"), (7600, "7"), (6000, "vista"), (2600, "xp")),
)
"""The builds of Windows from which a release is counted, the newest first (Microsoft, "Operating System
Version" and "Windows Server release information")."""
_WINDOWS = re.compile(r"windows-(server-)?\d+\.\d+\.(\d+)")
_WITHOUT = ("gnu", "linux", "microsoft")
"""Words of a system's own name that sources leave out."""


def in_words(name: str) -> str:
    """Returns the family of a source's name of a system as it is written, such as "Windows"."""
    known = family(name) or name
    return _NAMES.get(known, known.title())


class Precision(IntEnum):
    """The precision with which a host's system corresponds to a source's, the better the larger."""

    FAMILY = 1
    """Both are of one family."""
    STUDY = 2
    """The study says so of the host's settings, and the host reports no system: it is a model."""
    EXACT = 3
    """The host reports the source's system and version."""


@lru_cache(maxsize=1024)  # a study asks for the same few names for each of its levels
def family(name: str) -> str | None:
    """Returns the family of a source's name of a system, or of a `slug`; None if it is not known."""
    for family_name, members in FAMILIES.items():
        if any(re.match(rf"{re.escape(member)}(?![a-z])", name) for member in members):
            return family_name
    return None


def slug(reported: str) -> str:
    """Returns what a host reports of its system in the form of sources' names: "Debian GNU/Linux 12
    (bookworm)" as `debian-12-bookworm`, and "Windows Server 10.0.17763" as `windows-server-2019`."""
    words = [word for word in re.split(r"[^a-z0-9.]+", reported.lower()) if word]
    words = [word for place, word in enumerate(words) if place == 0 or word not in _WITHOUT]
    name = "-".join(words)
    if windows := _WINDOWS.fullmatch(name):
        releases = _SERVERS if windows[1] else _WORKSTATIONS
        release = next((release for build, release in releases if int(windows[2]) >= build), None)
        return f"windows-{windows[1] or ''}{release}" if release else name
    return name


def precision(name: str, reported: str) -> Precision | None:
    """Returns how a source's `name` of a system corresponds to what a host reported; None if it does not.
    A family's name stands for each of its members."""
    reported_name = slug(reported)
    if name not in FAMILIES and re.match(rf"{re.escape(name)}(?![a-z0-9])", reported_name):
        return Precision.EXACT
    known = family(name)
    return Precision.FAMILY if known is not None and known == family(reported_name) else None
