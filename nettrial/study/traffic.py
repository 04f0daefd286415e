"""The traffic of a flow in the notation of study files, as far as it differs from a scenario's."""

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
    """A file that is sent once from the sender's disk to the receiver's, where it has no name and disappears
    with the trial."""

    file: Annotated[str, AfterValidator(_absolute)]
    """The file's absolute path on the sender. To send it needs `--allow-exec`."""


class PacketsSettings(base.Packets):
    """Packets in one direction, for a certain time, up to a certain number, or whichever comes first. With a
    gap, each packet is followed by the gap; with a rate, the payload is sent evenly at that rate; with
    neither, packets are sent as fast as the transport accepts them."""

    seed: Seed = 0
    """The seed of the random numbers, used together with the run's seed and the block, so that all treatments
    of a block share them. The n-th flows of workload entries with the same seed send the same sequence."""


class SweepSettings(base.Sweep):
    """Requests of many sizes in random order on one connection: for each size a number of bytes, sent in
    requests that are each answered before the next."""

    seed: Seed = 0
    """The seed of the order, used together with the run's seed and the block, so that all treatments of a
    block, and entries of the workload with the same seed, share it."""

    @model_validator(mode="after")
    def _not_too_many(self) -> SweepSettings:
        first, last, step = (SIZE.parse(size) for size in (self.first, self.last, self.step))
        sizes = (last - first) // step + 1 if step else 0  # the engine refuses a step of 0
        if sizes * self.repeats > MOST_SIZES:
            expected = f"up to {MOST_SIZES} sizes, counting each repeat (`repeats`)"
            raise wrong(
                ("step",), self.step, expected, f"there would be {sizes} sizes, {self.repeats} times each"
            )
        return self


def _words(arguments: Any) -> Any:
    """Converts a text, as given by `--set`, into a list of words."""
    try:
        return shlex.split(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        raise wrong(expected="words in a shell's syntax, with matching quotation marks") from None


Words = Annotated[list[str], BeforeValidator(_words, json_schema_input_type=list[str] | str)]
"""A program's arguments: a list, or one text in a shell's syntax."""


class ToolSettings(base.Tool):
    """The traffic of another program, measured by that program."""

    arguments: Words = []
    """Additional options of the sending program: a list, or one text ("-w 1M -l 24K"). For `exec`, the
    command and its arguments, in which `{destination}`, `{source}` and `{port}` are replaced by the
    flow's. Options other than those of the page "Tool options" need `--allow-exec`."""
    server_arguments: Words = []
    """Additional options of the receiving program, in the same form and with the same permission. For `exec`,
    a command for the receiving host, or none."""


TrafficSettings = Annotated[
    Transfer | FileTransferSettings | RequestResponse | PacketsSettings | SweepSettings | ToolSettings,
    Field(discriminator="kind"),
]
"""The traffic of a flow, of any kind."""
