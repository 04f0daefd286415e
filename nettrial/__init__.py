"""Controlled trials for network performance: this package plans and analyses, the engine measures.

`nettrial.run` runs a study, `nettrial.load` returns the results of a run, and `nettrial.compare` the changes
from one run to another. `nettrial.measure` measures between this machine and another one. All of these need
the extra `nettrial[tables]`, because their results are data frames."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
"""True for type checkers alone, like the constant of `typing`. Importing that module would take two fifths of
the time of `import nettrial`."""
if TYPE_CHECKING:
    from typing import Any

    from nettrial.api import compare, load, resume, run
    from nettrial.comparison import Comparison
    from nettrial.measurements import Measurements, measure
    from nettrial.plots import Plots
    from nettrial.results import Results

__all__ = [
    "Comparison",
    "Measurements",
    "Plots",
    "Results",
    "__version__",
    "compare",
    "load",
    "measure",
    "resume",
    "run",
]
__version__ = "0.1.0"
"""The version of the package, which is also that of the engine."""
_LATER = {
    **dict.fromkeys(("run", "resume", "load", "compare"), "nettrial.api"),
    **dict.fromkeys(("measure", "Measurements"), "nettrial.measurements"),
    "Comparison": "nettrial.comparison",
    "Plots": "nettrial.plots",
    "Results": "nettrial.results",
}
"""Names that are imported on first access (PEP 562), because their dependencies are slow to load."""


def __getattr__(name: str) -> Any:
    if name in _LATER:
        try:
            return getattr(import_module(_LATER[name]), name)
        except ModuleNotFoundError as error:
            if error.name != "polars":
                raise
            from nettrial.errors import without_extra

            raise without_extra("using nettrial in Python", "polars", "tables") from None
    raise AttributeError(f"module 'nettrial' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_LATER])
