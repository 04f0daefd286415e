"""The capabilities of each backend, as stated by the engine. Code checks these instead of a backend's name.

`make generate` writes `capabilities.json`; a backend is refused if its engine states other capabilities."""

from __future__ import annotations

import json
from importlib import resources

from nettrial.registry import Registry
from nettrial.scenario import Capabilities

CAPABILITIES: Registry[Capabilities] = Registry("backend")
"""The capabilities of each backend on a machine that lacks nothing, by the backend's name."""

for _name, _stated in json.loads(
    resources.files("nettrial").joinpath("capabilities.json").read_text(encoding="utf-8")
).items():
    CAPABILITIES.add(_name, Capabilities.model_validate(_stated))
