"""Where trials run. Only this package knows that there is an engine."""

from nettrial.backends.backend import BACKENDS, Backend, BackendKind, TrialFailed

__all__ = ["BACKENDS", "Backend", "BackendKind", "TrialFailed"]
