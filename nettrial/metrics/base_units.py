"""The units of machine-readable columns: bits, bytes, packets and seconds, as suffixes of column names."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class BaseUnit:
    """The base unit of a unit, for programs: the value in it is value × `up` / `down`."""

    suffix: str
    """The suffix of a column's name; empty for a pure number."""
    up: int = 1
    """The multiplier of a value."""
    down: int = 1
    """The divisor of a value."""

    def value(self, shown: float) -> float:
        """Converts a value of the unit to base units."""
        return shown * self.up / self.down

    def exact(self, printed: str) -> float:
        """Converts a printed value to base units, with the nearest representable result."""
        return float(Fraction(printed) * self.up / self.down)

    def column(self, name: str) -> str:
        """Returns a column's name with its unit."""
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
    "paths": BaseUnit("paths"),
    "links": BaseUnit("links"),
    "rules": BaseUnit("rules"),
    "dBm": BaseUnit("dbm"),
    "index": BaseUnit(""),
}
"""The base units of the units of metrics."""


def base_unit(unit: str) -> BaseUnit:
    """Returns the base unit of a unit; an unknown unit is its own base unit."""
    return BASE_UNITS.get(unit) or BaseUnit(re.sub(r"\W+", "_", unit).strip("_"))


def column(name: str) -> str:
    """Converts a name to a column name: characters other than letters, digits and _ become _."""
    return re.sub(r"\W", "_", name)


def factor_columns(factors: Iterable[str], others: Collection[str]) -> dict[str, str]:
    """Returns the column of each factor: its name, with the prefix `factor_` if another column has that
    name."""
    return {name: f"factor_{name}" if name in others else name for name in factors}
