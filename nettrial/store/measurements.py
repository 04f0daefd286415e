"""Runs of measurements between hosts, and over a network, that nobody described."""

from __future__ import annotations

import json
from typing import Any

from nettrial.capabilities import IMPORTED, REMOTE

NO_SCENARIO = "null"
"""The scenario of a measurement, as JSON."""
_NAMES = {"study": "measure", "backend": "hosts"}
"""The study's name and backend that earlier versions stored with each measurement."""
_ASSUMED = ("network", "hosts", "measurement")
"""The settings that they stored, and that nobody had described."""
_NETWORK = {"topology": "pair", "mtu": "1500 B"}
"""The network that they stored."""


def without_assumptions(text: str, command: str) -> str:
    """Returns a stored study as JSON. From that of a measurement by an earlier version, which stored a
    network and hosts that nobody had described, these are removed; any other is returned unchanged."""
    kind = command.split()[1:2]
    if kind not in (["import"], ["measure"]):
        return text
    try:
        study = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(study, dict) or not _is_assumed(study):
        return text
    factors = {
        name: {**factor, "sets": {level: {} for level in factor["levels"]}}
        for name, factor in study["factors"].items()
    }
    kept = {name: value for name, value in study.items() if name not in _ASSUMED}
    backend = IMPORTED if kind == ["import"] else REMOTE
    return json.dumps({**kept, "backend": backend, "factors": factors}, indent=2)


def _is_assumed(study: dict[str, Any]) -> bool:
    """Returns true if the network and the factor of a study are those of a measurement by an earlier
    version."""
    network, factors = study.get("network"), study.get("factors")
    if not isinstance(network, dict) or not isinstance(factors, dict):
        return False
    named = all(study.get(name) == value for name, value in _NAMES.items())
    same = all(network.get(name) == value for name, value in _NETWORK.items())
    return named and same and all(map(_is_of_ip, factors.values()))


def _is_of_ip(factor: object) -> bool:
    """Returns true for the factor that earlier versions stored with each measurement."""
    if not isinstance(factor, dict) or factor.get("sets") != "network.ip":
        return False
    return isinstance(factor.get("levels"), list)
