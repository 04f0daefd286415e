"""The run file: everything about a run, in one SQLite file in the run's directory."""

from nettrial.store.run import Failure, Run, Session, Trial

__all__ = ["Failure", "Run", "Session", "Trial"]
