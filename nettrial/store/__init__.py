"""The run file: a SQLite file in the run's directory that contains everything about a run."""

from nettrial.store.measurements import NO_SCENARIO
from nettrial.store.run import Failure, Run, Session, Trial

__all__ = ["NO_SCENARIO", "Failure", "Run", "Session", "Trial"]
