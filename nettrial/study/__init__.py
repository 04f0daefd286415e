"""Study files: what is compared, checked in full when read."""

from nettrial.fields import Wrong
from nettrial.study.catalogue import load, shipped
from nettrial.study.model import Factor, Layout, Published, Response, Source, Study, Until
from nettrial.study.network import ImpairmentSettings, NetworkSettings, RoutingSettings
from nettrial.study.settings import FlowSettings, HostSettings, MeasurementSettings, Settings
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
    "Until",
    "Wrong",
    "imix",
    "load",
    "shipped",
]
