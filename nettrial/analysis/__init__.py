"""From the trials of a run to figures with intervals.

The unit of replication is the trial: what happens inside one (packets, intervals) is already
summarised in its record, and is never counted as a replicate.
"""

from nettrial.analysis.cautions import FailureGroup, WarningGroup, failures, warnings
from nettrial.analysis.curves import Curve, Estimate, Ratio, curves, estimate, ratios
from nettrial.analysis.frame import frame
from nettrial.analysis.intervals import CONFIDENCE, Change, Interval, change, mean_interval
from nettrial.analysis.published import PublishedRow, published
from nettrial.analysis.repeats import Repeated, Seen, absences, repeated, seen
from nettrial.analysis.steps import Step, Steps, boundaries, steps
from nettrial.analysis.stopping import Stopping, Width, stopping
from nettrial.analysis.summary import Cell, ResponseSummary, Summary, baseline, summarise

__all__ = [
    "CONFIDENCE",
    "Cell",
    "Change",
    "Curve",
    "Estimate",
    "FailureGroup",
    "Interval",
    "PublishedRow",
    "Ratio",
    "Repeated",
    "ResponseSummary",
    "Seen",
    "Step",
    "Steps",
    "Stopping",
    "Summary",
    "WarningGroup",
    "Width",
    "absences",
    "baseline",
    "boundaries",
    "change",
    "curves",
    "estimate",
    "failures",
    "frame",
    "mean_interval",
    "published",
    "ratios",
    "repeated",
    "seen",
    "steps",
    "stopping",
    "summarise",
    "warnings",
]
