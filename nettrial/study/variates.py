"""Random quantities in a study file: what is written short, and what is read from a file. The distributions
are the engine's, in `base.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ValidationInfo

from nettrial import units
from nettrial.bounds import MOST_FILE_BYTES
from nettrial.fields import Strict, wrong
from nettrial.files import Unreadable, beside, read_text
from nettrial.registry import near
from nettrial.units import Quantity, UnitError

Value = TypeVar("Value")
"""The drawn quantity: a size or a duration."""


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
"""The header of IP and UDP, by IP version (RFC 791, RFC 8200, RFC 768)."""

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


def variate(quantity: Quantity, distributions: Sequence[str]) -> BeforeValidator:
    """A validator that writes out what is written short, and reads a file's values; `distributions` are the
    names of those that there are."""
    names = [*distributions, "file"]

    def validate(value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, BaseModel):
            return value
        if not isinstance(value, Mapping):
            if value == "imix" and quantity is units.SIZE:
                return {"distribution": "imix"}
            return {"distribution": "constant", "value": value}
        named = value.get("distribution", "missing")
        if named not in names:
            raise wrong(("distribution",), str(named), ", ".join(names), near(str(named), names))
        if named != "file":
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
        expected = f"a file beside the study file, of up to {MOST_FILE_BYTES} bytes"
        raise wrong(("file",), name, expected, str(why)) from None
    values = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                values.append(quantity.print(quantity.parse(line)))
            except UnitError:
                raise wrong(("file",), f"{name}:{number}: {line.strip()!r}", quantity.expected) from None
    if not values:
        raise wrong(("file",), f"{name} has no values", "one value a line")
    return values
