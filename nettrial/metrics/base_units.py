"""The units of machine-readable columns: bits, bytes, packets and seconds, as the ends of columns' names."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class BaseUnit:
    """The unit that a unit is turned into where programs read: value × `up` / `down`."""

    suffix: str
    """The end of a column's name; empty for a pure number."""
    up: int = 1
    down: int = 1

    def value(self, shown: float) -> float:
        """A value of the unit, in base units."""
        return shown * self.up / self.down

    def exact(self, printed: str) -> float:
        """A printed value in base units: the nearest to what stands there."""
        return float(Fraction(printed) * self.up / self.down)

    def column(self, name: str) -> str:
        """A column's name with its unit."""
        return f"{name}_{self.suffix}" if self.suffix else name


BASE_UNITS = {
    "Mbit/s": BaseUnit("bps", up=10**6),
    "ms": BaseUnit("s", down=10**3),
    "us": BaseUnit("s", down=10**6),
    "us/kB": BaseUnit("s_per_byte", down=10**9),
    "B": BaseUnit("bytes"),
    "packets": BaseUnit("pkts"),
    "packets/s": BaseUnit("pkts_per_s"),
    "1/s": BaseUnit("per_s"),
    "%": BaseUnit("percent"),
    "subflows": BaseUnit("subflows"),
    "index": BaseUnit(""),
}
"""Every unit that a metric has."""


def base_unit(unit: str) -> BaseUnit:
    """Returns the unit that a unit is turned into; one that is not known stays as it is, under its own
    name."""
    return BASE_UNITS.get(unit) or BaseUnit(re.sub(r"\W+", "_", unit).strip("_"))


def column(name: str) -> str:
    """A name as a column's: what is no letter, digit or _ becomes _."""
    return re.sub(r"\W", "_", name)


def factor_columns(factors: Iterable[str], others: Collection[str]) -> dict[str, str]:
    """The column of each factor: its name, or, where another column is called so, `factor_` and its name."""
    return {name: f"factor_{name}" if name in others else name for name in factors}
