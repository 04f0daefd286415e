"""`nettrial show`: what a study would run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nettrial.cli.checking import check_plan
from nettrial.cli.console import print_table
from nettrial.cli.design import Design, DesignOptions
from nettrial.design import plan
from nettrial.design.plan import in_words
from nettrial.metrics import METRICS
from nettrial.study import Study

TREATMENTS_SHOWN = 24
"""More are counted, not listed."""


def show(name: str, options: DesignOptions, earlier: Sequence[Path] = ()) -> None:
    """Prints a study's design, and what its stopping rule takes by earlier runs; raises BadInput,
    also for a design that its backend refuses."""
    design = Design.of(name, options)
    if earlier:
        from nettrial.cli import trials_needed  # when it is needed: its statistics are slow to load

        trials_needed.show(design, earlier)
        return
    check_plan(design)
    study = design.study
    print(f"{study.title} ({study.study})")
    print(study.question)
    if study.source:
        source = study.source
        year = f", {source.year}" if source.year else ""
        print(f"Source: {source.authors} {source.title}. {source.venue}{year}.")
    if design.changed:
        print("\nChanged by --full")
        print_table(["setting", "value"], [[name, value] for name, value in design.changed.items()])
    print("\nFactors")
    print_table(
        ["factor", "sets", "levels", "baseline"],
        [
            [factor_name, ", ".join(factor.paths), ", ".join(factor.levels), factor.baseline or ""]
            for factor_name, factor in study.factors.items()
        ],
    )
    print("\nTreatments")
    for treatment, _ in design.scenarios[:TREATMENTS_SHOWN]:
        print(in_words(treatment.levels))
    if len(design.scenarios) > TREATMENTS_SHOWN:
        print(f"and {len(design.scenarios) - TREATMENTS_SHOWN} more")
    print("\nResponses")
    print_table(
        ["response", "metric", "of", "unit", "better"],
        [
            [response.name, response.metric, response.of, response.unit, METRICS[response.metric].better]
            for response in study.responses
        ],
    )
    print()
    print_table(
        ["design", ""],
        [
            ["treatments", str(len(design.scenarios))],
            ["replicates", str(design.replicates)],
            *_until(study),
            ["trials", _trials(design)],
            ["backend", study.backend],
            ["expected time", design.length(design.replicates).removeprefix("about ")],
        ],
    )
    if options.seed is not None:
        print(f"\nOrder of trials with seed {options.seed}")
        print_table(
            ["trial", "block", "treatment"],
            [
                [str(trial.number), str(trial.block), in_words(trial.treatment)]
                for trial in plan(study, design.replicates, options.seed)
            ],
        )


def _trials(design: Design) -> str:
    """Returns the number of trials in words; a simulated machine needs no warming up."""
    study = design.study
    return f"{design.trials}" + (f", and {study.warmup} to warm up" if study.capabilities.warm_up else "")


def _until(study: Study) -> list[list[str]]:
    """The stopping rule, if there is one: `replicates` are then the fewest."""
    if study.until is None:
        return []
    from nettrial.report.stopping import rule  # when it is needed: its statistics are slow to load

    return [["more replicates", f"{study.until.maximum} at most, until {rule(study.until)}"]]
