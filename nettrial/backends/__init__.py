"""The backends that run trials. Only this package knows of the engine."""

from nettrial.backends.backend import BACKENDS, Backend, BackendKind, Configuration, TrialFailed
from nettrial.backends.hosts import Machines, forget, install, restore
from nettrial.backends.remote import Measurer, find_server, measured_flow, serve, streams_of
from nettrial.backends.virtual import find_kernel

__all__ = [
    "BACKENDS",
    "Backend",
    "BackendKind",
    "Configuration",
    "Machines",
    "Measurer",
    "TrialFailed",
    "find_kernel",
    "find_server",
    "forget",
    "install",
    "measured_flow",
    "restore",
    "serve",
    "streams_of",
]
