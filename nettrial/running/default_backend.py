"""The backend of a study that names none: virtual time where it can give the study's answer, and otherwise
the lab."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nettrial.backends import BACKENDS, Backend, Configuration, find_kernel
from nettrial.defaults import defaults_file, user_defaults
from nettrial.design import Treatment
from nettrial.errors import CannotRun
from nettrial.fields import in_short
from nettrial.metrics import METRICS
from nettrial.scenario import Figure, Scenario
from nettrial.study import Response, Study

VIRTUAL = "virtual"
"""The backend that runs trials on Linux's own TCP/IP in virtual time."""
LAB = "lab"
"""The backend that runs them in real time."""
WITHOUT_KERNEL = (
    "the trials run in real time, where other work disturbs them; in virtual time nothing does, once "
    "`nettrial systems add linux --package linux-source-6.12` has built a kernel, in some minutes"
)
"""The note on a machine without a kernel in virtual time."""
CPU = Figure("cpu")
"""The figure that virtual time does not have, because computing takes none."""


@dataclass(frozen=True)
class BackendChoice:
    """The backend of a study that names none."""

    backend: str
    """The backend's name."""
    note: str | None = None
    """A line for the user about the choice; None if there is nothing to say."""


def choose(study: Study, scenarios: Sequence[tuple[Treatment, Scenario]]) -> BackendChoice:
    """Returns the backend for the trials of a study with these scenarios: virtual time, unless the answer
    needs the time that computing takes, or the scenarios something that no kernel in virtual time supports,
    or this machine has none. The user's own default goes before. Raises BadInput if that or the cache of
    systems can't be read."""
    own = user_defaults().backend
    if own is not None:
        return BackendChoice(own, f"the backend is {own}, your default in {defaults_file()}")
    absent = _absent(study)
    if not _answers(study, absent) or not all(_has_rate(scenario) for _, scenario in scenarios):
        return BackendChoice(LAB)
    try:
        # Without a kernel, the engine knows what none supports, and boots none for each scenario.
        with Backend(VIRTUAL) as bare:
            if any(bare.check(scenario) for _, scenario in scenarios):
                return BackendChoice(LAB)
        if find_kernel() is None:
            return BackendChoice(LAB, WITHOUT_KERNEL)
        with BACKENDS[VIRTUAL].start(Configuration()) as backend:
            missing = backend.preflight().missing
    except CannotRun:
        return BackendChoice(LAB)  # whoever needs an engine reports that there is none
    if missing:
        lack = missing[0]
        return BackendChoice(
            LAB, f"the trials run in real time, without {lack.what}: {lack.why}; {lack.remedy}"
        )
    if not absent:
        return BackendChoice(VIRTUAL)
    named = in_short(response.title for response in absent)
    hint = f"`--backend {LAB}` measures them in real time"
    return BackendChoice(
        VIRTUAL, f"in virtual time computing takes no time, so these are absent: {named}; {hint}"
    )


def _absent(study: Study) -> list[Response]:
    """Returns the responses that are absent because computing takes no time."""
    return [response for response in study.responses if METRICS[response.metric].needs == CPU]


def _answers(study: Study, absent: Sequence[Response]) -> bool:
    """Returns true if a run without the `absent` responses answers the study's question: the one of its
    headline, if that names responses, or else any."""
    headline = study.headline
    named = [] if headline is None else [*headline.responses, *headline.pairs, *headline.pairs.values()]
    without = {response.name for response in absent}
    return without.isdisjoint(named) and len(without) < len(study.responses)


def _has_rate(scenario: Scenario) -> bool:
    """Returns true if the network limits rates: without any limit, all figures follow from the time that
    computing takes."""
    return any(link.rate is not None or link.wlan is not None for link in scenario.links)
