"""A chart of each radio channel: the use of its airtime, by treatment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nettrial.report import numbers
from nettrial.report.tables import label
from nettrial.report.vega import SHARES, WIDTH, Chart, beside, layer, layered
from nettrial.scenario import ChannelRecord
from nettrial.store import Trial
from nettrial.study import Study

ROW_HEIGHT = 26
"""The height of a treatment's row in pixels."""
MOST_TREATMENTS = 40
"""The largest number of treatments in a chart; of more, the chart shows the first, and says so."""
PARTS = {
    "data": "#0072b2",
    "errors": "#d55e00",
    "overhead": "#8c6d00",
    "collisions": "#aa5f91",
    "idle": "#8a949e",
}
"""The parts of a channel's time and their colours."""

Row = dict[str, Any]
"""A row of a chart's data."""


def draw(study: Study, trials: Sequence[Trial]) -> list[Chart]:
    """Returns a chart of each radio channel; the list is empty if there are no radio channels."""
    channels: dict[str, dict[str, list[dict[str, float]]]] = {}
    for trial in trials:
        place = label(study, {name: trial.planned.treatment[name] for name in _varying(study)})
        for channel in trial.record.channels or []:
            if channel.elapsed_ps:
                by_treatment = channels.setdefault(channel.access_point, {})
                by_treatment.setdefault(place, []).append(shares(channel))
    order = [
        label(study, {name: levels[name] for name in _varying(study)})
        for levels in _treatments(study, trials)
    ]
    return [
        _chart(name, {place: by_treatment[place] for place in order if place in by_treatment}, number)
        for number, (name, by_treatment) in enumerate(channels.items(), start=1)
    ]


def shares(channel: ChannelRecord) -> dict[str, float]:
    """Returns the share of a channel's time that each of `PARTS` took, in percent, for all stations
    together."""
    airtimes = [station.airtime for station in channel.stations]
    took = {
        "data": sum(airtime.data_ps for airtime in airtimes),
        "errors": sum(airtime.errors_ps for airtime in airtimes),
        "overhead": sum(airtime.overhead_ps for airtime in airtimes),
        "collisions": channel.collisions_ps,
        "idle": channel.idle_ps,
    }
    return {part: 100 * took[part] / channel.elapsed_ps for part in PARTS}


def _varying(study: Study) -> list[str]:
    """Returns the factors with several levels, with that of the rows last, so that neighbouring rows differ
    only in it."""
    names = [*study.layout.columns, study.layout.rows]
    return [name for name in names if len(study.factors[name].levels) > 1]


def _treatments(study: Study, trials: Sequence[Trial]) -> list[dict[str, str]]:
    """Returns the treatments of the trials, in the order of the factors' levels."""
    treatments = {tuple(trial.planned.treatment.items()): trial.planned.treatment for trial in trials}
    names = [*study.layout.columns, study.layout.rows]
    return sorted(
        treatments.values(),
        key=lambda levels: [study.factors[name].levels.index(levels[name]) for name in names],
    )


def _chart(access_point: str, places: dict[str, list[dict[str, float]]], number: int) -> Chart:
    shown = list(places)[:MOST_TREATMENTS]
    rows: list[Row] = []
    for place in shown:
        trials = places[place]
        for at, part in enumerate(PARTS):
            share = sum(each[part] for each in trials) / len(trials)
            said = f"{place}: {part} {numbers.fixed(share, 1)}%, {numbers.counted(len(trials), 'trial')}"
            rows.append({"treatment": place, "group": part, "share": share, "place": at, "said": said})
    colour = {
        "field": "group",
        "type": "nominal",
        "legend": {"title": None, "orient": "bottom", "symbolType": "square"},
        "scale": {"domain": list(PARTS), "range": list(PARTS.values())},
    }
    axis = {"title": None, "domain": False, "ticks": False, "labelLimit": 320}
    down = {"field": "treatment", "type": "nominal", "sort": None, "axis": axis}
    order = {"field": "place", "type": "quantitative"}
    bars = layer("bar", rows, {"x": SHARES, "y": down, "color": colour, "order": order}, height={"band": 0.7})
    title = f"Airtime of the channel of {access_point}, %"
    said = f"{title}: the shares of each treatment's time taken by data that arrived, errors, "
    said += "overhead, collisions, and an idle channel."
    left = len(places) - len(shown)
    note = (
        f"{numbers.counted(left, 'further treatment')} not drawn: the table `channels` lists all."
        if left
        else ""
    )
    spec = layered([bars], title, WIDTH, {"step": ROW_HEIGHT}) | beside(shown)
    colours = tuple(PARTS.values())
    return Chart(f"airtime-{number}", title, said, spec, legend=tuple(PARTS), colours=colours, note=note)
