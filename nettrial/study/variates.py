"""Random quantities in a study file: their short notations, and values read from a file. The distributions
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
"""The random quantity: a size or a duration."""


class Imix(Strict):
    """The simple Internet mix: IP packets of 40, 576 and 1500 bytes in the ratio 7:4:1. The payload is the
    packet without the IP and UDP headers, but at least 24 bytes. `imix` is the short form."""

    distribution: Literal["imix"]
    """The name of the distribution."""


IMIX = ((40, 7), (576, 4), (1500, 1))
"""The sizes of IP packets in bytes with their shares: the "simple IMIX" (RFC 6985 names such mixes)."""
LEAST_PAYLOAD_BYTES = 24
"""The least payload: a packet carries a number and two times of 8 bytes each, the engine's
MESSAGE_HEADER_BYTES. IMIX's smallest packets therefore have 52 bytes over IPv4 and 72 over IPv6."""
HEADER_BYTES = {4: 20 + 8, 6: 40 + 8}
"""The size of the IP and UDP headers by IP version (RFC 791, RFC 8200, RFC 768)."""

SHORT = {"constant", "imix"}
"""The distributions that can be written as a single value."""


def imix(ip: int) -> dict[str, Any]:
    """Returns the simple IMIX as a mix of payload sizes over this IP version."""
    sizes = [(max(packet - HEADER_BYTES[ip], LEAST_PAYLOAD_BYTES), share) for packet, share in IMIX]
    return {
        "distribution": "mix",
        "shares": [{"value": f"{size} B", "share": share} for size, share in sizes],
    }


def short(value: Any) -> Any:
    """Converts a quantity in plain data into a single value if possible; returns other values unchanged."""
    if isinstance(value, Mapping) and value.get("distribution") in SHORT:
        return value.get("value", "imix")
    return value


def variate(quantity: Quantity, distributions: Sequence[str]) -> BeforeValidator:
    """Returns a validator that expands short notations and reads values from files; `distributions` are the
    available names."""
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
    """Returns the values in a file with one value per line, ignoring empty lines."""
    try:
        lines = read_text(beside(folder, name), MOST_FILE_BYTES).splitlines()
    except Unreadable as why:
        expected = f"a file in the directory of the study file, of up to {MOST_FILE_BYTES} bytes"
        raise wrong(("file",), name, expected, str(why)) from None
    values = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                values.append(quantity.print(quantity.parse(line)))
            except UnitError as error:
                value = f"{name}:{number}: {line.strip()!r}"
                raise wrong(("file",), value, quantity.expected, error.hint) from None
    if not values:
        raise wrong(("file",), f"{name} has no values", "one value per line")
    return values
