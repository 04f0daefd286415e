"""What a flow sends, as a study file writes it: one model for each kind."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from nettrial.bounds import MOST_SIZES
from nettrial.fields import Strict, wrong
from nettrial.study.variates import DurationVariate, SizeVariate
from nettrial.units import SIZE, Duration, Rate, Size

Count = Annotated[int, Field(ge=1)]
"""How many of something."""
Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]
"""Where random numbers start."""


class TransferSettings(Strict):
    """A bulk transfer: so many bytes, for so long, or with both one such transfer after the other."""

    kind: Literal["transfer"]
    """Says that it is a transfer."""
    size: Size | None = None
    """Bytes of one transfer."""
    duration: Duration | None = None
    """How long to go on."""


def _absolute(path: str) -> str:
    if not path.startswith("/"):
        raise wrong(legal="an absolute path on the host that sends")
    return path


class FileTransferSettings(Strict):
    """A file, once, from the sender's disk to the receiver's, where it has no name and is gone with the
    trial."""

    kind: Literal["file_transfer"]
    """Says that it is a file."""
    file: Annotated[str, AfterValidator(_absolute)]
    """The file's absolute path on the sender."""


class RequestResponseSettings(Strict):
    """A message and its answer, one or several in flight, for so long, so many times, or whichever of both
    comes first."""

    kind: Literal["request_response"]
    """Says that it is requests and responses."""
    request: Size
    """Bytes of a request, at least 24."""
    response: Size
    """Bytes of a response, at least 24."""
    duration: Duration | None = None
    """How long to go on."""
    count: Count | None = None
    """How many requests."""
    interval: Duration | None = None
    """From one request to the next; without it the next follows the response at once."""
    in_flight: Count = 1
    """Requests that may wait for their responses at a time."""
    connecting: Literal["once", "each_request"] = "once"
    """How often a connection is opened; with `each_request` the round-trip time starts with the call to
    connect."""


class OnOffSettings(Strict):
    """Times of sending and of silence in turn, the first one of sending."""

    on: DurationVariate
    """How long packets are sent."""
    off: DurationVariate
    """How long none are."""


class PacketsSettings(Strict):
    """Packets in one direction, for so long, so many of them, or whichever of both comes first. With a gap:
    one packet, then the gap. With a rate: as much payload a second, evenly. With neither: as fast as the
    transport takes them."""

    kind: Literal["packets"]
    """Says that it is packets."""
    size: SizeVariate
    """Bytes of a packet's payload, at least 24."""
    gap: DurationVariate | None = None
    """From one departure to the next."""
    rate: Rate | None = None
    """Payload bits per second."""
    on_off: OnOffSettings | None = None
    """Times of sending and of silence in turn."""
    duration: Duration | None = None
    """How long to go on."""
    count: Count | None = None
    """How many packets."""
    seed: Seed = 0
    """Gives the random numbers, together with the run's seed and the block: the same for all treatments of a
    block."""


class SweepSettings(Strict):
    """Requests of many sizes in a random order on one connection: for each size a number of bytes, request
    by request, each answered before the next."""

    kind: Literal["sweep"]
    """Says that it is a sweep."""
    first: Size
    """The smallest request, at least 24 B."""
    last: Size
    """The largest; over UDP at most 65507 B (IPv4) or 65527 B (IPv6)."""
    step: Size
    """From one size to the next."""
    repeats: Count = 1
    """How often each size is measured in one trial."""
    bytes: Size
    """Bytes sent for one measurement of a size."""
    answer: Literal["acknowledgment", "echo"]
    """What the receiver sends back: 24 bytes, or as many as came."""
    seed: Seed = 0
    """Gives the order, together with the run's seed and the block: the same for all treatments of a block."""

    @model_validator(mode="after")
    def _not_too_many(self) -> SweepSettings:
        first, last, step = (SIZE.parse(size) for size in (self.first, self.last, self.step))
        sizes = (last - first) // step + 1 if step else 0  # the engine refuses a step of 0
        if sizes * self.repeats > MOST_SIZES:
            legal = f"up to {MOST_SIZES} sizes, each as often as `repeats` says"
            raise wrong(
                ("step",), self.step, legal, f"there would be {sizes} sizes, {self.repeats} times each"
            )
        return self


class ToolSettings(Strict):
    """Another program's traffic, measured by that program."""

    kind: Literal["tool"]
    """Says that it is another program's."""
    tool: Literal["iperf3", "ping", "netperf", "ditg", "sockperf", "exec"]
    """The program; `ditg` is D-ITG, `exec` any command."""
    duration: Duration | None = None
    """How long it sends; only `exec` may leave it out."""
    size: Size | None = None
    """Payload bytes of a packet, a write or a request."""
    rate: Rate | None = None
    """Payload bits per second; as fast as it can where absent."""
    request_response: bool = False
    """Requests and responses instead of a stream; netperf only."""
    arguments: list[str] = []
    """Further options of the sending program. For `exec`: the command, in which `{destination}`,
    `{source}` and `{port}` stand for the flow's."""
    server_arguments: list[str] = []
    """Further options of the receiving program. For `exec`: the receiving host's command, or none."""
