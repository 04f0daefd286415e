"""Groups of flows: the expansion of a workload's entry into single flows."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nettrial import units
from nettrial.study.block import FIRST, Block

if TYPE_CHECKING:
    from nettrial.study.settings import FlowSettings

OTHERS = "others"
"""The value of `from` for every host except the flow's destination."""
EVERY = "every"
"""The value of `from` for every host. Under `hosts`, if the topology makes the hosts, it stands for each host
without its own entry."""
NEXT = "next"
"""The value of `to` for the next sender; for the last sender, the first."""
PERMUTATION = "permutation"
"""The value of `to` for a random permutation, in which each sender is the receiver of exactly one other
sender."""


@dataclass(frozen=True)
class Member:
    """One flow of a group."""

    name: str
    """The group's name, if this is the group's only flow; otherwise with suffixes that distinguish it:
    NAME-HOST, NAME-1, NAME-forward, or a combination."""
    from_: str
    """The sending host."""
    to: str
    """The receiving host."""
    start: str
    """The time of its start, after all hosts are ready."""


def members(flow: FlowSettings, hosts: Sequence[str], block: Block = FIRST) -> list[Member]:
    """Returns the flows of an entry in a block: the given number from each of its hosts, in one or both
    directions. Each pair starts later than the previous one by the stagger."""
    several = isinstance(flow.from_, list) or flow.from_ in (OTHERS, EVERY)
    senders = flow.from_ if isinstance(flow.from_, list) else [flow.from_]
    if flow.from_ in (OTHERS, EVERY):
        senders = [host for host in hosts if host != flow.to]
    first, stagger = units.DURATION.parse(flow.start), units.DURATION.parse(flow.stagger)
    at = units.DURATION.print(first)
    flows = []
    for place, (sender, to) in enumerate(zip(senders, _receivers(flow, senders, block), strict=True)):
        for number in range(flow.count):
            name = "-".join(
                [flow.flow, *([sender] if several else []), *([str(number + 1)] if flow.count > 1 else [])]
            )
            if stagger:  # large fabrics have 100,000 flows, most without a stagger
                at = units.DURATION.print(first + (place * flow.count + number) * stagger)
            if flow.both_directions:
                flows.append(Member(f"{name}-forward", sender, to, at))
                flows.append(Member(f"{name}-reverse", to, sender, at))
            else:
                flows.append(Member(name, sender, to, at))
    return flows


def _receivers(flow: FlowSettings, senders: Sequence[str], block: Block) -> list[str]:
    """Returns the receivers of each sender's flows."""
    if flow.to == NEXT:
        return [*senders[1:], *senders[:1]]
    if flow.to == PERMUTATION:
        return _derangement(senders, block.seed("permutation", flow.seed))
    return [flow.to] * len(senders)


def _derangement(hosts: Sequence[str], seed: int) -> list[str]:
    """Returns the hosts in a random order in which none keeps its place, with each such order equally likely.
    A third of all orders qualify; others are drawn again."""
    generator = random.Random(seed)
    drawn = list(hosts)
    while True:
        generator.shuffle(drawn)
        if all(one != other for one, other in zip(drawn, hosts, strict=True)):
            return drawn
