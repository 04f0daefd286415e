"""The options of a measurement, and their values."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, fields
from pathlib import Path

from nettrial.backends import find_server
from nettrial.bounds import LARGEST_SEED
from nettrial.errors import READING_OPTIONS, BadInput
from nettrial.files import Unreadable, read_secret
from nettrial.units import DURATION, RATE, SIZE, Quantity, UnitError

TIME = "5 s"
"""The duration of a repeat unless another is given."""
MOST_TOKEN_BYTES = 4096
"""The largest size of a file with a token."""
IPERF3_UNITS = {
    DURATION.name: {"": "s"},
    RATE.name: {"": "bit/s", "K": "kbit/s", "M": "Mbit/s", "G": "Gbit/s", "T": "Tbit/s"},
    SIZE.name: {"": "B", "K": "KiB", "M": "MiB", "G": "GiB"},
}
"""The units for iperf3's notation of numbers with a one-letter suffix or none: "--time 5", "--rate 100M",
"--size 1400"."""
RANGES = {
    "port": (1, 65535),
    "replicates": (1, 1000),
    "parallel": (1, 128),
    "dscp": (0, 63),
    "seed": (0, LARGEST_SEED),
}
"""The smallest and the largest value of each number."""
OF_ALL = frozenset({"host", "kind", "port", "ip", "replicates", "time"})
"""The options of all kinds."""


@dataclass(frozen=True)
class MeasureOptions:
    """The options of a measurement, as they were given. None stands for the default of the kind."""

    host: str
    """The name or address of the server's machine."""
    kind: str = "tcp"
    """The kind of measurement."""
    iperf3: bool = False
    """True if the server is iperf3's."""
    port: int | None = None
    """The server's port."""
    ip: int | None = None
    """The IP version, 4 or 6; None for that of the name."""
    replicates: int = 10
    """The number of repeats, without the warm-up."""
    parallel: int = 1
    """The number of streams at the same time."""
    set: tuple[str, ...] = ()
    """The settings that are compared, each as SETTING=VALUE,VALUE."""
    time: str | None = None
    """The duration of each repeat; with ndt7, of each direction."""
    reverse: bool = False
    """True if the server sends."""
    rate: str | None = None
    """The rate of each stream."""
    size: str | None = None
    """The size of packets, messages or writes."""
    interval: str | None = None
    """The time between packets."""
    dscp: int | None = None
    """The DSCP of the packets."""
    seed: int | None = None
    """The seed of the random numbers; None for a random one."""
    token_file: Path | None = None
    """The file with the token, or with the key of STAMP's authenticated mode."""
    plain: bool = False
    """True without TLS."""
    no_verify: bool = False
    """True if every certificate is accepted."""

    def __post_init__(self) -> None:
        """Raises BadInput for a number that is out of range."""
        for name, (low, high) in RANGES.items():
            value = getattr(self, name)
            if value is not None and not low <= value <= high:
                raise BadInput(READING_OPTIONS, f"--{name}", str(value), f"{low} to {high}")

    def refuse_others(self, takes: Collection[str]) -> None:
        """Raises BadInput for the first option that was given and that the kind does not take."""
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name in OF_ALL or each.name in takes or value == each.default:
                continue
            option = f"--{each.name.replace('_', '-')}"
            shown = "" if value is True else " ".join(value) if isinstance(value, tuple) else str(value)
            raise BadInput(READING_OPTIONS, option, shown, f"no {option} with {self.kind}")


def read(quantity: Quantity, option: str, text: str) -> int:
    """Returns the value of a quantity that was given as an option, also in iperf3's notation; raises
    BadInput."""
    try:
        return quantity.parse(with_unit(quantity, text))
    except UnitError as error:
        raise BadInput(READING_OPTIONS, option, error.text, error.expected, error.hint) from None


def seconds(text: str, option: str = "--time") -> float:
    """Returns a duration that was given as an option, in seconds; raises BadInput."""
    return read(DURATION, option, text) / 1e9


def with_unit(quantity: Quantity, text: str) -> str:
    """Returns a number in iperf3's notation with its unit, and any other text unchanged."""
    match = re.fullmatch(r"([0-9.]+)([A-Z]?)", text.upper())
    unit = IPERF3_UNITS[quantity.name].get(match[2]) if match else None
    return f"{match[1]} {unit}" if match and unit else text


def server_at(host: str, port: int, ip: int | None) -> tuple[str, int]:
    """Returns a server's address with its port, and the IP version; raises BadInput."""
    try:
        return find_server(host, port, ip)
    except LookupError as why:
        expected = "a name or an address" + (f" with an IPv{ip} address" if ip else "")
        raise BadInput(READING_OPTIONS, "HOST", host, expected, str(why)) from None


def address_of(server: str) -> str:
    """Returns an address without its port."""
    return server.rpartition(":")[0].strip("[]")


def check_token(file: Path) -> None:
    """Raises BadInput if a token can't be in a file, which the engine then reads."""
    try:
        read_secret(file, MOST_TOKEN_BYTES)
    except Unreadable as why:
        raise BadInput(
            READING_OPTIONS, "--token-file", str(file), "a file with the token", str(why)
        ) from None
