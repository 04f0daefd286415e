"""Metrics: figures of a flow, a host, an interface, a radio station or the controller in a trial's record,
or of the trial's network, by name, each with a unit, a definition and a source. A metric that could not be
measured is absent, with a reason, and never a number."""

from nettrial.metrics import rates  # isort: skip  # the order of these is that of the lists
from nettrial.metrics import groups, delay, loss, transport, hosts, links, radio  # isort: skip
from nettrial.metrics import controller, networks  # isort: skip
from nettrial.metrics.metric import METRICS, Metric

__all__ = [
    "METRICS",
    "Metric",
    "controller",
    "delay",
    "groups",
    "hosts",
    "links",
    "loss",
    "networks",
    "radio",
    "rates",
    "transport",
]
