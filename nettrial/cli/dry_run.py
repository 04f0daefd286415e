"""`nettrial run --dry-run`: the design of a study, and whether this machine can run it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nettrial.cli import READING, run
from nettrial.cli.console import print_table, say
from nettrial.cli.documents import base as documents
from nettrial.cli.documents import design as design_documents
from nettrial.cli.progress import say_event
from nettrial.design import plan
from nettrial.design.trial_order import in_words
from nettrial.errors import BadInput, CannotRun
from nettrial.metrics import METRICS
from nettrial.running import permission
from nettrial.running.checking import check_plan
from nettrial.running.start import new_run
from nettrial.running.study_design import Design, DesignOptions
from nettrial.study import Study, load

TREATMENTS_SHOWN = 24
"""The number of treatments that are listed; any further ones are only counted."""


def dry_run(
    name: str | None,
    options: DesignOptions,
    out: Path | None,
    manner: run.Manner,
    earlier: Sequence[Path] = (),
) -> int:
    """Prints a study's design, checks that its trials can run, and returns the exit status; with `earlier`
    runs, prints the number of trials that its stopping rule needs, estimated from them, instead.

    Raises BadInput, and CannotRun. A design that another machine could run is printed all the same."""
    name, as_json = run.named(name), manner.form.as_json
    study = load(name)
    if earlier and as_json:
        raise BadInput(READING, "--from", str(earlier[0]), "no --from with --json")
    if earlier:
        from nettrial.cli import trials_needed  # imported only when needed: its statistics are slow to load

        trials_needed.show(Design.of(study, options), earlier)
        return 0
    try:
        with new_run(study, name, options, out, manner.target, say_event) as ready:
            manner.gate.limits(ready.design.study)
            _show(ready.design, options.seed, as_json)
            if ready.design.choice is not None and ready.design.choice.note is not None and not manner.quiet:
                say(ready.design.choice.note)
            say(f"{run.planned(ready)}; all can run, none was run")
    except (BadInput, CannotRun):
        design = Design.of(study, options)
        check_plan(design)
        _show(design, options.seed, as_json)
        raise
    return 0


def _show(design: Design, seed: int | None, as_json: bool) -> None:
    """Prints a design, with the order of its trials if there is a seed."""
    if as_json:
        documents.show(_document(design, seed))
        return
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
    for treatment in design.scenarios.treatments[:TREATMENTS_SHOWN]:
        print(in_words(treatment.levels))
    if len(design.scenarios) > TREATMENTS_SHOWN:
        print(f"and {len(design.scenarios) - TREATMENTS_SHOWN} more")
    requests = permission.requests(study, design.scenarios)
    if requests:
        print(f"\nPrograms that it starts and files that it sends, only with {permission.OPTION}")
        print_table(["place", "command or file"], [[request.where, request.text] for request in requests])
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
    if seed is not None:
        print(f"\nOrder of trials with seed {seed}")
        print_table(
            ["trial", "block", "treatment"],
            [
                [str(trial.number), str(trial.block), in_words(trial.treatment)]
                for trial in plan(study, design.replicates, seed)
            ],
        )


def _document(design: Design, seed: int | None) -> design_documents.DesignDocument:
    study, source, until = design.study, design.study.source, design.study.until
    requests = permission.requests(study, design.scenarios)
    return design_documents.DesignDocument(
        study=study.study,
        title=study.title,
        question=study.question,
        source=source
        and design_documents.Source(
            authors=source.authors, title=source.title, venue=source.venue, year=source.year
        ),
        backend=study.backend,
        changed=design.changed,
        factors=[
            design_documents.Factor(
                name=name, sets=list(factor.paths), levels=list(factor.levels), baseline=factor.baseline
            )
            for name, factor in study.factors.items()
        ],
        treatments=[treatment.levels for treatment in design.scenarios.treatments],
        responses=[
            design_documents.Response(
                name=response.name,
                metric=response.metric,
                of=response.of,
                unit=response.unit,
                better=METRICS[response.metric].better,
            )
            for response in study.responses
        ],
        commands=permission.commands(requests),
        files=permission.files(requests),
        replicates=design.replicates,
        most_replicates=None if until is None else until.maximum,
        trials=design.trials,
        warm_up_trials=study.warm_up_trials,
        seconds=design.seconds,
        order=None
        if seed is None
        else [
            design_documents.OrderedTrial(trial=trial.number, block=trial.block, treatment=trial.treatment)
            for trial in plan(study, design.replicates, seed)
        ],
    )


def _trials(design: Design) -> str:
    """Returns the number of trials in words; simulated machines need no warm-up."""
    study = design.study
    return f"{design.trials}" + (f", and {study.warmup} to warm up" if study.capabilities.warm_up else "")


def _until(study: Study) -> list[list[str]]:
    """Returns a row with the stopping rule, if there is one; `replicates` is then the fewest blocks."""
    if study.until is None:
        return []
    from nettrial.report.stopping import rule  # imported only when needed: its statistics are slow to load

    return [["more replicates", f"at most {study.until.maximum}, until {rule(study.until)}"]]
