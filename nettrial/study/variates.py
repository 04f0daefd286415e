"""Random quantities in a study file: a distribution with its parameters, or a plain value, which is always
the same. The engine draws them; what each distribution is, its documents say."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, ValidationInfo

from nettrial import units
from nettrial.bounds import MOST_FILE_BYTES
from nettrial.fields import Strict, wrong
from nettrial.files import Unreadable, beside, read_text
from nettrial.registry import near
from nettrial.units import Duration, Quantity, Size, UnitError

Value = TypeVar("Value")
"""What is drawn: a size or a duration."""


class Truncation(Strict, Generic[Value]):
    """Where a distribution is cut off, bounds included; what is cut off is drawn again."""

    minimum: Value | None = None
    """The smallest value kept."""
    maximum: Value | None = None
    """The largest value kept."""


class Constant(Strict, Generic[Value]):
    """Always the same; a plain value is short for it."""

    distribution: Literal["constant"]
    """Says which distribution it is."""
    value: Value
    """The value."""


class Uniform(Strict, Generic[Value]):
    """Each value between two bounds as likely as another."""

    distribution: Literal["uniform"]
    """Says which distribution it is."""
    minimum: Value
    """The smallest."""
    maximum: Value
    """The largest."""


class Exponential(Strict, Generic[Value]):
    """Gaps of a Poisson process: density exp(−x/mean)/mean."""

    distribution: Literal["exponential"]
    """Says which distribution it is."""
    mean: Value
    """The mean, before truncation."""
    truncation: Truncation[Value] | None = None
    """Where it is cut off."""


class Normal(Strict, Generic[Value]):
    """The bell curve. It needs a minimum of zero or more."""

    distribution: Literal["normal"]
    """Says which distribution it is."""
    mean: Value
    """The mean, before truncation."""
    deviation: Value
    """The standard deviation, before truncation."""
    truncation: Truncation[Value] | None = None
    """Where it is cut off."""


class Pareto(Strict, Generic[Value]):
    """P(X > x) = (scale/x)^shape for x ≥ scale. Its mean exists for a shape above 1."""

    distribution: Literal["pareto"]
    """Says which distribution it is."""
    scale: Value
    """The smallest value."""
    shape: float
    """The tail's exponent."""
    truncation: Truncation[Value] | None = None
    """Where it is cut off."""


class Cauchy(Strict, Generic[Value]):
    """Density ∝ 1/(1 + ((x − location)/scale)²). It has no mean unless cut off on both sides."""

    distribution: Literal["cauchy"]
    """Says which distribution it is."""
    location: Value
    """The median, before truncation."""
    scale: Value
    """Half the width at half the height."""
    truncation: Truncation[Value] | None = None
    """Where it is cut off."""


class Gamma(Strict, Generic[Value]):
    """Density ∝ x^(shape − 1) exp(−x/scale)."""

    distribution: Literal["gamma"]
    """Says which distribution it is."""
    shape: float
    """The shape."""
    scale: Value
    """The scale; the mean is shape × scale."""
    truncation: Truncation[Value] | None = None
    """Where it is cut off."""


class Weibull(Strict, Generic[Value]):
    """P(X > x) = exp(−(x/scale)^shape)."""

    distribution: Literal["weibull"]
    """Says which distribution it is."""
    shape: float
    """The shape."""
    scale: Value
    """The scale."""
    truncation: Truncation[Value] | None = None
    """Where it is cut off."""


class Share(Strict, Generic[Value]):
    """A value of a mix."""

    value: Value
    """The value."""
    share: float
    """How often it comes, in proportion to the others' shares."""


class Mix(Strict, Generic[Value]):
    """A few values, each with its share."""

    distribution: Literal["mix"]
    """Says which distribution it is."""
    shares: list[Share[Value]]
    """The values."""


class Listed(Strict, Generic[Value]):
    """These values in this order, again from the first after the last. With `distribution: file` and a
    `file` beside the study file, they are read from that: one a line."""

    distribution: Literal["listed"]
    """Says which distribution it is."""
    values: list[Value]
    """The values."""


class Imix(Strict):
    """The simple Internet mix: IP packets of 40, 576 and 1500 bytes, 7:4:1. A payload is what the headers
    of IP and UDP leave, but no less than 24 bytes. `imix` alone is short for it."""

    distribution: Literal["imix"]
    """Says which distribution it is."""


IMIX = ((40, 7), (576, 4), (1500, 1))
"""Bytes of an IP packet and its share: the "simple IMIX" (RFC 6985 names such mixes)."""
LEAST_PAYLOAD_BYTES = 24
"""A packet carries a number and two times, 8 bytes each: the engine's MESSAGE_HEADER_BYTES. So IMIX's
smallest packets are of 52 bytes over IPv4 and of 72 over IPv6."""
HEADER_BYTES = {4: 20 + 8, 6: 40 + 8}
"""Of IP and UDP, by IP version (RFC 791, RFC 8200, RFC 768)."""

SHORT = {"constant", "imix"}
"""Distributions that can be written as one value."""


def imix(ip: int) -> dict[str, Any]:
    """The simple IMIX as a mix of payload sizes over this IP version."""
    sizes = [(max(packet - HEADER_BYTES[ip], LEAST_PAYLOAD_BYTES), share) for packet, share in IMIX]
    return {
        "distribution": "mix",
        "shares": [{"value": f"{size} B", "share": share} for size, share in sizes],
    }


def short(value: Any) -> Any:
    """A quantity of plain data as one value where it can be written so; all else as it is."""
    if isinstance(value, Mapping) and value.get("distribution") in SHORT:
        return value.get("value", "imix")
    return value


def _long(quantity: Quantity, names: str) -> BeforeValidator:
    """Writes out what is written short, and reads a file's values; `names` are the distributions' names."""

    def validate(value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, BaseModel):
            return value
        if not isinstance(value, Mapping):
            if value == "imix" and quantity is units.SIZE:
                return {"distribution": "imix"}
            return {"distribution": "constant", "value": value}
        named = value.get("distribution", "missing")
        if named not in names.split(", "):
            raise wrong(("distribution",), str(named), names, near(str(named), names.split(", ")))
        if value["distribution"] != "file":
            return value
        unknown = sorted(set(value) - {"distribution", "file"})
        if unknown:
            raise wrong((unknown[0],), "unknown field", "distribution, file", near(unknown[0], ["file"]))
        folder = (info.context or {}).get("folder")
        if not isinstance(value.get("file"), str) or folder is None:
            raise wrong(("file",), str(value.get("file", "missing")), "a file beside the study file")
        return {"distribution": "listed", "values": _values(Path(folder), value["file"], quantity)}

    return BeforeValidator(validate)


def _values(folder: Path, name: str, quantity: Quantity) -> list[str]:
    """The values in a file, one a line; empty lines don't count."""
    try:
        lines = read_text(beside(folder, name), MOST_FILE_BYTES).splitlines()
    except Unreadable as why:
        legal = f"a file beside the study file, of up to {MOST_FILE_BYTES} bytes"
        raise wrong(("file",), name, legal, str(why)) from None
    values = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                values.append(quantity.print(quantity.parse(line)))
            except UnitError:
                raise wrong(("file",), f"{name}:{number}: {line.strip()!r}", quantity.legal) from None
    if not values:
        raise wrong(("file",), f"{name} has no values", "one value a line")
    return values


_NAMES = "constant, uniform, exponential, normal, pareto, cauchy, gamma, weibull, mix, listed, file"

SizeVariate = Annotated[
    Constant[Size]
    | Uniform[Size]
    | Exponential[Size]
    | Normal[Size]
    | Pareto[Size]
    | Cauchy[Size]
    | Gamma[Size]
    | Weibull[Size]
    | Mix[Size]
    | Listed[Size]
    | Imix,
    Field(discriminator="distribution"),
    _long(units.SIZE, f"{_NAMES}, imix"),
]
"""A constant or random size."""
DurationVariate = Annotated[
    Constant[Duration]
    | Uniform[Duration]
    | Exponential[Duration]
    | Normal[Duration]
    | Pareto[Duration]
    | Cauchy[Duration]
    | Gamma[Duration]
    | Weibull[Duration]
    | Mix[Duration]
    | Listed[Duration],
    Field(discriminator="distribution"),
    _long(units.DURATION, _NAMES),
]
"""A constant or random duration."""
