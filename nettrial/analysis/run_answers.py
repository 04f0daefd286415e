"""All results of a run's analysis beyond its summary, gathered once for terminal, page and tables."""

from __future__ import annotations

from dataclasses import dataclass

from nettrial.analysis.analysis_of_variance import Variation, variation
from nettrial.analysis.apparatus import changed
from nettrial.analysis.clock_rates import clocks
from nettrial.analysis.declared_precision import Precision, precisions
from nettrial.analysis.headline_contrasts import Contrast, headline
from nettrial.analysis.level_effects import Finding, findings
from nettrial.analysis.noise_warnings import noise
from nettrial.analysis.published_figures import Agreement, agreement
from nettrial.analysis.run_order import Order, orders
from nettrial.analysis.study_verdicts import Verdict, verdicts
from nettrial.analysis.summary import Summary
from nettrial.analysis.warning_groups import WarningGroup, warnings
from nettrial.store import Run


@dataclass(frozen=True)
class Answers:
    """The results of a run; results for each response are stored by the response's name."""

    findings: dict[str, tuple[Finding, ...]]
    """The effects of each factor, the rows' factor first."""
    headline: tuple[Contrast, ...]
    """The changes that answer the study's question."""
    variations: dict[str, Variation]
    """The share of the variation that each factor explains."""
    orders: dict[str, Order]
    """The residuals in run order, with tests for the effect of the order."""
    noise: tuple[WarningGroup, ...]
    """The warnings derived from order and values, in the form that `warnings` gives those of records."""
    warnings: tuple[WarningGroup, ...]
    """All warnings, those of records and those derived from the run, the gravest first."""
    agreement: tuple[Agreement, ...]
    """Every published figure with its measured counterpart; empty if the study has no published figures."""
    verdicts: tuple[Verdict, ...]
    """The verdicts on the source's conclusions; empty if the study has none."""
    precisions: tuple[Precision, ...]
    """The precision of each response that declares one."""


def answers(run: Run, summary: Summary) -> Answers:
    """Analyses a run's summary; raises BadInput for published figures that can't be read."""
    run_orders = orders(summary)
    derived = tuple(noise(summary, run_orders, run.study.capabilities.deterministic))
    seen = [*warnings(run), *clocks(run), *changed(run), *derived]
    groups = sorted(seen, key=lambda each: (-each.effect, -each.trials))
    changes = {response.response.name: findings(run.study, response) for response in summary.responses}
    return Answers(
        findings=changes,
        headline=headline(run.study, summary, changes),
        variations={response.response.name: variation(run.study, response) for response in summary.responses},
        orders={each.response.name: each for each in run_orders},
        noise=derived,
        warnings=tuple(groups),
        agreement=tuple(agreement(run, summary)),
        verdicts=verdicts(run.study, summary, groups),
        precisions=precisions(summary),
    )
