"""The analysis of a run: figures with intervals, from its trials.

The unit of replication is the trial: events within a trial (packets, intervals) are already summarised in its
record, and never count as replicates."""

from nettrial.analysis.analysis_of_variance import CellMean, Interaction, Term, Variation, variation
from nettrial.analysis.changes import (
    Change,
    averaged_change,
    change,
    corrected,
    session_change,
    unpaired_change,
)
from nettrial.analysis.clock_rates import clocks, clocks_are_known
from nettrial.analysis.curve_steps import Step, Steps, boundaries, steps
from nettrial.analysis.declared_precision import ImpreciseMean, Precision, precision, precisions
from nettrial.analysis.flow_distributions import Delays, FlowDistributions
from nettrial.analysis.headline_contrasts import Contrast, headline
from nettrial.analysis.intervals import CONFIDENCE, Interval, mean_interval, median_interval
from nettrial.analysis.level_effects import Finding, LevelEffect, SimpleEffect, findings
from nettrial.analysis.merits import Merit, merit
from nettrial.analysis.noise_warnings import noise
from nettrial.analysis.outlying_values import Outlier, outliers
from nettrial.analysis.published_figures import Agreement, agreement, published
from nettrial.analysis.repeats import Repeated, Seen, absences, repeated, seen
from nettrial.analysis.run_answers import Answers, answers
from nettrial.analysis.run_digest import digest, trial_responses
from nettrial.analysis.run_order import Order, order, orders
from nettrial.analysis.spreads import SpreadComparison
from nettrial.analysis.stopping_rule import Stopping, Width, stopping
from nettrial.analysis.study_verdicts import VERDICTS, Compared, Verdict, verdicts
from nettrial.analysis.summary import Cell, ResponseSummary, Summary, baseline, cell_of, summarise
from nettrial.analysis.sweep_curves import Curve, CurveMeans, Ratio, curves, estimate, ratios
from nettrial.analysis.warning_effects import HarmOfWarnings
from nettrial.analysis.warning_groups import FailureGroup, WarningGroup, failures, warnings
from nettrial.study.published import PublishedRow

__all__ = [
    "CONFIDENCE",
    "VERDICTS",
    "Agreement",
    "Answers",
    "Cell",
    "CellMean",
    "Change",
    "Compared",
    "Contrast",
    "Curve",
    "CurveMeans",
    "Delays",
    "FailureGroup",
    "Finding",
    "FlowDistributions",
    "HarmOfWarnings",
    "ImpreciseMean",
    "Interaction",
    "Interval",
    "LevelEffect",
    "Merit",
    "Order",
    "Outlier",
    "Precision",
    "PublishedRow",
    "Ratio",
    "Repeated",
    "ResponseSummary",
    "Seen",
    "SimpleEffect",
    "SpreadComparison",
    "Step",
    "Steps",
    "Stopping",
    "Summary",
    "Term",
    "Variation",
    "Verdict",
    "WarningGroup",
    "Width",
    "absences",
    "agreement",
    "answers",
    "averaged_change",
    "baseline",
    "boundaries",
    "cell_of",
    "change",
    "clocks",
    "clocks_are_known",
    "corrected",
    "curves",
    "digest",
    "estimate",
    "failures",
    "findings",
    "headline",
    "mean_interval",
    "median_interval",
    "merit",
    "noise",
    "order",
    "orders",
    "outliers",
    "precision",
    "precisions",
    "published",
    "ratios",
    "repeated",
    "seen",
    "session_change",
    "steps",
    "stopping",
    "summarise",
    "trial_responses",
    "unpaired_change",
    "variation",
    "verdicts",
    "warnings",
]
