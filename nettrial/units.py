"""Quantities that parse and print with their units, with the grammar of the engine's `units.rs`: both
are held to the same examples, `tests/vectors/units.json`.

Quantities are exact: a text that is not a whole number of base units (bit/s, bytes, nanoseconds) is an error
and is never rounded. Printing a value gives a text that parses back to the same value."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, PlainValidator, ValidationInfo
from pydantic_core import PydanticCustomError

LARGEST = 2**64 - 1
"""The largest value of a quantity, which has 64 bits."""
LARGEST_PACKETS = 2**32 - 1
"""The largest number of packets of a queue, which has 32 bits."""
SIZE_PRINTED_IN_BYTES_BELOW = 100_000
"""The size below which sizes are printed in bytes (an MTU is "9000 B", not "9 kB")."""
MOST_REMEMBERED = 1024
"""The number of quantities of each kind whose canonical texts are remembered."""

_SPACE = r"[^\S\x1c-\x1f]*"
"""White space as defined by Unicode; Python includes four more separators."""
_NUMBER = re.compile(rf"{_SPACE}([0-9]{{1,20}})(?:\.([0-9]{{1,15}}))?{_SPACE}([^\s\x1c-\x1f]*){_SPACE}")
_PACKETS = re.compile(rf"{_SPACE}0*([0-9]{{1,20}}){_SPACE}packets{_SPACE}")
_OTHER_PACKETS = re.compile(rf"{_SPACE}([0-9]{{1,9}}){_SPACE}(?:p|pkts?|packet)?{_SPACE}")
"""A number of packets as other tools write it."""


class UnitError(ValueError):
    """The error for a text that is not the requested quantity."""

    def __init__(self, quantity: str, text: str, expected: str, hint: str = "") -> None:
        """Creates the error; `expected` describes a valid text, and `hint` has the one that was probably
        meant."""
        super().__init__(f"{text!r} is not a {quantity}; expected: {expected}")
        self.quantity = quantity
        self.text = text
        self.expected = expected
        self.hint = hint


@dataclass(frozen=True)
class Quantity:
    """A kind of quantity, in whole base units."""

    name: str
    """The name in error messages."""
    units: dict[str, int]
    """The number of base units in each unit, by the unit's name, the base unit first."""
    example: str
    """An example of a value, for error messages."""
    binary: dict[str, int]
    """The units that are powers of 1024, in which values are printed that they divide."""
    base_below: int
    """The value below which values are printed in the base unit."""
    other_units: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Units as other tools write them, for hints: each is a number of the named unit."""

    @property
    def expected(self) -> str:
        """Returns the grammar in words."""
        names = ", ".join([*self.units, *self.binary])
        return f'a number and one of {names}, such as "{self.example}"'

    def hint(self, text: str) -> str:
        """Returns a hint with the text in this grammar if it has a unit as other tools write it, such as
        "100M" or "100 Mbps" for a rate; empty otherwise."""
        match = _NUMBER.fullmatch(text)
        known = self.other_units.get(match[3]) if match else None
        if match is None or known is None:
            return ""
        number, unit = known
        value = Decimal(f"{match[1]}.{match[2] or 0}") * number
        meant = f"{value.normalize():f} {unit}"
        try:
            self.parse(meant)
        except UnitError:  # too large, or no whole number of base units
            return ""
        return f"did you mean '{meant}'?"

    def parse(self, text: str) -> int:
        """Returns the value in base units; raises UnitError."""
        match = _NUMBER.fullmatch(text)
        scale = {**self.units, **self.binary}.get(match[3]) if match else None
        if match is None or scale is None:
            raise UnitError(self.name, text, self.expected, self.hint(text))
        fraction = match[2] or ""
        denominator: int = 10 ** len(fraction)
        value, inexact = divmod(int(match[1] + fraction) * scale, denominator)
        if inexact or value > LARGEST:
            raise UnitError(self.name, text, self.expected)
        return value

    def print(self, value: int) -> str:
        """Returns `value` base units as text, in the largest unit that expresses it exactly with at most 3
        decimals."""
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
    other_units={
        f"{prefix}{unit}": (1, f"{letter if letter == 'k' else letter.upper()}bit/s")
        for letter in "kmgt"
        for prefix in (letter, letter.upper())
        for unit in ("", "b", "b/s", "bps", "bit", "bit/s")
    }
    | {"bps": (1, "bit/s")},
)
"""A rate in bits per second, of a layer that each use specifies."""
SIZE = Quantity(
    "size",
    {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9},
    "9000 B",
    binary={"KiB": 2**10, "MiB": 2**20, "GiB": 2**30},
    base_below=SIZE_PRINTED_IN_BYTES_BELOW,
    other_units={
        **dict.fromkeys(("b", "byte", "bytes", "Byte", "Bytes"), (1, "B")),
        "KB": (1, "kB"),
        **{f"{written}": (1, f"{letter}iB") for letter in "KMG" for written in (letter, letter.lower())},
    },
)
"""A size in bytes."""
_OTHER_SECONDS_AND_MINUTES = {
    **dict.fromkeys(("sec", "second", "seconds"), (1, "s")),
    **dict.fromkeys(("m", "minute", "minutes"), (1, "min")),
}
DURATION = Quantity(
    "duration",
    {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9},
    "20 ms",
    binary={},
    base_below=0,
    other_units={
        **_OTHER_SECONDS_AND_MINUTES,
        **dict.fromkeys(("h", "hour", "hours"), (60, "min")),
        "d": (1440, "min"),
    },
)
"""A duration in nanoseconds."""
PERIOD = Quantity(
    "period",
    {"s": 1, "min": 60, "h": 3600, "d": 86400},
    "10 min",
    binary={},
    base_below=0,
    other_units={
        **_OTHER_SECONDS_AND_MINUTES,
        **dict.fromkeys(("hour", "hours"), (1, "h")),
        **dict.fromkeys(("day", "days"), (1, "d")),
    },
)
"""A long duration in whole seconds: a schedule's interval, or the time for which data are kept."""

QUEUE_LIMIT_EXPECTED = f'"1000 packets", or {SIZE.expected.replace(SIZE.example, "64 KiB")}'
"""A queue limit's grammar in words."""


class QueueLimit(NamedTuple):
    """The limit of a queue: a number of packets, or of bytes."""

    unit: str
    """`packets` or `bytes`."""
    value: int
    """The number of packets or bytes."""

    @classmethod
    def parse(cls, text: str) -> QueueLimit:
        """Returns the limit; raises UnitError."""
        packets = _PACKETS.fullmatch(text)
        if packets and int(packets[1]) <= LARGEST_PACKETS:
            return cls("packets", int(packets[1]))
        try:
            return cls("bytes", SIZE.parse(text))
        except UnitError as error:
            match = _OTHER_PACKETS.fullmatch(text)
            hint = f"did you mean '{match[1]} packets'?" if match else error.hint
            raise UnitError("queue limit", text, QUEUE_LIMIT_EXPECTED, hint) from None

    def print(self) -> str:
        """Returns the limit as text."""
        return f"{self.value} packets" if self.unit == "packets" else SIZE.print(self.value)


def _canonical(
    parse_and_print: Callable[[str], str],
    expected: str,
    bare: str | None,
) -> BeforeValidator:
    """Returns a pydantic validator that converts a quantity to its canonical text. `bare` is the unit of a
    number without one, if that is allowed. Canonical texts are remembered, because each level of a factor is
    checked together with all other settings."""
    canonical = lru_cache(MOST_REMEMBERED)(parse_and_print)

    def validate(value: Any) -> str:
        if bare is not None and isinstance(value, int) and not isinstance(value, bool):
            value = f"{value} {bare}"
        hint = ""
        if isinstance(value, str | int) and not isinstance(value, bool):
            try:
                return canonical(str(value))
            except UnitError as error:
                hint = error.hint
        raise PydanticCustomError("quantity", "not a quantity", {"expected": expected, "hint": hint})

    return BeforeValidator(validate)


Rate = Annotated[str, _canonical(lambda text: RATE.print(RATE.parse(text)), RATE.expected, None)]
"""A field with a rate in its canonical form."""
Size = Annotated[str, _canonical(lambda text: SIZE.print(SIZE.parse(text)), SIZE.expected, "B")]
"""A field with a size in its canonical form; a bare number is in bytes."""
Duration = Annotated[
    str, _canonical(lambda text: DURATION.print(DURATION.parse(text)), DURATION.expected, None)
]
"""A field with a duration in its canonical form."""
Queue = Annotated[str, _canonical(lambda text: QueueLimit.parse(text).print(), QUEUE_LIMIT_EXPECTED, None)]
"""A field with a queue limit in its canonical form."""


class Fraction(float):
    """A probability that has been read, whose 1 is 100% and not a number without its unit."""

    def print(self) -> str:
        """Returns the probability as a text that is read as the same value: 100%, or a fraction."""
        if self >= 1:
            return "100%"
        return repr(float(self)) if self > 0 else "0"


PROBABILITY_EXPECTED = "a fraction below 1, such as 0.01, or a percentage up to 100%, such as 1%"
"""The forms of a probability, in words."""
_PERCENTAGE = re.compile(r"\s*([0-9]{1,3}(?:\.[0-9]{1,15})?)\s*%\s*", re.ASCII)
_FRACTION = re.compile(r"\s*([0-9]{1,3}(?:\.[0-9]{0,18})?(?:e-?[0-9]{1,2})?)\s*", re.ASCII | re.IGNORECASE)


def _probability(value: Any, info: ValidationInfo) -> Fraction:
    """Reads a probability: a fraction, or a text with a percentage. Documents of a run file, which are JSON,
    have 1 for 100%."""
    if isinstance(value, Fraction):
        return value
    if info.mode == "json" and value == 1:
        return Fraction(1)
    hint = ""
    if isinstance(value, str) and (percentage := _PERCENTAGE.fullmatch(value)):
        ratio = float(Decimal(percentage[1]) / 100)
        if ratio <= 1:
            return Fraction(ratio)
    else:
        number = _FRACTION.fullmatch(value) if isinstance(value, str) else None
        fraction = float(number[1]) if number else value
        if isinstance(fraction, int | float) and not isinstance(fraction, bool):
            if 0 <= fraction < 1:
                return Fraction(fraction)
            if fraction == 1:
                hint = "1 without a unit may mean 1% or 100%: write 0.01 or 1%, or 100%"
    raise PydanticCustomError(
        "quantity", "not a probability", {"expected": PROBABILITY_EXPECTED, "hint": hint}
    )


Probability = Annotated[float, PlainValidator(_probability)]
"""A field with a probability, which is a `Fraction`."""
Period = Annotated[str, _canonical(lambda text: PERIOD.print(PERIOD.parse(text)), PERIOD.expected, None)]
"""A field with a period in its canonical form."""
