"""Steps of round-trip time over size: at the boundaries where a message takes one packet more, and
anywhere else.

Steps are looked for in the smallest time of each size's requests: what other work on the machine adds to
some of them is not the message's (V. Jacobson, pathchar, 1997, reads links from minima by size likewise).
Sizes are measured in random order, so what drifts within a trial does not look like a step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np
from scipy import special

from nettrial.analysis.curves import Curve, Floats
from nettrial.analysis.intervals import Interval, mean_interval

WIDEST_BYTES = 2000.0
"""A step at a boundary is fitted on sizes no further from it than this, nor than the next boundary."""
SEARCH_BYTES = 700.0
"""A step anywhere is looked for on so many bytes on each side: less than half of what a packet of 1500
bytes carries, so that two neighbouring steps are told apart."""
FEWEST_SIZES = 5
"""On each side: with fewer, a line and a jump fit almost anything."""
FALSE_DISCOVERIES = 0.05
"""The share of false ones among the steps that are called found at boundaries."""
FALSE_ALARM = 0.01
"""The chance, at most, that a search of a curve without a step finds one (Bonferroni over all places)."""
EQUAL_US = 1e-6
"""Heights that differ by less are equal, as in the simulator: then the sizes tell their error, not the
trials."""
RESOLUTION_US = 1e-3
"""Records hold times in nanoseconds."""
MOST_STEPS = 200
"""A search ends after so many."""


@dataclass(frozen=True)
class Step:
    """A jump of the smallest round-trip time between two neighbouring sizes."""

    after_bytes: float
    """The largest size before it."""
    packets: int | None
    """At a boundary: how many packets a message of that size takes; None elsewhere."""
    heights_us: tuple[float, ...]
    """The height of the step in each trial."""
    probability: float | None
    """The p-value of a boundary: that of a height as large without a step, adjusted for the number of
    boundaries (Benjamini and Hochberg); None where there is one trial. By a t test over trials, or over the
    sizes of the fit where all trials give the same height."""
    seen: bool
    """True if the search, which knows nothing of boundaries, found a step here."""

    @property
    def height_us(self) -> float:
        """The mean over trials."""
        return fmean(self.heights_us)

    @property
    def interval(self) -> Interval | None:
        """Returns the 95% interval of the mean; None where there is one trial."""
        return mean_interval(self.heights_us)

    @property
    def found(self) -> bool:
        """Returns whether the heights at a boundary are evidence of a step."""
        return self.probability is not None and self.probability < FALSE_DISCOVERIES and self.height_us > 0


@dataclass(frozen=True)
class Steps:
    """The steps of one curve."""

    curve: Curve
    expected: tuple[Step, ...]
    """At the boundaries that could be fitted, whether there is a step or not."""
    skipped: int
    """Boundaries with too few sizes on a side."""
    other: tuple[Step, ...]
    """Steps that the search found away from the boundaries."""
    unsearched: str | None
    """Why there was no search, if there was none."""

    @property
    def packet_us(self) -> list[float]:
        """Returns the cost of one packet more in each trial: the mean height over all boundaries."""
        return [fmean(heights) for heights in zip(*(step.heights_us for step in self.expected), strict=True)]

    @property
    def in_reach(self) -> list[Step]:
        """The boundaries that the search could find, which are not too near to the smallest and the largest
        size."""
        sizes = self.curve.sizes
        low, high = sizes[0] + SEARCH_BYTES, sizes[-1] - SEARCH_BYTES
        return [step for step in self.expected if low <= step.after_bytes <= high]


def boundaries(curve: Curve) -> list[int]:
    """The largest sizes that take one packet, two packets and so on, bytes, up to the largest measured.

    TCP: a message fills segments of the MSS in force. UDP: all fragments but the last carry a multiple of
    8 bytes (RFC 791 section 3.2, RFC 8200 section 4.5). The last one may fill the MTU over IPv4; over IPv6
    Linux makes it no larger than the others (__ip6_append_data in net/ipv6/ip6_output.c)."""
    limit = int(curve.sizes[-1]) if len(curve.sizes) else 0
    if curve.transport != "udp":
        return list(range(curve.mss_bytes, limit, curve.mss_bytes)) if curve.mss_bytes else []
    header, udp, fragment_header = (20, 8, 0) if curve.ip == 4 else (40, 8, 8)
    room = curve.mtu_bytes - header - fragment_header
    each = room // 8 * 8
    last = room if curve.ip == 4 else each
    first = curve.mtu_bytes - header - udp
    if each <= 0 or first >= limit:
        return []
    return [first, *range(each + last - udp, limit, each)]


def steps(found: Sequence[Curve]) -> list[Steps]:
    """The steps of each curve; probabilities are adjusted for all boundaries of all curves together."""
    made = [_steps(curve) for curve in found]
    tested = [step for each in made for step in each.expected if step.probability is not None]
    if not tested:
        return made
    from scipy import stats  # it takes as long to load as everything else of a command together

    adjusted = iter(stats.false_discovery_control([step.probability for step in tested]))
    return [
        replace(
            each,
            expected=tuple(
                step if step.probability is None else replace(step, probability=float(next(adjusted)))
                for step in each.expected
            ),
        )
        for each in made
    ]


def _steps(curve: Curve) -> Steps:
    places = boundaries(curve)
    gap = _step_bytes(curve)
    unsearched = None
    seen: list[float] = []
    if gap is None:
        unsearched = "the sizes are not evenly spaced"
    elif SEARCH_BYTES / gap < FEWEST_SIZES:
        unsearched = f"sizes {gap:.0f} B apart are too far from each other for a search"
    else:
        seen = _search(curve.sizes, curve.minimum_us.mean(axis=0), int(SEARCH_BYTES // gap))
    near = (FEWEST_SIZES - 1) * (gap or 0)  # no fit could tell a step so close from the boundary's
    others = [after for after in seen if all(abs(after - place) > near for place in places)]
    every = sorted([*places, *others])

    def fit(place: float, widest: float, packets: int | None, at: bool) -> Step | None:
        apart = [abs(place - other) for other in every if other != place]
        return _fit(curve, place, min([widest, *apart]), packets, at)

    expected = [
        fit(place, WIDEST_BYTES, number, any(abs(after - place) <= near for after in seen))
        for number, place in enumerate(places, start=1)
    ]
    return Steps(
        curve,
        tuple(step for step in expected if step is not None),
        sum(step is None for step in expected),
        tuple(
            step for step in (fit(after, SEARCH_BYTES, None, True) for after in others) if step is not None
        ),
        unsearched,
    )


def _step_bytes(curve: Curve) -> float | None:
    """The distance of neighbouring sizes, if it is always the same."""
    gaps = np.diff(curve.sizes)
    return float(gaps[0]) if len(gaps) and np.all(gaps == gaps[0]) else None


def _fit(curve: Curve, place: float, width: float, packets: int | None, seen: bool) -> Step | None:
    """A line with a jump after `place`, by least squares in every trial; None with too few sizes."""
    at = curve.sizes - place
    inside = (at > -width) & (at <= width)
    right = at[inside] > 0
    if min(np.count_nonzero(right), np.count_nonzero(~right)) < FEWEST_SIZES:
        return None
    model = np.column_stack([np.ones(len(right)), at[inside], right])
    fitted, *_ = np.linalg.lstsq(model, curve.minimum_us[:, inside].T, rcond=None)
    heights: Floats = fitted[2]
    probability = None
    if packets is not None and len(heights) > 1:
        if np.ptp(heights) < EQUAL_US:
            probability = _by_sizes(model, curve.minimum_us[0, inside], float(heights[0]))
        else:
            error = float(np.std(heights, ddof=1)) / math.sqrt(len(heights))
            probability = _beyond(float(np.mean(heights)) / error, len(heights) - 1)
    return Step(place, packets, tuple(heights.tolist()), probability, seen)


def _by_sizes(model: Floats, values: Floats, height: float) -> float:
    """The probability of a height as large without a step by the t test of the fit itself, whose error is
    that of rounding at least."""
    fitted, *_ = np.linalg.lstsq(model, values, rcond=None)
    freedom = len(values) - model.shape[1]
    variance = max(float(np.sum((values - model @ fitted) ** 2)) / freedom, RESOLUTION_US**2 / 12)
    error = math.sqrt(variance * float(np.linalg.inv(model.T @ model)[2, 2]))
    return _beyond(height / error, freedom)


def _beyond(value: float, freedom: int) -> float:
    """The probability that a variable with Student's t distribution is as far from 0 on either side."""
    return float(2 * special.stdtr(freedom, -abs(value)))


def _search(sizes: Floats, values: Floats, side: int) -> list[float]:
    """The sizes after which the curve jumps, found one after the other, the clearest first: each place is
    tried with a line and a jump on `side` sizes before and after it, and a step that is found is taken
    out before the next is looked for. Steps closer than half of `side` are one."""
    if len(sizes) < 2 * side:
        return []
    at = np.arange(2 * side) - side + 0.5
    model = np.column_stack([np.ones(2 * side), at / side, at > 0])
    weights = np.linalg.pinv(model)[2]
    basis, _ = np.linalg.qr(model)
    freedom = 2 * side - 3
    deviation = math.sqrt(float(np.linalg.inv(model.T @ model)[2, 2]) / freedom)
    places = len(sizes) - 2 * side + 1
    critical = -float(special.stdtrit(freedom, FALSE_ALARM / places / 2))
    left = values - values.mean()
    found: list[int] = []
    while len(found) < MOST_STEPS:
        windows = np.lib.stride_tricks.sliding_window_view(left, 2 * side)
        heights = windows @ weights
        rest = np.sum(windows**2, axis=1) - np.sum((windows @ basis) ** 2, axis=1)
        errors = deviation * np.sqrt(np.maximum(rest, 1e-12))
        scores = np.abs(heights) / errors
        for place in found:
            scores[max(0, place - side - side // 2) : place - side + side // 2 + 1] = 0
        best = int(np.argmax(scores))
        if scores[best] <= critical:
            break
        found.append(best + side)
        left = left - heights[best] * (np.arange(len(left)) >= best + side)
    return sorted(float(sizes[place - 1]) for place in found)
