"""Study files: what is compared, checked in full when read."""

from nettrial.study.catalogue import load, shipped
from nettrial.study.fields import Wrong
from nettrial.study.model import Factor, Layout, Published, Response, Source, Study
from nettrial.study.settings import (
    FlowSettings,
    HostSettings,
    ImpairmentSettings,
    MeasurementSettings,
    NetworkSettings,
    RoutingSettings,
    Settings,
)
from nettrial.study.variates import imix

__all__ = [
    "Factor",
    "FlowSettings",
    "HostSettings",
    "ImpairmentSettings",
    "Layout",
    "MeasurementSettings",
    "NetworkSettings",
    "Published",
    "Response",
    "RoutingSettings",
    "Settings",
    "Source",
    "Study",
    "Wrong",
    "imix",
    "load",
    "shipped",
]
