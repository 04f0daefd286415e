"""Settings with several values: what `nettrial measure --set` compares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nettrial.congestion import CONTROLS
from nettrial.errors import READING_OPTIONS, BadInput
from nettrial.fields import in_short
from nettrial.measuring.options import RANGES, read, with_unit
from nettrial.registry import near
from nettrial.units import SIZE

MTUS = (576, 65_535)
"""The smallest and the largest MTU in bytes: an IPv4 packet that every host takes (RFC 791), and the largest
one."""
OF_KERNELS = [name for name in CONTROLS if CONTROLS[name].kernel and not CONTROLS[name].own]
"""The congestion controls that kernels have themselves."""
OPTION = "--set"
"""The option, for error messages."""
MOST_LEVELS = 20
"""The largest number of values of a setting."""


def _size(text: str) -> str:
    return SIZE.print(read(SIZE, OPTION, with_unit(SIZE, text)))


def _mtu(text: str) -> str:
    size = _size(text)
    if not MTUS[0] <= SIZE.parse(size) <= MTUS[1]:
        raise BadInput(READING_OPTIONS, OPTION, f"mtu={text}", f"{MTUS[0]} B to {MTUS[1]} B")
    return size


def _window(text: str) -> str:
    return _size(text)


def _count(text: str) -> str:
    low, high = RANGES["parallel"]
    if not text.isascii() or not text.isdecimal() or not low <= int(text) <= high:
        raise BadInput(READING_OPTIONS, OPTION, f"parallel={text}", f"{low} to {high}")
    return str(int(text))


def _one_of(setting: str, values: Sequence[str]) -> Callable[[str], str]:
    def check(text: str) -> str:
        if text not in values:
            raise BadInput(READING_OPTIONS, OPTION, f"{setting}={text}", in_short(values), near(text, values))
        return text

    return check


@dataclass(frozen=True)
class Setting:
    """A setting that may have several values."""

    title: str
    """Its title in tables."""
    level: Callable[[str], str]
    """The function that returns a value in its canonical form; raises BadInput."""
    kinds: tuple[str, ...]
    """The kinds of measurements that have it."""


SETTINGS = {
    "mtu": Setting("MTU", _mtu, ("tcp", "udp", "rr")),
    "congestion_control": Setting(
        "Congestion control", _one_of("congestion_control", OF_KERNELS), ("tcp", "rr")
    ),
    "parallel": Setting("Streams", _count, ("tcp", "udp", "rr")),
    "window": Setting("Window", _window, ("tcp", "rr")),
    "ip": Setting("IP", _one_of("ip", ("4", "6")), ("tcp", "udp", "rr")),
    "transport": Setting("Transport", _one_of("transport", ("tcp", "udp")), ("tcp", "udp")),
}
"""The settings by name."""


@dataclass(frozen=True)
class Varied:
    """A setting with the values that are compared."""

    name: str
    """The setting's name."""
    levels: tuple[str, ...]
    """The values in their canonical form; the first is the baseline."""

    @property
    def title(self) -> str:
        """Returns the setting's title in tables."""
        return SETTINGS[self.name].title


def varied(texts: Sequence[str], kind: str) -> list[Varied]:
    """Returns the settings that the values of `--set` name, for a kind of measurement; raises BadInput."""
    settings: list[Varied] = []
    for text in texts:
        name, equals, values = text.partition("=")
        name = name.strip()
        if not equals or name not in SETTINGS:
            expected = "SETTING=VALUE,VALUE with one of " + ", ".join(SETTINGS)
            raise BadInput(READING_OPTIONS, OPTION, text, expected, near(name, SETTINGS))
        setting = SETTINGS[name]
        if kind not in setting.kinds:
            raise BadInput(READING_OPTIONS, OPTION, text, f"no {name} with {kind}")
        if any(name == other.name for other in settings):
            raise BadInput(READING_OPTIONS, OPTION, text, "each setting once")
        levels = [setting.level(value.strip()) for value in values.split(",")]
        if not 2 <= len(levels) <= MOST_LEVELS or len(set(levels)) < len(levels):
            expected = f"2 to {MOST_LEVELS} different values, separated by commas"
            hint = "the first one is the baseline" if len(levels) > 1 else f"such as {name}={values},…"
            raise BadInput(READING_OPTIONS, OPTION, text, expected, hint)
        settings.append(Varied(name, tuple(levels)))
    return settings
