"""A block of a run, and the seeds of all random numbers drawn in it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

SEED_BYTES = 6
"""The size of a seed in bytes: every JSON reader represents such numbers exactly (RFC 8259 section 6)."""


@dataclass(frozen=True)
class Block:
    """A replicate: all of its treatments share their random numbers, while no two blocks or runs do."""

    number: int = 1
    """The number of the block in the run, from 1."""
    run_seed: int = 0
    """The seed of the run (`--seed`)."""

    def seed(self, *purpose: str | int) -> int:
        """Returns the seed of the random numbers for a purpose, such as the impairment of a link. It is a
        hash, so that seeds never coincide through sums of seeds and block numbers or through the order of
        use."""
        text = " ".join(map(str, (self.run_seed, self.number, *purpose)))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:SEED_BYTES])


FIRST = Block()
"""The block used for properties that are the same in every block, such as the names of hosts."""
