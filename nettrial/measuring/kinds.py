"""The kinds of measurements."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from nettrial.errors import READING_OPTIONS, BadInput
from nettrial.measuring.measurement import Measurement
from nettrial.measuring.options import MeasureOptions

KINDS = {
    **dict.fromkeys(("tcp", "udp", "rr"), ("nettrial.measuring.traffic", "TrafficMeasurement")),
    "ndt7": ("nettrial.measuring.ndt7", "Ndt7Measurement"),
    "stamp": ("nettrial.measuring.stamp", "StampMeasurement"),
}
"""The module and the class of each kind. A module is imported when its kind is used, so that the others, and
what they need, are not loaded."""


def measurement(options: MeasureOptions) -> Measurement[Any]:
    """Returns the measurement of the kind in the options, which are checked; raises BadInput, and CannotRun
    if the kind's extra is not installed."""
    if options.kind not in KINDS:
        raise BadInput(READING_OPTIONS, "KIND", options.kind, ", ".join(KINDS))
    module, name = KINDS[options.kind]
    kind: type[Measurement[Any]] = getattr(import_module(module), name)
    options.refuse_others(kind.takes)
    if options.set:
        from nettrial.measuring.compared import ComparedMeasurement  # studies are slow to load

        return ComparedMeasurement(options)
    made: Measurement[Any] = kind(options)  # type: ignore[call-arg]  # each takes the options alone
    return made
