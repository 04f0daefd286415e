"""The distribution of single values: the delays of requests and packets, and the goodput of flows by rank.

They describe a treatment and have no intervals, because values within a trial are no replicates."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from nettrial.design import PlannedTrial
from nettrial.errors import BadInput
from nettrial.scenario import Histogram, Record

Kind: TypeAlias = Literal["rtt", "owd"]
"""The kind of a delay: the round-trip time of a request, or the one-way delay of a packet."""
Levels: TypeAlias = tuple[str, ...]
"""The levels of a treatment, in the order of the study's factors."""
Whole: TypeAlias = npt.NDArray[np.int64]
"""Whole numbers."""
MOST_FLOWS = 16
"""The largest number of flows whose delays are kept: more would not be drawn."""
MOST_BYTES = 1 << 20
"""The largest size of a histogram that is decoded; those of nettrial have at most 110 kB."""
_OUTER, _INNER = struct.Struct(">II"), struct.Struct(">IIIIQQd")
"""The headers of a deflated histogram and of the histogram inside."""


@dataclass
class Delays:
    """The delays of many requests or packets, counted in buckets."""

    delays_ns: Whole = field(default_factory=lambda: np.zeros(0, np.int64))
    """The delays in nanoseconds, ascending: the upper end of each of the histogram's buckets."""
    counts: Whole = field(default_factory=lambda: np.zeros(0, np.int64))
    """The number of values in each bucket."""

    def add(self, histogram: Histogram) -> None:
        """Adds the values of a histogram."""
        delays, counts = decoded(histogram)
        both = np.concatenate([self.delays_ns, delays])
        self.delays_ns, places = np.unique(both, return_inverse=True)
        weights = np.concatenate([self.counts, counts])
        self.counts = np.bincount(places, weights, len(self.delays_ns)).astype(np.int64)

    @property
    def count(self) -> int:
        """Returns the number of values."""
        return int(self.counts.sum())

    def quantile_ns(self, share: float) -> int:
        """Returns the delay that this share of the values, from 0 to 1, does not exceed."""
        reached = np.cumsum(self.counts)
        place = int(np.searchsorted(reached, share * reached[-1] * (1 - 1e-12)))
        return int(self.delays_ns[min(place, len(self.delays_ns) - 1)])


def decoded(histogram: Histogram) -> tuple[Whole, Whole]:
    """Returns the upper ends of the buckets that are not empty, and their counts. The encoding is V2 of
    HdrHistogram, deflated, in base 64: counts as ZigZag LEB128, in which -n stands for n empty buckets.

    Raises BadInput if it is none."""
    try:
        packed = base64.b64decode(histogram.root, validate=True)
        inner = zlib.decompressobj().decompress(packed[_OUTER.size :], MOST_BYTES)
        _, length, _, digits, lowest, _, _ = _INNER.unpack_from(inner)
        words = np.frombuffer(inner, np.uint8, length, _INNER.size).astype(np.int64)
        return _decoded(words, digits, lowest)
    except (ValueError, IndexError, OverflowError, struct.error, zlib.error) as error:
        raise BadInput(
            "reading a record", "a histogram of delays", str(error), "an HdrHistogram in its V2 encoding"
        ) from None


def _decoded(words: Whole, digits: int, lowest: int) -> tuple[Whole, Whole]:
    if not 0 < digits < 6:
        raise ValueError(f"{digits} significant digits")
    ends = np.flatnonzero(words < 0x80)
    starts = np.concatenate([[0], ends[:-1] + 1]).astype(np.int64)
    within = np.arange(len(words)) - np.repeat(starts, ends - starts + 1)
    zigzag = np.add.reduceat((words & 0x7F) << (7 * within), starts)
    numbers = (zigzag >> 1) ^ -(zigzag & 1)
    places = np.cumsum(np.where(numbers < 0, -numbers, 1)) - 1
    counts, places = numbers[numbers > 0], places[numbers > 0]
    # A bucket has 2**halves sub-buckets, the first one twice as many; the width doubles with each bucket.
    halves = int(np.ceil(np.log2(2 * 10**digits))) - 1
    bucket = np.maximum((places >> halves) - 1, 0) + int(lowest).bit_length() - 1
    within_bucket = np.where(places >> halves > 0, (places & (2**halves - 1)) + 2**halves, places)
    return ((within_bucket + 1) << bucket) - 1, counts


@dataclass
class RankedGoodputs:
    """The goodput of the flows of a treatment's trials, by rank, from the lowest."""

    sums: dict[int, npt.NDArray[np.float64]] = field(default_factory=dict)
    """The sums over trials by number of flows, in bits per second."""
    trials: dict[int, int] = field(default_factory=dict)
    """The number of trials by number of flows."""

    def add(self, goodputs_bps: Iterable[float]) -> None:
        """Adds the goodputs of a trial's flows."""
        ranked = np.sort(np.fromiter(goodputs_bps, np.float64))
        if len(ranked):
            self.sums[len(ranked)] = self.sums.get(len(ranked), 0.0) + ranked
            self.trials[len(ranked)] = self.trials.get(len(ranked), 0) + 1

    @property
    def means_bps(self) -> npt.NDArray[np.float64]:
        """Returns the mean goodput at each rank over the trials with the most frequent number of flows;
        without a trial, it is empty."""
        if not self.trials:
            return np.zeros(0)
        flows = max(self.trials, key=lambda count: (self.trials[count], count))
        return self.sums[flows] / self.trials[flows]


@dataclass
class FlowDistributions:
    """The distributions of the flows of a run."""

    delays: dict[tuple[str, Kind, Levels], Delays] = field(default_factory=dict)
    """The delays by flow, kind and treatment, of flows that record all of them."""
    goodputs: dict[Levels, RankedGoodputs] = field(default_factory=dict)
    """The ranked goodputs by treatment."""

    _flows: set[str] = field(default_factory=set)

    def _keeps(self, flow: str) -> bool:
        if len(self._flows) < MOST_FLOWS:
            self._flows.add(flow)
        return flow in self._flows

    def add(self, planned: PlannedTrial, record: Record) -> None:
        """Adds a trial."""
        levels = tuple(planned.treatment.values())
        for flow in record.flows:
            kinds: tuple[tuple[Kind, Histogram | None], ...] = (
                ("rtt", flow.rtt_histogram),
                ("owd", flow.owd_histogram),
            )
            for kind, histogram in kinds:
                if histogram is not None and self._keeps(flow.name):
                    self.delays.setdefault((flow.name, kind, levels), Delays()).add(histogram)
        goodputs = (flow.goodput_bps for flow in record.flows if flow.goodput_bps is not None)
        self.goodputs.setdefault(levels, RankedGoodputs()).add(goodputs)
