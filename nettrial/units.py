"""Quantities that parse and print with their units, with the grammar of the engine's `units.rs`: both
are held to the same examples, `tests/vectors/units.json`.

Each is exact: a text that is not a whole number of base units (bit/s, bytes, nanoseconds) is an error,
never rounded. Printing gives a text that parses back to the same value."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

LARGEST = 2**64 - 1
"""A quantity fits 64 bits."""
LARGEST_PACKETS = 2**32 - 1
"""A queue's number of packets fits 32 bits."""
SIZE_PRINTED_IN_BYTES_BELOW = 100_000
"""Sizes below this print in bytes (an MTU is "9000 B", not "9 kB")."""

_SPACE = r"[^\S\x1c-\x1f]*"
"""White space as Unicode has it; Python counts four separators more."""
_NUMBER = re.compile(rf"{_SPACE}([0-9]{{1,20}})(?:\.([0-9]{{1,15}}))?{_SPACE}([^\s\x1c-\x1f]*){_SPACE}")
_PACKETS = re.compile(rf"{_SPACE}0*([0-9]{{1,20}}){_SPACE}packets{_SPACE}")


class UnitError(ValueError):
    """A text that is not the quantity asked for."""

    def __init__(self, quantity: str, text: str, expected: str) -> None:
        """`expected` says what would be one."""
        super().__init__(f"{text!r} is not a {quantity}; expected: {expected}")
        self.quantity = quantity
        self.text = text
        self.expected = expected


@dataclass(frozen=True)
class Quantity:
    """One kind of quantity, in whole base units."""

    name: str
    units: dict[str, int]
    """Each unit's name and how many base units it stands for; the base unit first."""
    example: str
    binary: dict[str, int]
    """Units that are powers of 1024, printed where they divide the value."""
    base_below: int
    """Values below this print in the base unit."""

    @property
    def expected(self) -> str:
        """The grammar in words."""
        names = ", ".join([*self.units, *self.binary])
        return f'a number and one of {names}, such as "{self.example}"'

    def parse(self, text: str) -> int:
        """The value in base units; raises UnitError."""
        match = _NUMBER.fullmatch(text)
        scale = {**self.units, **self.binary}.get(match[3]) if match else None
        if match is None or scale is None:
            raise UnitError(self.name, text, self.expected)
        fraction = match[2] or ""
        value = Fraction(int(match[1] + fraction), 10 ** len(fraction)) * scale
        if value.denominator != 1 or value > LARGEST:
            raise UnitError(self.name, text, self.expected)
        return value.numerator

    def print(self, value: int) -> str:
        """`value` base units in the largest unit that tells it exactly in at most 3 decimals."""
        for unit, scale in reversed(self.binary.items()):
            if value and value % scale == 0:
                return f"{value // scale} {unit}"
        base, *_ = self.units
        if value >= self.base_below:
            for unit, scale in reversed(self.units.items()):
                thousandths, inexact = divmod(value * 1000, scale)
                if value >= scale and not inexact:
                    whole, rest = divmod(thousandths, 1000)
                    return f"{whole}.{rest:03}".rstrip("0").rstrip(".") + f" {unit}"
        return f"{value} {base}"


RATE = Quantity(
    "rate",
    {"bit/s": 1, "kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9, "Tbit/s": 10**12},
    "1 Gbit/s",
    binary={},
    base_below=0,
)
"""Bits per second. Which layer's bits is said where it is used."""
SIZE = Quantity(
    "size",
    {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9},
    "9000 B",
    binary={"KiB": 2**10, "MiB": 2**20, "GiB": 2**30},
    base_below=SIZE_PRINTED_IN_BYTES_BELOW,
)
"""Bytes."""
DURATION = Quantity(
    "duration",
    {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9},
    "20 ms",
    binary={},
    base_below=0,
)
"""Nanoseconds."""

QUEUE_LIMIT_EXPECTED = f'"1000 packets", or {SIZE.expected.replace(SIZE.example, "64 KiB")}'
"""A queue limit's grammar in words."""


class QueueLimit(NamedTuple):
    """The limit of a queue: a number of packets, or of bytes."""

    unit: str
    """`packets` or `bytes`."""
    value: int

    @classmethod
    def parse(cls, text: str) -> QueueLimit:
        """The limit; raises UnitError."""
        packets = _PACKETS.fullmatch(text)
        if packets and int(packets[1]) <= LARGEST_PACKETS:
            return cls("packets", int(packets[1]))
        try:
            return cls("bytes", SIZE.parse(text))
        except UnitError:
            raise UnitError("queue limit", text, QUEUE_LIMIT_EXPECTED) from None

    def print(self) -> str:
        """The limit as text."""
        return f"{self.value} packets" if self.unit == "packets" else SIZE.print(self.value)


def _canonical(parse_and_print: Callable[[str], str], expected: str, bare: str | None) -> BeforeValidator:
    """A pydantic validator that gives a quantity's one printed form. `bare` is the unit of a number
    without one, where that is allowed."""

    def validate(value: Any) -> str:
        if bare is not None and isinstance(value, int) and not isinstance(value, bool):
            value = f"{value} {bare}"
        if isinstance(value, str):
            with contextlib.suppress(UnitError):
                return parse_and_print(value)
        raise PydanticCustomError("quantity", "not a quantity", {"expected": expected})

    return BeforeValidator(validate)


Rate = Annotated[str, _canonical(lambda text: RATE.print(RATE.parse(text)), RATE.expected, None)]
"""A field that holds a rate's printed form."""
Size = Annotated[str, _canonical(lambda text: SIZE.print(SIZE.parse(text)), SIZE.expected, "B")]
"""A field that holds a size's printed form; a bare number is bytes."""
Duration = Annotated[
    str, _canonical(lambda text: DURATION.print(DURATION.parse(text)), DURATION.expected, None)
]
"""A field that holds a duration's printed form."""
Queue = Annotated[str, _canonical(lambda text: QueueLimit.parse(text).print(), QUEUE_LIMIT_EXPECTED, None)]
"""A field that holds a queue limit's printed form."""
