"""The conclusion of a run in a sentence, and what can't be concluded."""

from nettrial.analysis import Change, baseline, clocks_are_known
from nettrial.report import numbers, tables
from nettrial.report.content import Report
from nettrial.study import HostCost, Study


def extreme_level(report: Report) -> str | None:
    """The last level of the rows' factor that is not the baseline."""
    study = report.run.study
    others = [x for x in study.factors[study.layout.rows].levels if x != baseline(study)]
    return others[-1] if others else None


def answer(report: Report) -> str:
    """Returns what the last level of the rows' factor changes, for one group of columns, in a sentence.

    The group is the first that has a published counterpart, else the first; the responses are those
    with published figures, else all.
    """
    study = report.run.study
    level = extreme_level(report)
    if not report.trials:
        return "No trial has finished: there is nothing to conclude yet."
    if level is None:
        return "There is one level only, so nothing to compare it with."
    groups = tables.combinations(study)
    with_counterpart = [g for g in groups if _has_counterpart(report, g)]
    group = (with_counterpart or groups)[0]
    phrases = []
    compared = [section for section in report.sections if section.published]
    for section in compared or report.sections:
        cell = section.response.cell({**group, study.layout.rows: level})
        if cell and cell.change and cell.change.percent is not None:
            phrases.append(_phrase(section.title, cell.change))
    if not phrases:
        return "No response has a value at both levels yet: there is nothing to conclude."
    factor = study.factors[study.layout.rows].title
    where = f", {tables.label(group)}" if group else ""
    said = f"{factor} {level} instead of {baseline(study)}{where}: {'; '.join(phrases)} (95% intervals)."
    if report.warned_trials:
        trials = f"{report.warned_trials} of {numbers.counted(len(report.trials), 'trial')}"
        said += f" With warnings in {trials}: see there what they do to these figures."
    return said


def _has_counterpart(report: Report, group: dict[str, str]) -> bool:
    return any(row.counterpart and group.items() <= row.counterpart.items() for row in report.published)


def _phrase(title: str, change: Change) -> str:
    name = title if title[:2].isupper() else title[0].lower() + title[1:]
    digits = numbers.percent_decimals([change])
    if change.interval is None:
        assert change.percent is not None
        return f"{name} {numbers.signed(change.percent, digits)}% (one block: no interval)"
    if numbers.unclear(change.interval):
        return f"{name}: too few values to tell (an interval up to a hundredfold)"
    low, high, narrow = change.interval.low, change.interval.high, numbers.narrow(change.interval)
    if low <= 0 <= high:
        ends = [numbers.signed(bound, digits) for bound in (low, high)]
        span = f"{ends[0]} to {ends[1]}%" if ends[0] != ends[1] else f"{ends[0]}%, {narrow}"
        return f"{name}: no change shown ({span})"
    near, far = (numbers.fixed(bound, digits) for bound in sorted((abs(low), abs(high))))
    word = "higher" if low > 0 else "lower"
    return f"{name} {near} to {far}% {word}" if near != far else f"{name} {near}% {word} ({narrow})"


def limits(report: Report) -> list[str]:
    """Returns what can't be concluded from the run, and why; a sentence or two each."""
    study = report.run.study
    found = []
    missing = len(report.run.plan) - len(report.trials)
    if missing:
        found.append(
            f"{numbers.counted(missing, 'trial')} of the plan did not finish. Figures rest on those that "
            "did; a change uses only the blocks that have both of its values."
        )
    alone = _without_counterpart(report)
    if alone:
        found.append(
            f"The published figures also have {alone}. Nothing in this run corresponds to that, so "
            "nothing here confirms or contradicts those figures."
        )
    if report.published:
        found.append(
            f"The published figures come from other hardware, and their source prints {_printed(report)}. "
            "Compare the sign and the size of changes rather than values."
        )
    if report.published and "--set" in report.run.command:
        found.append(
            "The study was run with levels or settings of its own (--set). A counterpart is one by its "
            "levels only: whatever else was changed makes the published figures less comparable."
        )
    if study.capabilities.shared_kernel:
        found.append(
            "All hosts of the lab share one kernel on one machine. They differ in their TCP settings, not in "
            "operating system, network card or driver; no interrupt coalescing or card offload takes part."
        )
        if clocks_are_known(report.run) is False:
            found.append(
                "The kernel does not tell the CPUs' clocks here, as in most virtual machines. Whether "
                "they kept still can be told from drift alone."
            )
    if study.capabilities.modelled_hosts:
        found.append(
            "Hosts, links and queues were simulated, packet by packet. Trials of a treatment differ by the "
            "random numbers of their blocks alone: neither their order nor what else the machine did can "
            "matter, equal values are exact for the model, and intervals say nothing of how far the model is "
            "from a network."
        )
        if any(_costs_nothing(study, host) for host in study.hosts):
            found.append(
                "Simulated hosts take no time for a packet unless their `cost` says so: nothing here tells "
                "what a CPU could do."
            )
    for place in report.placements:
        if place.shared_with != "nothing":
            found.append(
                f"In {numbers.counted(place.trials, 'trial')} the work of {place.shared_with} ran on "
                f"{place.host}'s CPU: that host's CPU figures include it."
            )
    blocks = len({trial.planned.block for trial in report.trials})
    if 0 < blocks < 10:
        found.append(
            f"A sample of {numbers.counted(blocks, 'block')} is small. The intervals allow for that "
            "only where the trials' values (for a change: the logarithms of ratios) are close to normal. So "
            "few trials hardly show whether they are: of values as skewed as a log-normal distribution with "
            "a deviation of the logarithm of 1, the interval of a mean holds the truth in 82% to 89% instead "
            "of 95%."
        )
    if report.summary.comparisons > 1:
        by_chance = report.summary.comparisons * 0.05
        misses = f"about {by_chance:.0f}" if by_chance >= 1 else "on average less than one"
        found.append(
            f"The tables have {report.summary.comparisons} intervals of changes, each on its own at 95%. If "
            f"all were independent, {misses} would miss by chance alone. The sentences rest on wider "
            "intervals, which hold together for all changes of one response by one factor (Bonferroni)."
        )
    return found


def _printed(report: Report) -> str:
    """Returns what the published figures' source says of their uncertainty."""
    return "standard deviations but no intervals" if any(r.sd for r in report.published) else "no intervals"


def _costs_nothing(study: Study, host: str) -> bool:
    return study.hosts[host].cost == HostCost()


def _without_counterpart(report: Report) -> str:
    """The published levels that nothing here corresponds to: "windows as sender and receiver"."""
    factors = report.run.study.factors
    matched = {pair for row in report.published if row.counterpart for pair in row.levels.items()}
    alone: dict[str, list[str]] = {}
    for name, factor in factors.items():
        for level in dict.fromkeys(row.levels[name] for row in report.published if name in row.levels):
            if (name, level) not in matched:
                alone.setdefault(level, []).append(factor.title)
    phrases = [f"{level} as {numbers.listed(titles)}" for level, titles in alone.items()]
    return numbers.listed(phrases) if phrases else ""
