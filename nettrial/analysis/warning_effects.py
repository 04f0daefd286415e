"""The effect that warnings of each kind can have on a run's answer."""

from enum import IntEnum


class Effect(IntEnum):
    """The effect on the changes that a run estimates, the gravest last.

    A temporary disturbance affects all treatments alike, because their order is random within blocks, and so
    widens intervals. A disturbance caused by the network, a stack or the load shifts the values of some
    treatments, however often they are repeated."""

    NOTHING = 0
    """The warning does not affect figures."""
    WIDER = 1
    """Intervals may be wider than without the disturbance."""
    BIAS = 2
    """Changes may be biased."""


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
    """Returns the effect of warnings with a code; for an unknown code, the gravest."""
    return Effect.WIDER if code in _WIDER else Effect.NOTHING if code in _NOTHING else Effect.BIAS
