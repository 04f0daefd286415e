"""A finished trial, as it travels from the process that ran it to the one that stores it."""

from __future__ import annotations

from dataclasses import dataclass

from nettrial.scenario import Record, Scenario
from nettrial.store.recorder import as_json


@dataclass(frozen=True)
class TrialResult:
    """The documents of a finished trial as the run file stores them, so that large ones need not be parsed
    again."""

    scenario: str
    """The scenario as JSON."""
    record: str
    """The record as JSON."""
    warnings: int
    """The number of the record's warnings."""

    @classmethod
    def of(cls, scenario: Scenario, record: Record) -> TrialResult:
        """Serialises a scenario and its record."""
        return cls(as_json(scenario), as_json(record), len(record.warnings))

    def read_record(self) -> Record:
        """Parses the record."""
        return Record.model_validate_json(self.record)
