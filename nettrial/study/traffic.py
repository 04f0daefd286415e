"""The traffic of a flow, as a study file writes it, where that differs from what a scenario has."""

from __future__ import annotations

import shlex
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from nettrial.bounds import MOST_SIZES
from nettrial.fields import wrong
from nettrial.study import base
from nettrial.study.base import RequestResponse, Transfer
from nettrial.units import SIZE

Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]
"""A seed of random numbers."""


def _absolute(path: str) -> str:
    if not path.startswith("/"):
        raise wrong(expected="an absolute path on the host that sends")
    return path


class FileTransferSettings(base.FileTransfer):
    """A file, once, from the sender's disk to the receiver's, where it has no name and is gone with the
    trial."""

    file: Annotated[str, AfterValidator(_absolute)]
    """The file's absolute path on the sender."""


class PacketsSettings(base.Packets):
    """Packets in one direction, for so long, so many of them, or whichever of both comes first. With a gap:
    one packet, then the gap. With a rate: as much payload a second, evenly. With neither: as fast as the
    transport takes them."""

    seed: Seed = 0
    """Gives the random numbers, together with the run's seed and the block: the same for all treatments of a
    block, and for entries of the workload with one seed, whose n-th flows then send alike."""


class SweepSettings(base.Sweep):
    """Requests of many sizes in a random order on one connection: for each size a number of bytes, request
    by request, each answered before the next."""

    seed: Seed = 0
    """Gives the order, together with the run's seed and the block: the same for all treatments of a block,
    and for entries of the workload with one seed."""

    @model_validator(mode="after")
    def _not_too_many(self) -> SweepSettings:
        first, last, step = (SIZE.parse(size) for size in (self.first, self.last, self.step))
        sizes = (last - first) // step + 1 if step else 0  # the engine refuses a step of 0
        if sizes * self.repeats > MOST_SIZES:
            expected = f"up to {MOST_SIZES} sizes, each as often as `repeats` says"
            raise wrong(
                ("step",), self.step, expected, f"there would be {sizes} sizes, {self.repeats} times each"
            )
        return self


def _words(arguments: Any) -> Any:
    """A list of words, which `--set` gives as one text."""
    try:
        return shlex.split(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        raise wrong(expected="words as a shell would read them: each quotation mark has its other") from None


Words = Annotated[list[str], BeforeValidator(_words)]
"""A program's arguments: a list, or one text as a shell would read it."""


class ToolSettings(base.Tool):
    """Another program's traffic, measured by that program."""

    arguments: Words = []
    """Further options of the sending program, as it takes them: a list, or one text ("-w 1M -l 24K"). For
    `exec`: the command and its arguments, in which `{destination}`, `{source}` and `{port}` stand for the
    flow's."""
    server_arguments: Words = []
    """Further options of the receiving program, likewise. For `exec`: a command for the receiving host, or
    none."""


TrafficSettings = Annotated[
    Transfer | FileTransferSettings | RequestResponse | PacketsSettings | SweepSettings | ToolSettings,
    Field(discriminator="kind"),
]
"""The traffic of a flow, of any kind."""
