"""The fingerprint of a session: the facts about its apparatus on which measured figures may depend, and which
may differ between the sessions of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, TypeAlias

import nettrial
from nettrial.scenario import Capabilities, Environment, Machine
from nettrial.systems import frequency

Fingerprint: TypeAlias = dict[str, str]
"""The facts by their names, both in words."""
VERSION, COMMIT = "nettrial version", "nettrial commit"
"""The facts on which the records of a deterministic backend depend. The commit is known where nettrial runs
from a clone of its repository, or from a wheel that was built in one."""
BUILT_FROM = "commit.txt"
"""The file of the package in which the build of a wheel stores the commit (`tools/build-wheel.sh`)."""
_DIGITS = 12
KERNEL = "kernel"
"""The kernel, on which records depend unless hosts are models."""


class FingerprintDifference(NamedTuple):
    """A fact that differs between two fingerprints."""

    name: str
    """The name of the fact."""
    before: str
    """The fact of the first fingerprint."""
    now: str
    """The fact of the second fingerprint."""


def fingerprint(environment: Environment, capabilities: Capabilities) -> Fingerprint:
    """Returns the fingerprint of a session on this machine with the environment that the engine found. A fact
    that can't be read is absent. Figures that change from moment to moment, such as the lateness of timers,
    are not part of it."""
    stated = environment.apparatus or {}
    commit = commit_of_package(Path(nettrial.__file__).resolve().parent)
    facts = {VERSION: environment.engine_version, **({COMMIT: commit} if commit else {}), **stated}
    if capabilities.deterministic:
        kernel = {} if capabilities.modelled_hosts else {KERNEL: environment.kernel}
        return kernel | {name: facts[name] for name in (VERSION, COMMIT) if name in facts}
    if environment.machines is not None:
        return facts | {
            f"{machine.name}: {name}": fact
            for machine in environment.machines
            for name, fact in _of_machine(machine)
        }
    here = {
        KERNEL: environment.kernel,
        "CPU": environment.processor,
        "CPUs": str(environment.processors),
        "privileges": environment.privileges,
    }
    return here | frequency() | environment.sysctls | facts


def commit_of_package(package: Path) -> str | None:
    """Returns the commit of nettrial in the directory `package`: the one that its wheel was built from, or
    the one that is checked out; None if neither is known."""
    try:
        return (package / BUILT_FROM).read_text(encoding="utf-8").strip() or None
    except (OSError, UnicodeDecodeError):
        return checked_out(package.parent)


def commit_in_words(facts: Mapping[str, str] | None) -> str:
    """Returns the commit of nettrial that a fingerprint names in words, such as "commit 1a2b3c4d5e6f"."""
    commit = (facts or {}).get(COMMIT)
    return f"commit {commit[:_DIGITS]}" if commit else "commit not known"


def checked_out(root: Path) -> str | None:
    """Returns the commit that is checked out in the directory `root`, as git stores it
    (gitrepository-layout(5)), or None if the directory is no work tree of git."""
    try:
        git = root / ".git"
        if git.is_file():  # another work tree of the repository
            git = root / git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
        head = (git / "HEAD").read_text(encoding="utf-8").strip()
        if not head.startswith("ref:"):
            return head
        name = head.removeprefix("ref:").strip()
        common = git / "commondir"
        shared = git / common.read_text(encoding="utf-8").strip() if common.is_file() else git
        for place in (git / name, shared / name):
            if place.is_file():
                return place.read_text(encoding="utf-8").strip()
        lines = (line.split() for line in (shared / "packed-refs").read_text(encoding="utf-8").splitlines())
        return next((line[0] for line in lines if line[1:] == [name]), None)
    except (OSError, UnicodeDecodeError):
        return None


def _of_machine(machine: Machine) -> Iterator[tuple[str, str]]:
    """Yields the facts about one of the user's machines."""
    yield "system", machine.system
    yield "kernel", machine.kernel
    yield "CPU", f"{machine.processor} ({machine.architecture})"
    yield "CPUs", str(machine.processors)
    for name, fact in (("governor", machine.governor), ("clock source", machine.clock_source)):
        if fact is not None:
            yield name, fact
    yield from machine.sysctls.items()


def differences(before: Mapping[str, str], now: Mapping[str, str]) -> list[FingerprintDifference]:
    """Returns the facts that two fingerprints both have and that differ. A fact that only one of them has was
    not recorded for the other."""
    return [
        FingerprintDifference(name, before[name], now[name])
        for name in before
        if name in now and before[name] != now[name]
    ]
