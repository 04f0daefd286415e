"""Fuzzes the targets of the package: python -m fuzz.package [--seconds 60] [TARGET ...].

Each target reads seeds with random changes, one after the other in this process. An input that raises is kept
in fuzz/artifacts; when its fault is mended, it moves to fuzz/regressions/TARGET, whose inputs the unit tests
read. The exit status is 1 if there is one."""

from __future__ import annotations

import argparse
import gc
import hashlib
import logging
import random
import sys
import time
import traceback
import warnings
from pathlib import Path

from fuzz.targets import TARGETS, Target

ARTIFACTS = Path(__file__).parent / "artifacts"
MOST_CHANGES = 4
"""The largest number of changes of an input."""
MOST_FAULTS = 10
"""The largest number of inputs of a target that are kept, each with another traceback."""
PIECES = (
    *(
        b"0",
        b"-1",
        b"1e999",
        b"999999999999999999999",
        b".nan",
        b"null",
        b"true",
        b'""',
        b"\0",
        b"\xff",
        b"\n",
    ),
    *(
        b"{",
        b"}",
        b"[",
        b"]",
        b"<",
        b">",
        b"&a ",
        b"*a",
        b"!!",
        b"? ",
        b"- ",
        b": ",
        b"<<: ",
        b"%",
        b"'",
        b"\r\n",
    ),
)
"""Pieces that have a meaning in a format."""


def changed(chance: random.Random, seeds: list[bytes]) -> bytes:
    """Returns a seed with random changes: of bytes, pieces and order, and with parts of another seed."""
    data = bytearray(chance.choice(seeds))
    for _ in range(chance.randint(1, MOST_CHANGES)):
        at = chance.randrange(len(data) + 1)
        length = chance.choice((1, 1, 2, 4, 8, 64))
        match chance.randrange(6):
            case 0:
                data[at : at + 1] = chance.randbytes(1)
            case 1:
                data[at : at + length] = b""
            case 2:
                data[at:at] = chance.choice(PIECES)
            case 3:
                data[at : at + length] = chance.choice(PIECES)
            case 4:
                of = chance.randrange(len(data) + 1)
                data[at:at] = data[of : of + length]
            case 5:
                other = chance.choice(seeds)
                of = chance.randrange(len(other) + 1)
                data[at : at + length] = other[of : of + length]
    return bytes(data)


def fuzz(name: str, target: Target, seconds: float, seed: int) -> int:
    """Fuzzes a target for this time, and prints the rate; returns the number of faults."""
    chance, seeds = random.Random(seed), list(target.seeds())
    began, cpu, count = time.monotonic(), time.process_time(), 0
    faults: set[str] = set()
    while time.monotonic() - began < seconds and len(faults) < MOST_FAULTS:
        data = changed(chance, seeds)
        count += 1
        try:
            target.read(data)
        except Exception:
            told = traceback.format_exc()
            # Inputs that fail at the same place are one fault.
            place = " ".join(line for line in told.splitlines() if line.startswith("  File"))
            if place not in faults:
                faults.add(place)
                keep(name, data, told)
    took, used = time.monotonic() - began, time.process_time() - cpu
    rates = f"{count / took:.0f} a second, {count / used:.0f} a second of CPU time"
    say(f"{name}: {count} inputs, {rates}; {len(faults)} faults")
    return len(faults)


def keep(name: str, data: bytes, told: str) -> None:
    """Keeps an input that raised."""
    ARTIFACTS.mkdir(exist_ok=True)
    file = ARTIFACTS / f"{name}-{hashlib.sha256(data).hexdigest()[:12]}"
    file.write_bytes(data)
    say(f"{told}{name}: this input was written to {file}")


def say(text: str) -> None:
    """Prints a line."""
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    """Fuzzes the targets given, or all."""
    parser = argparse.ArgumentParser(description="Fuzzes the targets of the package.")
    parser.add_argument("--seconds", type=float, default=60.0, help="the time for each target")
    parser.add_argument("--seed", type=int, default=None, help="the seed of the random changes")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    given = parser.parse_args()
    # The same setting as in `nettrial.cli.main`.
    gc.set_threshold(100_000, 20)
    warnings.simplefilter("error")  # A warning would reach the user's terminal.
    warnings.simplefilter("ignore", ResourceWarning)
    logging.disable()
    seed = random.randrange(2**32) if given.seed is None else given.seed
    say(f"--seed {seed}")
    names = given.targets or list(TARGETS)
    return int(sum(fuzz(name, TARGETS[name], given.seconds, seed) for name in names) > 0)


if __name__ == "__main__":
    sys.exit(main())
