"""Study files: what is compared, checked in full when read."""

from nettrial.fields import Wrong
from nettrial.study.catalogue import load, shipped
from nettrial.study.flows import EVERY
from nettrial.study.model import SIMULATOR, Factor, Layout, Published, Response, Source, Study, Until
from nettrial.study.network import BurstSettings, ImpairmentSettings, NetworkSettings, RoutingSettings
from nettrial.study.queues import DROP_TAIL, DisciplineSettings
from nettrial.study.settings import CostSettings, FlowSettings, HostSettings, MeasurementSettings, Settings
from nettrial.study.variates import imix

__all__ = [
    "DROP_TAIL",
    "EVERY",
    "SIMULATOR",
    "BurstSettings",
    "CostSettings",
    "DisciplineSettings",
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
