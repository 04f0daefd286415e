"""From a study to trials: treatments from factors, the order they run in, and the scenario of each."""

from nettrial.design.plan import PlannedTrial, Treatment, next_block, plan, treatments
from nettrial.design.resolve import scenario_of
from nettrial.design.workload import traffic_seconds

__all__ = ["PlannedTrial", "Treatment", "next_block", "plan", "scenario_of", "traffic_seconds", "treatments"]
