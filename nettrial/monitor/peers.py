"""Measurements between this machine and servers of other programs' protocols: ndt7 and STAMP."""

from __future__ import annotations

import json

from nettrial.backends import find_server
from nettrial.errors import BadInput
from nettrial.measuring import ndt7, stamp
from nettrial.measuring.measurement import RepeatFailed
from nettrial.monitor.outcome import MeasuredValue, MeasuredValues, Missed, Reason
from nettrial.monitor.task import SET_UP_SECONDS, Task
from nettrial.protocols.figures import ProtocolOutcome
from nettrial.protocols.stamp import figures as stamp_figures
from nettrial.protocols.stamp.key import key_of
from nettrial.protocols.stamp.packet import is_size, sizes
from nettrial.protocols.stamp.sender import Sender
from nettrial.units import SIZE

MEASURING = "measuring with STAMP"
"""The current action, for error messages."""


def _address(task: Task, port: int) -> str:
    """Returns the address of a task's server; raises Missed if it has none."""
    try:
        server, _ = find_server(task.far.address or "", port, task.settings.ip)
    except LookupError as why:
        raise Missed("host gone", f"{task.far.address}: {why}") from None
    return server.rpartition(":")[0].strip("[]")


def _missed(failed: RepeatFailed) -> Missed:
    """Returns why a task has no measurement: its host is gone only if it can't be reached."""
    reason: Reason = (
        "host gone" if failed.kind == "unreachable" else "refused" if failed.kind == "refused" else "failed"
    )
    return Missed(reason, str(failed))


def _measured(
    kind: str, headline: str, outcome: ProtocolOutcome, names: dict[str, str], size: int
) -> MeasuredValues:
    """Returns an outcome's figures under the names of its directions; raises Missed without the headline."""
    figures, absent = [], {}
    for each in outcome.figures:
        before = names[each.direction]
        name, title = f"{before}{each.metric}", f"{before.replace('_', ': ')}{each.title}"
        if isinstance(each.value, str):
            absent[name] = each.value
        else:
            figures.append(MeasuredValue(name, title[:1].upper() + title[1:], each.unit, each.value))
    if headline in absent:
        raise Missed("failed", absent[headline])
    document = {
        "kind": kind,
        "figures": {each.name: each.value for each in figures},
        "absent": absent,
        "warnings": list(outcome.warnings),
    }
    return MeasuredValues(figures, size, json.dumps(document))


class Ndt7:
    """A download from an ndt7 server, or an upload to it, as of `nettrial measure HOST ndt7`."""

    title = "ndt7"
    headline = "goodput"
    uses = frozenset({"duration", "ip"})
    metrics = frozenset({"goodput", "min_rtt", "srtt", "retransmitted"})

    def problem(self, task: Task) -> str:
        """Returns a requirement that the hosts don't meet."""
        return task.from_here() or ("" if task.far.serves == "ndt7" else "a host with `serves: ndt7`")

    def seconds(self, task: Task) -> float:
        """Returns the expected time of a measurement."""
        return task.seconds(ndt7.LONGEST) + SET_UP_SECONDS

    def run(self, task: Task) -> MeasuredValues:
        """Measures once; raises Missed."""
        far, port = task.far, task.far.port or ndt7.PORT
        assert far.address is not None
        address = _address(task, port)
        try:
            client = ndt7.client(far.address, address, port, far.tls == "none", far.tls == "verified")
            from nettrial.protocols.ndt7.figures import outcome
        except ImportError:
            why = f"its Python packages are missing: {ndt7.LACKS.remedy}"
            raise Missed("failed", why) from None
        direction = "download" if task.reverse else "upload"
        try:
            transfer = ndt7.transfer(client, direction, task.seconds(ndt7.LONGEST))
        except RepeatFailed as failed:
            raise _missed(failed) from None
        return _measured("ndt7", self.headline, outcome(transfer), {direction: ""}, transfer.num_bytes)


class Stamp:
    """A session with a reflector of STAMP or TWAMP Light, as of `nettrial measure HOST stamp`."""

    title = "STAMP"
    headline = "rtt"
    uses = frozenset({"duration", "size", "ip"})
    names = {stamp_figures.WHOLE: "", stamp_figures.FORWARD: "forward_", stamp_figures.BACKWARD: "backward_"}
    """The beginning of the names of a direction's metrics."""
    metrics = frozenset(
        f"{before}{metric}"
        for direction, before in names.items()
        for metric in stamp_figures.METRICS[direction]
    )

    def problem(self, task: Task) -> str:
        """Returns a requirement that the hosts don't meet."""
        if wrong := task.from_here():
            return wrong
        if task.far.serves != "stamp":
            return "a host with `serves: stamp`"
        if task.reverse:
            return "this machine in `from`: the reflector sends each packet back"
        size, key = task.settings.size, key_of(task.far.token_file, MEASURING, "token_file")
        return "" if size is None or is_size(SIZE.parse(size), key) else f"a size of {sizes(key)}"

    def seconds(self, task: Task) -> float:
        """Returns the expected time of a measurement."""
        return task.seconds() + stamp.WAIT_SECONDS

    def run(self, task: Task) -> MeasuredValues:
        """Measures once; raises Missed."""
        far, port = task.far, task.far.port or stamp.PORT
        try:
            key = key_of(far.token_file, MEASURING, "token_file")
        except BadInput as bad:
            raise Missed("failed", "; ".join(bad.faults[0].lines())) from None
        size = task.settings.size
        session = stamp.session(
            _address(task, port),
            port,
            task.seconds(),
            size=None if size is None else SIZE.parse(size),
            key=key,
        )
        try:
            result = stamp.exchange(Sender(session))
        except RepeatFailed as failed:
            raise _missed(failed) from None
        # Each packet passes both hosts there, and comes back.
        moved = session.size * (result.sent + len(result.answers))
        return _measured("stamp", self.headline, stamp_figures.outcome(result), self.names, moved)
