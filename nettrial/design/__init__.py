"""From a study to its trials: the treatments, their order, and the scenario of each."""

from nettrial.design.capture import CAPTURES, capture_of, refuse_unknown_interfaces, remove_partial
from nettrial.design.treatment_scenario import resolve, scenario_of
from nettrial.design.trial_order import PlannedTrial, Treatment, next_block, plan, treatments
from nettrial.design.workload import slowest_transfer_bps, traffic_seconds

__all__ = [
    "CAPTURES",
    "PlannedTrial",
    "Treatment",
    "capture_of",
    "next_block",
    "plan",
    "refuse_unknown_interfaces",
    "remove_partial",
    "resolve",
    "scenario_of",
    "slowest_transfer_bps",
    "traffic_seconds",
    "treatments",
]
