"""Steps of the round-trip time as a function of size: at the boundaries where a message takes one more
packet, and elsewhere.

Steps are searched for in the smallest time of each size's requests, because other work on the machine delays
some of them (V. Jacobson's pathchar, 1997, also estimates links from minima by size). Sizes are measured in
random order, so that drift within a trial does not look like a step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np
from scipy import special

from nettrial.analysis.intervals import Interval, mean_interval
from nettrial.analysis.sweep_curves import Curve, Floats

WIDEST_BYTES = 2000.0
"""The largest distance from a boundary of the sizes to which its step is fitted; the next boundary also
limits it."""
SEARCH_BYTES = 700.0
"""The bytes on each side of a size that the search for steps uses: less than half the payload of a packet of
1500 bytes, so that two neighbouring steps are distinguished."""
FEWEST_SIZES = 5
"""The least number of sizes on each side: with fewer, a line with a jump fits almost anything."""
FALSE_DISCOVERIES = 0.05
"""The expected share of false steps among those reported at boundaries."""
FALSE_ALARM = 0.01
"""The largest probability that the search finds a step in a curve without any (Bonferroni over all
places)."""
EQUAL_US = 1e-6
"""The difference below which heights count as equal, as they are in the simulator; their error is then
estimated from the sizes instead of the trials."""
RESOLUTION_US = 1e-3
"""The resolution of times in records, which are in nanoseconds."""
MOST_STEPS = 200
"""The number of steps after which the search ends."""


@dataclass(frozen=True)
class Step:
    """A jump of the smallest round-trip time between two neighbouring sizes."""

    after_bytes: float
    """The largest size before the step."""
    packets: int | None
    """At a boundary, the number of packets of a message of that size; None elsewhere."""
    heights_us: tuple[float, ...]
    """The height of the step in each trial."""
    probability: float | None
    """The p-value of a boundary: the probability of such a height without a step, adjusted for the number of
    boundaries (Benjamini and Hochberg); None for a single trial. It comes from a t test over trials or, if
    all trials give the same height, over the sizes of the fit."""
    seen: bool
    """True if the search, which does not know the boundaries, found a step here."""

    @property
    def height_us(self) -> float:
        """Returns the mean height over trials."""
        return fmean(self.heights_us)

    @property
    def interval(self) -> Interval | None:
        """Returns the 95% interval of the mean height; None for a single trial."""
        return mean_interval(self.heights_us)

    @property
    def is_shown(self) -> bool:
        """Returns whether the heights at the boundary are evidence of a step."""
        return self.probability is not None and self.probability < FALSE_DISCOVERIES and self.height_us > 0


@dataclass(frozen=True)
class Steps:
    """The steps of one curve."""

    curve: Curve
    """The curve that was searched for steps."""
    expected: tuple[Step, ...]
    """The steps at all boundaries that could be fitted, significant or not."""
    skipped: int
    """The number of boundaries with too few sizes on a side."""
    other: tuple[Step, ...]
    """The steps that the search found away from the boundaries."""
    unsearched: str | None
    """The reason why there was no search, if there was none."""

    @property
    def packet_us(self) -> list[float]:
        """Returns the cost of one more packet in each trial: the mean height over all boundaries."""
        return [fmean(heights) for heights in zip(*(step.heights_us for step in self.expected), strict=True)]

    @property
    def in_reach(self) -> list[Step]:
        """Returns the boundaries that the search could find, which are not too close to the smallest or the
        largest size."""
        sizes = self.curve.sizes
        low, high = sizes[0] + SEARCH_BYTES, sizes[-1] - SEARCH_BYTES
        return [step for step in self.expected if low <= step.after_bytes <= high]


def boundaries(curve: Curve) -> list[int]:
    """Returns the largest sizes in bytes that take one packet, two packets and so on, up to the largest
    measured size.

    TCP: a message fills segments of the effective MSS. UDP: all fragments but the last carry a multiple of 8
    bytes (RFC 791 section 3.2, RFC 8200 section 4.5). The last one may fill the MTU over IPv4; over IPv6
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


def steps(curves: Sequence[Curve]) -> list[Steps]:
    """Returns the steps of each curve; probabilities are adjusted for all boundaries of all curves
    together."""
    made = [_steps(curve) for curve in curves]
    tested = [step for each in made for step in each.expected if step.probability is not None]
    if not tested:
        return made
    from scipy import (
        stats,
    )  # imported here: it takes as long to load as all other modules of a command together

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
    near = (FEWEST_SIZES - 1) * (gap or 0)  # no fit could distinguish a step this close from the boundary's
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
            step
            for step in (fit(after, SEARCH_BYTES, None, True) for after in others)
            # To the search, a bend of a curve without noise looks like steps, where this fit has none.
            if step is not None and abs(step.height_us) >= RESOLUTION_US
        ),
        unsearched,
    )


def _step_bytes(curve: Curve) -> float | None:
    """Returns the distance of neighbouring sizes if it is constant, and otherwise None."""
    gaps = np.diff(curve.sizes)
    return float(gaps[0]) if len(gaps) and np.all(gaps == gaps[0]) else None


def _fit(curve: Curve, place: float, width: float, packets: int | None, seen: bool) -> Step | None:
    """Fits a line with a jump after `place` in every trial, by least squares; returns None if there are too
    few sizes."""
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
    """Returns the probability of such a height without a step, by the t test of the fit itself, whose error
    is at least the rounding error."""
    fitted, *_ = np.linalg.lstsq(model, values, rcond=None)
    freedom = len(values) - model.shape[1]
    variance = max(float(np.sum((values - model @ fitted) ** 2)) / freedom, RESOLUTION_US**2 / 12)
    error = math.sqrt(variance * float(np.linalg.inv(model.T @ model)[2, 2]))
    return _beyond(height / error, freedom)


def _beyond(value: float, freedom: int) -> float:
    """Returns the two-sided tail probability of Student's t distribution."""
    return float(2 * special.stdtr(freedom, -abs(value)))


def _search(sizes: Floats, values: Floats, side: int) -> list[float]:
    """Returns the sizes after which the curve jumps, found one after the other, the clearest first. A line
    with a jump is fitted to `side` sizes before and after each place, and each step found is subtracted
    before the next search. Steps closer than half of `side` count as one."""
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
    jumps: list[int] = []
    while len(jumps) < MOST_STEPS:
        windows = np.lib.stride_tricks.sliding_window_view(left, 2 * side)
        heights = windows @ weights
        rest = np.sum(windows**2, axis=1) - np.sum((windows @ basis) ** 2, axis=1)
        errors = deviation * np.sqrt(np.maximum(rest, 1e-12))
        scores = np.abs(heights) / errors
        for place in jumps:
            scores[max(0, place - side - side // 2) : place - side + side // 2 + 1] = 0
        best = int(np.argmax(scores))
        if scores[best] <= critical:
            break
        jumps.append(best + side)
        left = left - heights[best] * (np.arange(len(left)) >= best + side)
    return sorted(float(sizes[place - 1]) for place in jumps)
