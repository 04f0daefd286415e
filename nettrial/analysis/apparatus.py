"""The apparatus of runs: what differs between the sessions of one, and between two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nettrial.analysis.warning_groups import WarningGroup
from nettrial.store import Run, Session
from nettrial.store.fingerprint import FingerprintDifference, differences

CODE = "another_apparatus"
"""The code of the warning about sessions with different apparatus."""
NOT_RECORDED = "not recorded"
"""The text that stands for the apparatus of a run that did not record it."""


def conflict(run: Run, now: Mapping[str, str]) -> list[FingerprintDifference]:
    """Returns what differs between the apparatus of now and that of the last session which finished trials;
    nothing if it is that of any such session, or if none was recorded."""
    recorded = [differences(facts, now) for session in run.sessions if (facts := _facts(session))]
    return [] if not recorded or [] in recorded else recorded[-1]


def _facts(session: Session) -> Mapping[str, str] | None:
    return session.fingerprint if session.trials else None


def changed(run: Run) -> Iterator[WarningGroup]:
    """Yields a warning for each session whose apparatus differs from that of the first one with trials."""
    recorded = [(session, facts) for session in run.sessions if (facts := _facts(session))]
    treatments = {planned.number: planned.treatment for planned in run.plan}
    for session, facts in recorded[1:]:
        changes = differences(recorded[0][1], facts)
        if changes:
            names = "; ".join(f"{each.name}: {each.before}, then {each.now}" for each in changes)
            levels = {tuple(treatments[number].items()): treatments[number] for number in session.trials}
            yield WarningGroup(
                CODE,
                "the sessions of the run",
                names,
                "differences between trials of these sessions may be those of the apparatus",
                session.trials,
                tuple(levels.values()),
            )


def is_recorded(run: Run) -> bool:
    """Returns whether a session that finished trials recorded its apparatus."""
    return any(map(_facts, run.sessions))


def apart(first: Run, second: Run) -> tuple[tuple[str, str, str], ...]:
    """Returns the facts of the apparatus in which two runs differ, each with its values; if a run recorded
    none, only that."""
    runs = first, second
    if not all(map(is_recorded, runs)):
        one, other = ("recorded" if is_recorded(run) else NOT_RECORDED for run in runs)
        return (("apparatus", one, other),)
    sides = _of_run(first), _of_run(second)
    names = dict.fromkeys([*sides[0], *sides[1]])
    values = [(name, sides[0].get(name, "–"), sides[1].get(name, "–")) for name in names]
    return tuple(each for each in values if each[1] != each[2])


def _of_run(run: Run) -> dict[str, str]:
    """Returns the facts of a run's sessions with trials; of several sessions, each distinct value once."""
    seen: dict[str, list[str]] = {}
    for session in run.sessions:
        for name, value in (_facts(session) or {}).items():
            if value not in seen.setdefault(name, []):
                seen[name].append(value)
    return {name: ", then ".join(values) for name, values in seen.items()}
