"""The conclusion of a run in sentences, and its limits."""

from collections.abc import Sequence

from nettrial.analysis import Contrast, Finding, baseline, clocks_are_known
from nettrial.report import change_words, numbers, response_warnings
from nettrial.report.content import Report
from nettrial.report.tables import are_machines, label
from nettrial.scenario import Figure
from nettrial.study import HostCost, Study
from nettrial.study.system_names import Precision

MOST_LEVELS = 3
"""The largest number of levels of which the answer gives each change; of more, it gives the range."""
MOST_RESPONSES = 3
"""The largest number of responses in the answer; further ones are only counted."""
MOST_ROWS = 60
"""The largest number of rows of the answer's chart: changes, and headings of levels."""


def extreme_level(study: Study) -> str | None:
    """Returns the last level of the rows' factor that is not the baseline; None if there is none, or if it is
    only one of many levels that are not numbers, among which the last is not special."""
    others = [level for level in study.factors[study.layout.rows].levels if level != baseline(study)]
    if len(others) > MOST_LEVELS and not all(level[:1].isdigit() for level in others):
        return None
    return others[-1] if others else None


def answer(report: Report) -> str:
    """Returns the answer to the study's question in a few sentences: estimates with their intervals."""
    return " ".join(sentences(report))


def sentences(report: Report) -> list[str]:
    """Returns the answer: a sentence for each level or, if there are many levels, for each response, and one
    about the warnings."""
    study = report.run.study
    if not report.trials:
        return ["No trial has finished yet: nothing can be concluded."]
    contrasts = report.answers.headline
    if not contrasts:
        alone = "There is only one level, so there is nothing to compare it with."
        return [*_means(report), alone, *_harm(report)]
    known = [
        each for each in contrasts if each.change.percent is not None or each.change.difference is not None
    ]
    if not known:
        return ["No response has a value at both levels yet: nothing can be concluded."]
    if study.headline is not None and study.headline.pairs:
        said = "; ".join(change_words.compared(each) for each in known)
        answers = [f"{said} (95% intervals)."]
    else:
        levels = list(dict.fromkeys(each.subject for each in contrasts))
        answers = (
            [_level(report, known, subject) for subject in dict.fromkeys(each.subject for each in known)]
            if len(levels) <= MOST_LEVELS
            else _many_levels(report, contrasts, len(levels))
        )
    return [*answers, *_harm(report)]


def _means(report: Report) -> list[str]:
    """Returns the means of all responses of a run with one treatment, as a sentence."""
    said = [
        f"{response.title} {numbers.with_unit(numbers.with_half_width(cell), response.unit)}"
        for response, cell in (
            (each.response, cell)
            for each in report.summary.responses
            for cell in (each.cells if len(each.cells) == 1 else ())
        )
        if cell.mean is not None
    ]
    return [f"{'; '.join(said)} (means ± half-widths of their 95% intervals)."] if said else []


def _harm(report: Report) -> list[str]:
    """Returns a sentence about the warnings; none without a warning."""
    harm = response_warnings.in_one_line(report.warnings, report.warned_trials, len(report.trials))
    return [f"{harm[0].upper()}{harm[1:]}."] if harm else []


def drawn_levels(contrasts: Sequence[Contrast]) -> list[str]:
    """Returns the levels in the answer's chart: those with an interval in percent or, if that had too many
    rows, some that are evenly spread over their order, including the first and the last."""
    drawn = [each for each in contrasts if each.change.relative]
    levels = list(dict.fromkeys(each.subject for each in drawn))
    responses = len({each.response.name for each in drawn})
    most = max(2, MOST_ROWS // (responses + 1 if responses > 1 else 1))
    if len(levels) <= most:
        return levels
    return [levels[round(place * (len(levels) - 1) / (most - 1))] for place in range(most)]


def _level(report: Report, contrasts: Sequence[Contrast], subject: str) -> str:
    """Returns a sentence about the changes that a level makes."""
    of_it = [each for each in contrasts if each.subject == subject]
    study, places = report.run.study, {tuple(each.at.items()) for each in of_it[:MOST_RESPONSES]}
    is_one_place = len(places) == 1 and bool(of_it[0].at)
    told = "; ".join(change_words.change(study, each, not is_one_place) for each in of_it[:MOST_RESPONSES])
    more = len(of_it) - MOST_RESPONSES
    rest = f"; {more} more below" if more > 0 else ""
    over = "" if all(each.at for each in of_it) else _over(report, of_it[0])
    if is_one_place:
        over = f", at {label(study, of_it[0].at)}"
    return f"With {subject} instead of {of_it[0].against}{over}: {told}{rest}{_sure(of_it)}."


def _many_levels(report: Report, contrasts: Sequence[Contrast], levels: int) -> list[str]:
    """Returns a sentence about the comparison with many levels, and one about each response."""
    first = contrasts[0]
    title = report.run.study.factors[_finding(report, first).factor].title
    compared = (
        f"{levels} levels of {title} compared with the baseline ({first.against}){_over(report, first)}"
    )
    answers = [f"{compared}{_sure(contrasts)}:"]
    responses = list(dict.fromkeys(each.response.name for each in contrasts))
    for name in responses[:MOST_RESPONSES]:
        of_it = [each for each in contrasts if each.response.name == name]
        said = change_words.changes(of_it)
        colon = "" if said.startswith(change_words.VERBS) else ":"
        answers.append(f"{of_it[0].response.title}{colon} {said}.")
    more = len(responses) - MOST_RESPONSES
    if more > 0:
        answers.append(f"The tables have {numbers.counted(more, 'more response')}.")
    return answers


def _finding(report: Report, contrast: Contrast) -> Finding:
    """Returns the finding to which a change at a level belongs."""
    factors = report.run.study.factors
    return next(
        finding
        for finding in report.answers.findings[contrast.response.name]
        if contrast.subject in [f"{factors[finding.factor].title} {each.level}" for each in finding.effects]
    )


def _over(report: Report, contrast: Contrast) -> str:
    """Returns the factors over which a change is averaged, in words; empty if there are none."""
    others = [_inner(report.run.study.factors[name].title) for name in _finding(report, contrast).others]
    return f", averaged over {numbers.listed(others)}" if others else ""


def _sure(contrasts: Sequence[Contrast]) -> str:
    """Returns the confidence of the changes' intervals, in words; empty if there are none."""
    return " (95% intervals)" if any(each.change.stated for each in contrasts) else ""


def _inner(title: str) -> str:
    """Returns a title in the form that it has within a sentence."""
    return title if title[:2].isupper() else title[0].lower() + title[1:]


def limits(report: Report) -> list[str]:
    """Returns the limits of the run's conclusions with their reasons, in a few sentences each."""
    study = report.run.study
    reservations = []
    missing = len(report.run.plan) - len(report.trials)
    if missing:
        reservations.append(
            f"{numbers.counted(missing, 'trial')} of the plan did not finish. The figures are based on those "
            "that did; a change uses only the blocks in which both of its values exist."
        )
    further = [
        study.factors[name].title
        for name in study.factors
        if report.published
        and all(name not in row.levels for row in report.published)
        and not are_machines(study.factors[name])
    ]
    alone = _without_counterpart(report)
    if further:
        reservations.append(
            f"The published figures have no level of {numbers.listed(further)}, which this run varies. "
            "Each is compared at every level of it, and never with an average."
        )
    reservations += _systems(report)
    if alone:
        reservations.append(
            f"The published figures also include {alone}. Nothing in this run corresponds to that, so "
            "this run neither confirms nor contradicts those figures."
        )
    if report.published:
        reservations.append(
            "The published figures were measured on other hardware, and their source prints "
            f"{_printed(report)}. "
            "Compare the sign and the size of changes rather than values."
        )
    if report.published and "--set" in report.run.command:
        reservations.append(
            "The study was run with changed levels or settings (--set). Counterparts are matched by their "
            "levels only: any other change makes the published figures less comparable."
        )
    if study.capabilities.shared_kernel:
        reservations.append(
            "All hosts of the lab are on one machine. Those with its kernel's TCP/IP differ in their TCP "
            "settings, not in operating system, network card or driver; interrupt coalescing and hardware "
            "offloads play no part."
        )
        if clocks_are_known(report.run) is False:
            reservations.append(
                "The kernel does not report the CPUs' clock rates here, as in most virtual machines. Only "
                "drift of the results would reveal that they changed."
            )
    if study.capabilities.modelled_hosts and Figure("round_trip_times") not in study.capabilities.figures:
        reservations.append(
            "Rates were computed from the network alone: each connection has what its congestion control "
            "would take once nothing changes any more. Start-up, losses, round-trip times and hosts have no "
            "part in it, and intervals say nothing of how far the model is from a network."
        )
    elif study.capabilities.modelled_hosts:
        reservations.append(
            "Hosts, links and queues were simulated, packet by packet. Trials of a treatment differ only in "
            "the random numbers of their blocks: neither their order nor other work of the machine matters, "
            "equal values are exact for the model, and intervals do not express the difference between the "
            "model and a real network."
        )
        if any(_costs_nothing(study, host) for host in study.hosts):
            reservations.append(
                "Simulated hosts take no time to process a packet unless they have a `cost`: these results "
                "contain no limit set by a CPU."
            )
    for place in report.placements:
        if place.shared_with != "nothing":
            reservations.append(
                f"In {numbers.counted(place.trials, 'trial')}, work of {place.shared_with} ran on "
                f"{place.host}'s CPU and is part of that host's CPU figures."
            )
    blocks = len({trial.block for trial in report.trials})
    if 0 < blocks < 10:
        reservations.append(
            f"A sample of {numbers.counted(blocks, 'block')} is small. The intervals allow for that "
            "only if the trials' values (for a change: the logarithms of ratios) are close to normal. So "
            "few trials hardly show whether they are: for values as skewed as a log-normal distribution with "
            "a deviation of the logarithm of 1, the interval contains the true mean in 82% to 89% of runs "
            "instead of 95%."
        )
    if report.summary.comparisons > 1:
        by_chance = report.summary.comparisons * 0.05
        misses = f"about {by_chance:.0f}" if by_chance >= 1 else "on average less than one"
        reservations.append(
            f"The tables contain {report.summary.comparisons} intervals of changes, each with its own "
            "confidence of 95%. If "
            f"all were independent, {misses} would miss the true value by chance. The sentences use wider "
            "intervals, which hold together for all changes of one response by one factor (Bonferroni)."
        )
    return reservations


def _printed(report: Report) -> str:
    """Returns a description of the uncertainty that the source of the published figures states."""
    return "standard deviations but no intervals" if any(r.sd for r in report.published) else "no intervals"


def _costs_nothing(study: Study, host: str) -> bool:
    return study.hosts[host].cost == HostCost()


_MATCHED = {
    Precision.EXACT: "exactly",
    Precision.FAMILY: "by its family only",
}
"""The precision with which systems correspond, in words."""


def _systems(report: Report) -> list[str]:
    """Returns a sentence for each operating system of the source about the hosts here that have it."""
    factors = report.run.study.factors
    answers = report.answers
    named = [each.systems for each in answers.agreement] + [each.systems for each in answers.verdicts]
    matches = dict.fromkeys(match for systems in named for match in systems)
    titles: dict[tuple[str, Precision, tuple[str, ...]], list[str]] = {}
    for match in matches:
        if match.reported:
            key = (match.level, match.precision, match.reported)
            titles.setdefault(key, []).append(factors[match.factor].title)
    return [
        f"The source's {level} is matched {_MATCHED[precision]}, as {numbers.listed(of)}: the hosts report "
        f"{numbers.listed(reported)}."
        for (level, precision, reported), of in titles.items()
    ]


def _without_counterpart(report: Report) -> str:
    """Returns the published levels without a counterpart here, in words: "windows as sender and receiver"."""
    factors = report.run.study.factors
    matched = {pair for each in report.answers.agreement if each.cell for pair in each.row.levels.items()}
    alone: dict[str, list[str]] = {}
    for name, factor in factors.items():
        for level in dict.fromkeys(row.levels[name] for row in report.published if name in row.levels):
            if (name, level) not in matched:
                alone.setdefault(level, []).append(factor.title)
    phrases = [f"{level} as {numbers.listed(titles)}" for level, titles in alone.items()]
    return numbers.listed(phrases) if phrases else ""
