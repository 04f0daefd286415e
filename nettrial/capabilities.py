"""The capabilities of each backend, as stated by the engine. Code checks these instead of a backend's name.

`make generate` writes `capabilities.json`; a backend is refused if its engine states other capabilities."""

from __future__ import annotations

import json
from importlib import resources

from nettrial.registry import Registry
from nettrial.scenario import Capabilities

CAPABILITIES: Registry[Capabilities] = Registry("backend")
"""The capabilities of each backend on a machine that lacks nothing, by the backend's name."""

IMPORTED = "imported"
"""The backend of studies that describe measurements of other programs."""
REMOTE = "remote"
"""The backend of studies that describe measurements between this machine and a server."""
MEASURED = (IMPORTED, REMOTE)
"""The backends of studies that describe measurements, which are no trials."""

OF_MEASUREMENTS = Capabilities(
    captures=False,
    congestion_controls=[],
    deterministic=False,
    disciplines=[],
    estimates=False,
    figures=[],
    kernel_congestion_controls=False,
    makes_links=False,
    media=[],
    modelled_hosts=False,
    most_flows=0,
    most_nodes=0,
    parallel=False,
    settings=[],
    shared_kernel=False,
    simulated_time=False,
    traffic=[],
    transports=[],
    warm_up=False,
)
"""The capabilities of `MEASURED`: they run no trials; hosts and time are real."""

for _name, _stated in json.loads(
    resources.files("nettrial").joinpath("capabilities.json").read_text(encoding="utf-8")
).items():
    CAPABILITIES.add(_name, Capabilities.model_validate(_stated))
