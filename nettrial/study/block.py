"""A block of a run, and the seeds of everything that is drawn in it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

SEED_BYTES = 6
"""Bytes of a seed: any reader of JSON has such numbers exactly (RFC 8259 section 6)."""


@dataclass(frozen=True)
class Block:
    """A replicate: all of its treatments share their random numbers, and no two blocks or runs do."""

    number: int = 1
    """Its number in the run, from 1."""
    run_seed: int = 0
    """The run's seed (`--seed`)."""

    def seed(self, *purpose: str | int) -> int:
        """The seed of the random numbers for a purpose, such as the impairment of a link: a hash, so that
        neither a sum of seeds and block numbers nor an order of use makes two of them equal."""
        text = " ".join(map(str, (self.run_seed, self.number, *purpose)))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:SEED_BYTES])


FIRST = Block()
"""The block that is asked for what is the same in every block, such as the names of hosts."""
