"""Groups of flows: what one entry of a workload stands for, as plain flows."""

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
"""The value of `from` for every host but the one the flow goes to."""
EVERY = "every"
"""The value of `from` for every host. Among the hosts, where the topology makes them: each without an entry
of its own."""
NEXT = "next"
"""The value of `to` for the sender after this one, of the last one the first."""
PERMUTATION = "permutation"
"""The value of `to` for another sender for each, drawn at random, and each for one."""


@dataclass(frozen=True)
class Member:
    """One flow of a group."""

    name: str
    """The group's name alone, if the group is this one flow; else with what tells it from the others:
    NAME-HOST, NAME-1, NAME-forward, or these together."""
    from_: str
    to: str
    start: str
    """The time of its start, after all are ready."""


def members(flow: FlowSettings, hosts: Sequence[str], block: Block = FIRST) -> list[Member]:
    """The flows that an entry stands for in a block: from each of its hosts, so many at a time, there
    or there and back. Each pair starts by the stagger later than the one before."""
    several = isinstance(flow.from_, list) or flow.from_ in (OTHERS, EVERY)
    senders = flow.from_ if isinstance(flow.from_, list) else [flow.from_]
    if flow.from_ in (OTHERS, EVERY):
        senders = [host for host in hosts if host != flow.to]
    first, stagger = units.DURATION.parse(flow.start), units.DURATION.parse(flow.stagger)
    found = []
    for place, (sender, to) in enumerate(zip(senders, _receivers(flow, senders, block), strict=True)):
        for number in range(flow.count):
            name = "-".join(
                [flow.flow, *([sender] if several else []), *([str(number + 1)] if flow.count > 1 else [])]
            )
            at = units.DURATION.print(first + (place * flow.count + number) * stagger)
            if flow.both_directions:
                found.append(Member(f"{name}-forward", sender, to, at))
                found.append(Member(f"{name}-reverse", to, sender, at))
            else:
                found.append(Member(name, sender, to, at))
    return found


def _receivers(flow: FlowSettings, senders: Sequence[str], block: Block) -> list[str]:
    """Returns the receivers of each sender's flows."""
    if flow.to == NEXT:
        return [*senders[1:], *senders[:1]]
    if flow.to == PERMUTATION:
        return _derangement(senders, block.seed("permutation", flow.seed))
    return [flow.to] * len(senders)


def _derangement(hosts: Sequence[str], seed: int) -> list[str]:
    """The hosts in a random order in which none is at its own place, each such order as likely as another: a
    third of all orders are such, so that others are drawn again."""
    generator = random.Random(seed)
    drawn = list(hosts)
    while True:
        generator.shuffle(drawn)
        if all(one != other for one, other in zip(drawn, hosts, strict=True)):
            return drawn
