"""The capabilities of each backend, stated by the engine. Ask this instead of a backend's name.

`capabilities.json` is made by `make generate`; a backend whose engine states anything else is refused."""

from __future__ import annotations

import json
from importlib import resources

from nettrial.registry import Registry
from nettrial.scenario import Capabilities

CAPABILITIES: Registry[Capabilities] = Registry("backend")
"""Each backend's capabilities on a machine that lacks nothing, by its name."""

for _name, _stated in json.loads(
    resources.files("nettrial").joinpath("capabilities.json").read_text(encoding="utf-8")
).items():
    CAPABILITIES.add(_name, Capabilities.model_validate(_stated))
