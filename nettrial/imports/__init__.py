"""Measurements of other programs as records: iperf3's JSON and perfSONAR's results. Nothing is added to a
source's figures; metrics that it lacks are absent, with the reason."""

from nettrial.imports.figures import Imported
from nettrial.imports.reading import read

__all__ = ["Imported", "read"]
