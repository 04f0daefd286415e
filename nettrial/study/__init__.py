"""Study files, which are checked completely when they are read."""

from nettrial.fields import Wrong
from nettrial.study.base import HostCost, LossBursts, Outage
from nettrial.study.block import Block
from nettrial.study.catalogue import examples, given, load, runs_on, shipped
from nettrial.study.conclusions import Conclusion
from nettrial.study.delay_trace import DelayTrace
from nettrial.study.document import Document
from nettrial.study.flows import EVERY
from nettrial.study.links import (
    TUNNEL_BYTES,
    Cable,
    DirectionSettings,
    ImpairmentSettings,
    LinkKind,
    Place,
    link_kinds,
)
from nettrial.study.model import Factor, Layout, Published, Response, Source, Study, Until
from nettrial.study.network import ControllerSettings, NetworkSettings, RoutingSettings
from nettrial.study.paths import steps_of
from nettrial.study.queues import DROP_TAIL, DisciplineSettings
from nettrial.study.rate_trace import RateTrace
from nettrial.study.settings import FlowSettings, HostSettings, MeasurementSettings, Settings
from nettrial.study.variates import imix

__all__ = [
    "DROP_TAIL",
    "EVERY",
    "TUNNEL_BYTES",
    "Block",
    "Cable",
    "Conclusion",
    "ControllerSettings",
    "DelayTrace",
    "DirectionSettings",
    "DisciplineSettings",
    "Document",
    "Factor",
    "FlowSettings",
    "HostCost",
    "HostSettings",
    "ImpairmentSettings",
    "Layout",
    "LinkKind",
    "LossBursts",
    "MeasurementSettings",
    "NetworkSettings",
    "Outage",
    "Place",
    "Published",
    "RateTrace",
    "Response",
    "RoutingSettings",
    "Settings",
    "Source",
    "Study",
    "Until",
    "Wrong",
    "examples",
    "given",
    "imix",
    "link_kinds",
    "load",
    "runs_on",
    "shipped",
    "steps_of",
]
