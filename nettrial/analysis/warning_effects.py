"""The effect that warnings of each kind can have on a run's answer."""

from enum import IntEnum


class HarmOfWarnings(IntEnum):
    """The effect on the changes that a run estimates, the gravest last.

    A temporary disturbance affects all treatments alike, because their order is random within blocks, and so
    widens intervals. Values that are not independent, not normally distributed or too coarse to vary violate
    an assumption of the intervals, which are then too narrow. A disturbance caused by the network, a stack or
    the load shifts the values of some treatments, however often they are repeated."""

    NOTHING = 0
    """The warning does not affect figures."""
    WIDER = 1
    """Intervals may be wider than without the disturbance."""
    NARROWER = 2
    """Intervals may be too narrow: they contain the true value less often than stated."""
    BIAS = 3
    """Changes may be biased."""


_WIDER = (
    *("agent_starved", "clock_step", "drift", "link_down", "other_traffic", "other_work", "pace_changed"),
    *("processor_frequency", "radio_changed", "radio_roamed", "steal_time"),
)
_NARROWER = ("autocorrelation", "equal_values", "noisy_treatment", "skewed_values")
_NOTHING = ("nothing_coalesced", "zerocopy_copied", "server_shared")


def effect_of(code: str) -> HarmOfWarnings:
    """Returns the effect of warnings with a code; for an unknown code, the gravest."""
    known = {
        HarmOfWarnings.WIDER: _WIDER,
        HarmOfWarnings.NARROWER: _NARROWER,
        HarmOfWarnings.NOTHING: _NOTHING,
    }
    return next((effect for effect, codes in known.items() if code in codes), HarmOfWarnings.BIAS)
