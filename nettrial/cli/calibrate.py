"""`nettrial calibrate`: what packets cost the hosts of a run, for the simulator."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from nettrial.analysis import CONFIDENCE, warnings
from nettrial.analysis.costs import Cost, Costs, HostFit, costs
from nettrial.cli import documents
from nettrial.cli.console import print_table
from nettrial.report import numbers
from nettrial.store import Run
from nettrial.units import DURATION

DECIMALS = 3
"""The decimals of a cost in microseconds: the setting holds whole nanoseconds."""


def show(directory: Path, as_json: bool) -> None:
    """Prints the costs of a run's hosts and the settings that give them to the simulator; raises BadInput."""
    run = Run.open(directory)
    found = costs(run)
    if as_json:
        documents.show(_document(run, found))
        return
    done = len(run.trials())
    kept = f"{done - len(found.left_out)} of {done} trials" if found.left_out else f"{done} trials"
    print(f"Costs of packets, by {kept} of {directory}")
    if found.left_out:
        print("Trials beside which other processes worked are left out: their work is in the CPU time.")
    print()
    rows = [_row(fit, name, cost) for fit in found.hosts for name, cost in fit.costs().items()]
    print_table(["host", "cost", "us", "interval", "R2", "in use"], rows)
    print("\nError in the CPU time at a level held out")
    errors = [
        [fit.host, factor, level, f"{numbers.signed(error, 1)}%"]
        for fit in found.hosts
        for (factor, level), error in fit.errors.items()
    ]
    if errors:
        print_table(["host", "factor", "level", "error"], errors)
    else:
        print("None: too few levels are left without one.")
    for host, reason in found.absent.items():
        print(f"\nNo costs of {host}: {reason}")
    _print_list("Cautions", [f"{fit.host}: {caution}" for fit in found.hosts for caution in fit.cautions])
    _print_list("Warnings of the run", _warned(run))
    print(
        f"\nEach interval holds the cost at {100 * CONFIDENCE:g}%, if the model holds; it counts treatments, "
        "not trials. No record counts interrupts: what they cost is part of per_packet. The costs hold for "
        "CPUs in use that much: one that sleeps between packets takes longer for each."
    )
    print("\nIn a study file, for the simulator")
    print(_yaml(found.hosts))
    print("\nOr as options of `nettrial run STUDY --backend sim`")
    print(" ".join(_options(found.hosts)))


def _row(fit: HostFit, name: str, cost: Cost) -> list[str]:
    """The line of one cost; what is of the fit stands in the first of its two."""
    first = name == next(iter(fit.costs()))
    explained = "" if fit.r_squared is None else numbers.fixed(fit.r_squared, DECIMALS)
    interval = "none"
    if cost.interval is not None:
        low, high = (numbers.fixed(bound, DECIMALS) for bound in (cost.interval.low, cost.interval.high))
        interval = f"[{low}, {high}]"
    of_host = [explained, _use(fit)] if first else ["", ""]
    return [fit.host if first else "", name, numbers.fixed(cost.value, DECIMALS), interval, *of_host]


def _use(fit: HostFit) -> str:
    """Returns how busy its CPU was: "45% to 70%"."""
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
    """The value of a setting: whole nanoseconds."""
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


def _document(run: Run, found: Costs) -> documents.CalibrateDocument:
    return documents.CalibrateDocument(
        run=str(run.directory),
        trials_left_out=list(found.left_out),
        fits=[_fit(fit) for fit in found.hosts],
        absent=found.absent,
        warnings=_warned(run),
        hosts={
            fit.host: {"cost": {name: _setting(cost) for name, cost in fit.costs().items()}}
            for fit in found.hosts
        },
    )


def _fit(fit: HostFit) -> documents.CostFit:
    return documents.CostFit(
        host=fit.host,
        per_packet_us=fit.per_packet.value,
        per_kilobyte_us=fit.per_kilobyte.value,
        per_packet_interval_us=documents.bounds(fit.per_packet.interval),
        per_kilobyte_interval_us=documents.bounds(fit.per_kilobyte.interval),
        r_squared=fit.r_squared,
        errors_held_out_percent=[
            documents.HeldOut(factor=factor, level=level, error=error)
            for (factor, level), error in fit.errors.items()
        ],
        treatments=[
            documents.WorkOfTreatment(
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
