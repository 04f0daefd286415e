"""The selection of the packets of a trial that are captured, and their files."""

from __future__ import annotations

import os
from pathlib import Path

from nettrial.design.treatment_scenario import Resolved
from nettrial.design.trial_order import PlannedTrial
from nettrial.errors import BadInput
from nettrial.fields import in_short
from nettrial.files import Unsafe, refuse_foreign, refuse_link
from nettrial.scenario import Capture
from nettrial.study import Settings, Study
from nettrial.units import SIZE

CAPTURES = "captures"
"""The directory of the captures within the run's directory."""
PARTIAL = "*.pcapng.partial"
"""The pattern for incomplete files."""


def capture_of(settings: Settings, trial: PlannedTrial, run: Path) -> Capture | None:
    """Returns the capture of a trial of the run in `run`, after creating its directory; None if nothing is
    captured. Raises BadInput if the directory is not the user's own."""
    wanted = settings.known_measurement.capture
    if wanted.trials == "none" or (wanted.trials == "first" and trial.block > 1):
        return None
    directory = (run / CAPTURES).absolute()
    directory.mkdir(exist_ok=True)
    _refuse_foreign(directory)
    return Capture(
        directory=str(directory),
        name=f"trial-{trial.number:04}",
        interfaces=wanted.interfaces,
        snap_bytes=SIZE.parse(wanted.snap_length),
    )


def remove_partial(run: Path) -> None:
    """Removes the files of a run that a killed engine left incomplete. The caller holds the lock of the
    run. Raises BadInput if their directory is not the user's own."""
    if os.path.lexists(run / CAPTURES):
        _refuse_foreign(run / CAPTURES)
    for path in (run / CAPTURES).glob(PARTIAL):
        path.unlink(missing_ok=True)


def _refuse_foreign(directory: Path) -> None:
    try:
        refuse_link(directory, is_directory=True)
        refuse_foreign(directory)
    except Unsafe as why:
        raise why.as_bad_input("capturing packets", directory) from None


def refuse_unknown_interfaces(study: Study, resolved: Resolved) -> None:
    """Raises BadInput if a treatment of the study asks for captures on an interface that its scenario does
    not have, or with a backend that can't capture packets."""
    wanted = resolved.origins.settings.known_measurement.capture
    if wanted.trials != "none" and not study.capabilities.captures:
        where = study.where("measurement", "capture", "trials")
        hint = f"the backend {study.backend} captures no packets"
        raise BadInput("planning the captures", where, wanted.trials, "none", hint)
    interfaces = wanted.interfaces
    if not interfaces:
        return
    ends = [end for link in resolved.scenario.links for end in link.ends]
    firsts = [link.ends[0] for link in resolved.scenario.links if link.wlan]
    known = {end.node for end in ends} | {f"{end.node}:{end.interface}" for end in ends}
    known |= {f"{end.node}:{end.interface}-air" for end in firsts}
    for number, name in enumerate(interfaces):
        if name not in known:
            where = study.where("measurement", "capture", "interfaces", number)
            hint = "a node's name captures all its interfaces, NODE:INTERFACE one of them"
            raise BadInput("planning the captures", where, name, in_short(sorted(known)), hint)
