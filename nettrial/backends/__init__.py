"""The backends that run trials. Only this package knows of the engine."""

from nettrial.backends.backend import BACKENDS, Backend, BackendKind, Configuration, TrialFailed
from nettrial.backends.hosts import Machines, install, restore
from nettrial.backends.remote import Measurer, serve

__all__ = [
    "BACKENDS",
    "Backend",
    "BackendKind",
    "Configuration",
    "Machines",
    "Measurer",
    "TrialFailed",
    "install",
    "restore",
    "serve",
]
