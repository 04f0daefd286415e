"""`nettrial calibrate`: the CPU cost of packets on a run's hosts, for the simulator."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from nettrial.analysis import CONFIDENCE, warnings
from nettrial.analysis.costs import Cost, Costs, HostFit, costs
from nettrial.cli.console import print_table
from nettrial.cli.documents import base as documents
from nettrial.cli.documents import calibrate as calibrate_documents
from nettrial.report import numbers
from nettrial.store import Run
from nettrial.units import DURATION

DECIMALS = 3
"""The number of decimals of a cost in microseconds: the setting is in whole nanoseconds."""


def show(directory: Path, as_json: bool) -> None:
    """Prints the costs of a run's hosts and the settings that pass them to the simulator; raises BadInput."""
    run = Run.open(directory)
    calibration = costs(run)
    if as_json:
        documents.show(_document(run, calibration))
        return
    done = run.finished()
    kept = (
        f"{done - len(calibration.left_out)} of {done} trials" if calibration.left_out else f"{done} trials"
    )
    print(f"CPU costs of packets, from {kept} of {directory}")
    if calibration.left_out:
        print("Trials during which other processes ran are left out: the CPU time includes their work.")
    print()
    rows = [_row(fit, name, cost) for fit in calibration.hosts for name, cost in fit.costs().items()]
    print_table(["host", "cost", "us", "interval", "R2", "in use"], rows)
    print("\nError of the predicted CPU time at each held-out level")
    errors = [
        [fit.host, factor, level, f"{numbers.signed(error, 1)}%"]
        for fit in calibration.hosts
        for (factor, level), error in fit.errors.items()
    ]
    if errors:
        print_table(["host", "factor", "level", "error"], errors)
    else:
        print("None: without one of them, too few levels remain.")
    for host, reason in calibration.absent.items():
        print(f"\nNo costs for {host}: {reason}")
    _print_list(
        "Cautions", [f"{fit.host}: {caution}" for fit in calibration.hosts for caution in fit.cautions]
    )
    _print_list("Warnings of the run", _warned(run))
    print(
        f"\nEach interval is the {100 * CONFIDENCE:g}% confidence interval of the cost, provided that the "
        "model holds; it is based on the number of treatments, not of trials. Records do not count "
        "interrupts: their cost is part of per_packet. The costs apply to CPUs as busy as these: a CPU that "
        "sleeps between packets takes longer for each."
    )
    print("\nIn a study file, for the simulator")
    print(_yaml(calibration.hosts))
    print("\nOr as options of `nettrial run STUDY --backend sim`")
    print(" ".join(_options(calibration.hosts)))


def _row(fit: HostFit, name: str, cost: Cost) -> list[str]:
    """Returns the table row of one cost; figures of the whole fit stand in the first of its two rows."""
    first = name == next(iter(fit.costs()))
    explained = "" if fit.r_squared is None else numbers.fixed(fit.r_squared, DECIMALS)
    interval = "none"
    if cost.interval is not None:
        low, high = (numbers.fixed(bound, DECIMALS) for bound in (cost.interval.low, cost.interval.high))
        interval = f"[{low}, {high}]"
    of_host = [explained, _use(fit)] if first else ["", ""]
    return [fit.host if first else "", name, numbers.fixed(cost.value, DECIMALS), interval, *of_host]


def _use(fit: HostFit) -> str:
    """Returns the CPU utilisation in words, such as "45% to 70%"."""
    shares = [numbers.fixed(share(work.busy_percent for work in fit.work), 0) for share in (min, max)]
    return " to ".join(f"{share}%" for share in dict.fromkeys(shares))


def _print_list(title: str, items: Sequence[str]) -> None:
    if items:
        print(f"\n{title}")
        for item in items:
            print(f"- {item}")


def _warned(run: Run) -> list[str]:
    return [
        f"{group.object}: {group.message} ({numbers.counted(group.trials, 'trial')}); {group.consequence}"
        for group in warnings(run)
    ]


def _setting(cost: Cost) -> str:
    """Returns a cost as the value of a setting, in whole nanoseconds."""
    return DURATION.print(round(1000 * cost.value))


def _yaml(fits: Sequence[HostFit]) -> str:
    lines = ["hosts:"]
    for fit in fits:
        given = ", ".join(f"{name}: {_setting(cost)}" for name, cost in fit.costs().items())
        lines += [f"  {fit.host}:", f"    cost: {{{given}}}"]
    return "\n".join(lines)


def _options(fits: Sequence[HostFit]) -> list[str]:
    return [
        f"--set {shlex.quote(f'hosts.{fit.host}.cost.{name}={_setting(cost)}')}"
        for fit in fits
        for name, cost in fit.costs().items()
    ]


def _document(run: Run, host_costs: Costs) -> calibrate_documents.CalibrateDocument:
    return calibrate_documents.CalibrateDocument(
        run=str(run.directory),
        trials_left_out=list(host_costs.left_out),
        fits=[_fit(fit) for fit in host_costs.hosts],
        absent=host_costs.absent,
        warnings=_warned(run),
        hosts={
            fit.host: {"cost": {name: _setting(cost) for name, cost in fit.costs().items()}}
            for fit in host_costs.hosts
        },
    )


def _fit(fit: HostFit) -> calibrate_documents.CostFit:
    return calibrate_documents.CostFit(
        host=fit.host,
        per_packet_us=fit.per_packet.value,
        per_kilobyte_us=fit.per_kilobyte.value,
        per_packet_interval_us=documents.bounds(fit.per_packet.interval),
        per_kilobyte_interval_us=documents.bounds(fit.per_kilobyte.interval),
        r_squared=fit.r_squared,
        errors_held_out_percent=[
            calibrate_documents.HeldOut(factor=factor, level=level, error=error)
            for (factor, level), error in fit.errors.items()
        ],
        treatments=[
            calibrate_documents.WorkOfTreatment(
                treatment=work.treatment,
                trials=work.trials,
                busy_us=work.busy_us,
                busy_percent=work.busy_percent,
                packets=work.packets,
                kilobytes=work.kilobytes,
            )
            for work in fit.work
        ],
        cautions=list(fit.cautions),
    )
