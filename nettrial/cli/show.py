"""`nettrial show`: the design of a study."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nettrial.cli import READING
from nettrial.cli.console import print_table
from nettrial.cli.documents import base as documents
from nettrial.cli.documents import show as show_documents
from nettrial.cli.progress import say_event
from nettrial.design import plan
from nettrial.design.trial_order import in_words
from nettrial.errors import BadInput
from nettrial.metrics import METRICS
from nettrial.running import permission
from nettrial.running.checking import check_plan
from nettrial.running.study_design import Design, DesignOptions
from nettrial.study import Study, load

TREATMENTS_SHOWN = 24
"""The number of treatments that are listed; any further ones are only counted."""


def show(name: str, options: DesignOptions, earlier: Sequence[Path] = (), as_json: bool = False) -> None:
    """Prints a study's design, and the number of trials that its stopping rule needs, estimated from earlier
    runs; raises BadInput, also for a design that its backend refuses."""
    design = Design.of(load(name), options)
    if earlier and as_json:
        raise BadInput(READING, "--from", str(earlier[0]), "no --from with --json")
    if earlier:
        from nettrial.cli import trials_needed  # imported only when needed: its statistics are slow to load

        trials_needed.show(design, earlier)
        return
    check_plan(design, say_event)
    if as_json:
        documents.show(_document(design, options.seed))
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
    if options.seed is not None:
        print(f"\nOrder of trials with seed {options.seed}")
        print_table(
            ["trial", "block", "treatment"],
            [
                [str(trial.number), str(trial.block), in_words(trial.treatment)]
                for trial in plan(study, design.replicates, options.seed)
            ],
        )


def _document(design: Design, seed: int | None) -> show_documents.ShowDocument:
    study, source, until = design.study, design.study.source, design.study.until
    requests = permission.requests(study, design.scenarios)
    return show_documents.ShowDocument(
        study=study.study,
        title=study.title,
        question=study.question,
        source=source
        and show_documents.Source(
            authors=source.authors, title=source.title, venue=source.venue, year=source.year
        ),
        backend=study.backend,
        changed=design.changed,
        factors=[
            show_documents.Factor(
                name=name, sets=list(factor.paths), levels=list(factor.levels), baseline=factor.baseline
            )
            for name, factor in study.factors.items()
        ],
        treatments=[treatment.levels for treatment in design.scenarios.treatments],
        responses=[
            show_documents.Response(
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
            show_documents.OrderedTrial(trial=trial.number, block=trial.block, treatment=trial.treatment)
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
