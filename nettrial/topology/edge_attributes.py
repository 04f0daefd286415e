"""The attributes of links in graph files, by the names that tools give them. Attributes that set what a link
does are read if their unit is certain, and refused by name otherwise; all others have no effect."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from nettrial.fields import Wrong
from nettrial.files import Unsuitable
from nettrial.topology.edges import EdgeDirection, EdgeSettings
from nettrial.units import RATE, UnitError

REVERSE = "reverse_"
"""The beginning of the names of attributes for the direction from the target to the source."""
WITHOUT = ("impairment", "jitter", "duplication", "reordering", "discipline")
"""Settings of links in a study that an attribute can't give."""
SPEED_UNITS = {"": "bit/s", "K": "kbit/s", "M": "Mbit/s", "G": "Gbit/s", "T": "Tbit/s"}
"""The units of `LinkSpeedUnits` of the Internet Topology Zoo."""


class BadAttribute(Unsuitable):
    """The error for an attribute that can't be read, with the fault and the expectation."""


@dataclass(frozen=True)
class _Attribute:
    """An attribute that gives a setting."""

    setting: str
    """The setting."""
    read: Callable[[Any], Any] = lambda value: value
    """Returns the value in the notation of a study."""


def _bits_per_second(value: Any) -> Any:
    """Returns the rate of a number of bits per second, as in `LinkSpeedRaw`."""
    try:
        number = float(value)
        return RATE.print(int(number)) if number == int(number) > 0 else value
    except (TypeError, ValueError, OverflowError):
        return value


def _packets(value: Any) -> Any:
    """Returns the queue of a number of packets, as in Mininet's `max_queue_size`."""
    text = str(value)
    return f"{text} packets" if re.fullmatch(r"[0-9]{1,10}", text) else value


ATTRIBUTES = {
    **{name: _Attribute("rate") for name in ("rate", "bw", "bandwidth", "capacity", "speed")},
    "linkspeedraw": _Attribute("rate", _bits_per_second),
    **{name: _Attribute("delay") for name in ("delay", "latency")},
    "queue": _Attribute("queue"),
    "max_queue_size": _Attribute("queue", _packets),
    "loss": _Attribute("loss"),
    "mtu": _Attribute("mtu"),
    "linkspeed": _Attribute("rate"),
}
"""The attributes that give settings, by their names in lower case."""
ZOO = ("linkspeed", "linkspeedunits")
"""The attributes with which the Internet Topology Zoo gives a speed in words, besides `LinkSpeedRaw`."""
NAME = "name"
"""The attribute with a link's name, if it is one by which a study can set the link."""


def is_relevant(name: object) -> bool:
    """Returns whether an attribute of a link has an effect, or is refused."""
    plain = str(name).lower().removeprefix(REVERSE)
    return plain in (*ATTRIBUTES, *ZOO, *WITHOUT, NAME)


def settings_of(attributes: Mapping[Any, Any]) -> EdgeSettings | None:
    """Returns the settings that the attributes of a link give, or None; raises BadAttribute."""
    given = {
        str(name): value
        for name, value in attributes.items()
        if is_relevant(name) and value not in (None, "")
    }
    settings: dict[str, Any] = {}
    reverse: dict[str, Any] = {}
    said: dict[tuple[bool, str], str] = {}
    without_zoo = {name: value for name, value in given.items() if name.lower() not in ZOO}
    for name, value in {**without_zoo, **_zoo(given)}.items():
        lower = name.lower()
        plain = lower.removeprefix(REVERSE)
        is_reverse = plain != lower
        if plain in WITHOUT:
            expected = "links without it: the study's network.links sets it"
            raise BadAttribute(f"has the attribute {name}", expected)
        if plain == NAME and re.fullmatch(r"[A-Za-z0-9_-]{1,64}", str(value)):
            settings["name"] = str(value)
        attribute = ATTRIBUTES.get(plain)
        if attribute is None:
            continue
        setting = attribute.setting
        if is_reverse and setting == "mtu":
            raise BadAttribute(f"has the attribute {name}", "`mtu`, which is that of both directions")
        if (is_reverse, setting) in said:
            fault = f"has both {said[is_reverse, setting]} and {name}"
            raise BadAttribute(fault, f"one attribute that gives the {setting}")
        said[is_reverse, setting] = name
        read = attribute.read(value)
        _check(name, setting, value, read)
        (reverse if is_reverse else settings)[setting] = read
    if reverse:
        settings["reverse"] = reverse
    return EdgeSettings.model_validate(settings) if settings else None


def _check(name: str, setting: str, value: Any, read: Any) -> None:
    """Raises BadAttribute if an attribute has a value that its setting can't have."""
    model = EdgeSettings if setting == "mtu" else EdgeDirection
    try:
        model.model_validate({setting: read})
    except ValidationError as error:
        fault = Wrong.of(error)[0]
        text = repr(value) if len(repr(value)) <= 40 else repr(value)[:39] + "…"
        is_bare = isinstance(value, int | float) or re.fullmatch(r"[0-9.]+", str(value))
        why = ", without a unit" if is_bare and setting in ("rate", "delay", "queue") else ""
        hint = f" ({fault.hint})" if fault.hint else ""
        raise BadAttribute(f"has the {name} {text}{why}", fault.expected + hint) from None


def _zoo(given: Mapping[str, Any]) -> dict[str, str]:
    """Returns the rate of `LinkSpeed` and `LinkSpeedUnits` if there is no `LinkSpeedRaw`."""
    lower = {name.lower(): value for name, value in given.items()}
    if "linkspeed" not in lower or "linkspeedraw" in lower:
        return {}
    speed, unit = str(lower["linkspeed"]), str(lower.get("linkspeedunits", ""))
    text = f"{speed} {SPEED_UNITS.get(unit.upper(), unit)}"
    try:
        if "linkspeedunits" not in lower:
            raise UnitError("rate", text, RATE.expected)
        return {"LinkSpeed": RATE.print(RATE.parse(text))} if RATE.parse(text) else {}
    except UnitError:
        fault = f"has the LinkSpeed {speed!r}" + (
            f" with LinkSpeedUnits {unit!r}" if unit else ", without a unit"
        )
        raise BadAttribute(fault, "LinkSpeedRaw, in bits per second, or a rate with its unit") from None
