"""The harm that a warning of each kind can do to the answer of a run."""

from enum import IntEnum


class Effect(IntEnum):
    """The harm to the changes that a run estimates, the gravest last.

    A disturbance that comes and goes meets every treatment alike, for their order is random within blocks: it
    widens intervals. One that belongs to the network, to a stack or to the load shifts the values of some
    treatments, however often they are repeated.
    """

    NOTHING = 0
    WIDER = 1
    BIAS = 2


_WIDER = (
    *(
        "agent_starved",
        "autocorrelation",
        "clock_step",
        "drift",
        "equal_values",
        "link_down",
        "other_traffic",
    ),
    *("other_work", "pace_changed", "processor_frequency", "radio_changed", "radio_roamed", "skewed_values"),
    *("steal_time",),
)
_NOTHING = ("nothing_coalesced", "zerocopy_copied", "server_shared")


def effect_of(code: str) -> Effect:
    """Returns the harm of warnings with a code; of an unknown one the gravest."""
    return Effect.WIDER if code in _WIDER else Effect.NOTHING if code in _NOTHING else Effect.BIAS
