"""The trials that something else disturbed, in sentences."""

from __future__ import annotations

from nettrial.analysis.run_digest import Digest
from nettrial.design import scenario_of, traffic_seconds
from nettrial.design.disturbances import disturbance
from nettrial.report import numbers
from nettrial.store import Run


def sentences(run: Run, read: Digest) -> list[str]:
    """Returns the number of attempts that were repeated, and the number of trials that count although
    something else disturbed them; none if there are none, or if nothing can disturb the trials."""
    if run.study.measured or run.study.capabilities.simulated_time:
        return []
    said = []
    attempts = run.disturbed_attempts()
    if attempts:
        again = numbers.counted(len(attempts), "trial")
        said.append(
            f"Something else on the machine disturbed {numbers.counted(sum(attempts.values()), 'attempt')} "
            f"at {again}, which {'was' if len(attempts) == 1 else 'were'} run again: no figure includes "
            "these attempts, and results played no part in the choice."
        )
    still = _still_disturbed(run, read)
    if still:
        one = still == 1
        said.append(
            f"{numbers.counted(still, 'trial')} of {len(read.finished)} {'counts' if one else 'count'} "
            f"although something else disturbed {'it' if one else 'them'}: no trial is run again without end."
        )
    return said


def _still_disturbed(run: Run, read: Digest) -> int:
    """Returns the number of finished trials that something else disturbed."""
    lengths: dict[tuple[str, ...], float] = {}
    count = 0
    for planned in read.finished:
        disturbances = read.disturbances.get(planned.number)
        if not disturbances:
            continue
        key = tuple(planned.treatment.values())
        if key not in lengths:
            lengths[key] = traffic_seconds(scenario_of(run.study, planned.treatment))
        count += bool(disturbance(disturbances, lengths[key]))
    return count
