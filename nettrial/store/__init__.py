"""The run file: a SQLite file in the run's directory that contains everything about a run."""

from nettrial.store.run import Failure, Run, Session, Trial

__all__ = ["Failure", "Run", "Session", "Trial"]
