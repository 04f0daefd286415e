"""Controlled trials for network performance: this package plans and analyses, the engine measures.

`nettrial.load("runs/mine")` returns a run's results for a notebook."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nettrial.results import Results as Results
    from nettrial.results import load as load

__version__ = "0.1.0"
"""The version of the package, which is also that of the engine."""
_LATER = {"Results": "nettrial.results", "load": "nettrial.results"}
"""Names that are imported on first access (PEP 562), because their dependencies are slow to load."""


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'nettrial' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_LATER])
