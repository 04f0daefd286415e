"""The picture of a trial's network, with labels for its nodes and links."""

from __future__ import annotations

from collections.abc import Mapping

from nettrial import units
from nettrial.report import numbers
from nettrial.report.picture import Drawing, Ground, Words, on_ground, picture
from nettrial.scenario import Impairment, Link, Node, Scenario, Wlan
from nettrial.study import Place, Study, link_kinds, steps_of
from nettrial.topology import edges_of
from nettrial.topology.scenario_graph import graph_of

MOST_HOSTS = 5000
"""The largest number of hosts of a network that is drawn: pictures of larger ones take tens of megabytes."""
SHAPE = ("network.topology", "network.parameters")
"""The settings on which the network's nodes and links depend."""


def draw(study: Study, scenario: Scenario, levels: Mapping[str, str] | None = None) -> Drawing:
    """Returns the drawing of a scenario's network; for settings that are factors of the study, the labels say
    so instead of giving a level. A path is drawn as a line that starts at the first flow's sender, and
    stations with positions are drawn there. With `levels`, those of the trial's treatment, only a random
    network has a caption that warns of other ones: other levels have drawings of their own."""
    graph = graph_of(scenario)
    varied = _factors(study, scenario)
    said = {
        number: _channel(link.wlan, study) if link.wlan else _link(link, varied[number])
        for number, link in enumerate(scenario.links)
    }
    sets = {path for factor in study.factors.values() for path in factor.paths}
    details = {node.name: _detail(node, sets) for node in scenario.nodes}
    texts = [said[number] for _, _, number in graph.edges(data="number")]
    words, ground = Words(details, texts), _ground(scenario)
    drawing = on_ground(graph, ground, words) if ground else picture(graph, scenario.workload[0].from_, words)
    shape = (study if levels is None else study.settings(dict(levels))).known_network.shape()
    is_random = getattr(shape, "seed", None) is not None
    if is_random or (levels is None and any(path.startswith(SHAPE) for path in sets)):
        drawing.captions.append("The network of one trial; other trials have different networks.")
    return drawing


def _ground(scenario: Scenario) -> Ground | None:
    """Returns the positions of the stations of radio channels; None if they have none."""
    places: dict[str, tuple[float, float]] = {}
    ranges: dict[str, float] = {}
    for link in scenario.links:
        wlan = link.wlan
        for name, own in (wlan.stations or {}).items() if wlan else ():
            if wlan and own.x_m is not None and own.y_m is not None:
                places[name] = (own.x_m, own.y_m)
                ranges[name] = _range_m(wlan, own.tx_power_dbm)
    return Ground(places, ranges) if places else None


def _range_m(wlan: Wlan, own_power_dbm: float | None) -> float:
    """Returns the carrier sense range of a station in metres: the distance at which its received power falls
    to the carrier sense threshold."""
    of_free_space = 40.2 if wlan.band and wlan.band.root == "2.4 GHz" else 46.7
    at_1_m_db = of_free_space if wlan.path_loss_at_1_m_db is None else wlan.path_loss_at_1_m_db
    power_dbm = own_power_dbm if own_power_dbm is not None else wlan.tx_power_dbm
    # A scenario always contains these in full, with the schema's defaults.
    left_db = (power_dbm or 0.0) - at_1_m_db - (wlan.carrier_sense_dbm or 0.0)
    return max(1.0, 10 ** (left_db / (10 * (wlan.path_loss_exponent or 1.0))))


def _factors(study: Study, scenario: Scenario) -> list[tuple[set[str], set[str]]]:
    """Returns the settings of each direction of the links that are factors, such as `rate` and
    `impairment.loss`."""
    steps = [tuple(steps_of(path)) for factor in study.factors.values() for path in factor.paths]
    settings = study.settings({name: factor.levels[0] for name, factor in study.factors.items()})
    graph = settings.graph()
    ends = [(link.ends[0].node, link.ends[1].node) for link in scenario.links]
    if [edge.nodes for edge in edges_of(graph)] != ends:  # the topology is a factor, or random
        graph = graph_of(scenario)
    cables = list(settings.known_network.cables(graph, link_kinds(graph)))

    def varied(places: Mapping[str, Place]) -> set[str]:
        named = ((name, place, path) for name, place in places.items() for path in steps)
        return {
            ".".join((name, *path[len(place) :]))
            for name, place, path in named
            if path[: len(place)] == place
        }

    paths = {id(cable): (varied(cable.places[0]), varied(cable.places[1])) for cable in cables}
    return [paths[id(cable)] for cable in cables]


def _link(link: Link, factors: tuple[set[str], set[str]]) -> tuple[str, str]:
    """Returns a link in words: rate, delay and impairment, by direction if these differ; MTU."""
    mtus = list(dict.fromkeys(interface.mtu.root for interface in link.ends))
    mtu = "MTU: factor" if "mtu" in factors[0] else f"MTU {' / '.join(mtus)}"
    if "tunnel" in factors[0]:
        mtu += ", tunnel: factor"
    elif link.tunnel:
        mtu += f" {'behind' if link.tunnel.root == 'nat64' else 'in a tunnel'} {link.tunnel.root}"
    forward = _direction(link, factors[0])
    reverse = _direction(_reversed(link), factors[1])
    if forward == reverse:
        return forward, mtu
    near, far = (interface.node for interface in link.ends)
    return f"to {far}: {forward}; to {near}: {reverse}", mtu


def _reversed(link: Link) -> Link:
    """Returns the link as frames from its second interface meet it."""
    if link.reverse is None:
        return link
    own = {name: value for name in _OF_DIRECTION if (value := getattr(link.reverse, name)) is not None}
    replaced = {f"{name}_trace": None for name in ("rate", "delay") if name in own}
    return link.model_copy(update={**replaced, **own})


_OF_DIRECTION = ("rate", "rate_trace", "delay", "delay_trace", "impairment")
"""The settings of a direction that labels contain."""


def _direction(link: Link, factors: set[str]) -> str:
    """Returns one direction of a link in words."""
    rate = link.rate.root if link.rate else "not shaped"
    if link.rate_trace:
        rate = f"{rate} on average" if link.rate_trace.repeats_after_ns else f"{rate} at last"
    delay = link.delay.root if link.delay else ""
    if link.delay_trace:
        delay = f"{delay} to {units.DURATION.print(max(link.delay_trace.delays_ns))}"
    parts = [
        "rate: factor" if "rate" in factors else rate,
        "delay: factor" if "delay" in factors else "" if delay in ("", "0 ns") else delay,
        *_impairment(link.impairment, factors),
    ]
    return ", ".join(filter(None, parts))


def _channel(wlan: Wlan, study: Study) -> tuple[str, str]:
    """Returns a radio channel in words: standard, band and width; streams and MCS."""
    paths = {path for factor in study.factors.values() for path in factor.paths}
    said = {
        "standard": f"802.11{wlan.standard.root}" if wlan.standard else "",
        "width_mhz": f"{wlan.width_mhz} MHz",
        "streams": numbers.counted(wlan.streams or 1, "stream"),
        "mcs": f"MCS {wlan.mcs}",
        "band": wlan.band.root if wlan.band else "",
    }

    def described(*names: str) -> str:
        fixed = [said[name] for name in names if f"network.wlan.{name}" not in paths]
        varied = [name.removesuffix("_mhz") for name in names if f"network.wlan.{name}" in paths]
        factors = f"{', '.join(varied)}: {'factor' if len(varied) == 1 else 'factors'}" if varied else ""
        return ", ".join(filter(None, [*fixed, factors]))

    return described("standard", "band", "width_mhz"), described("streams", "mcs")


def _impairment(impairment: Impairment | None, factors: set[str]) -> list[str]:
    """Returns the impairments of a link in words."""
    varied = {path.split(".", 1)[1] for path in factors if path.startswith("impairment.")}
    said = [f"{name}: factor" for name in ("loss", "duplication", "reordering", "jitter") if name in varied]
    if impairment is None:
        return said
    chances = {
        "loss": impairment.loss,
        "duplication": impairment.duplication,
        "reordering": impairment.reordering,
    }
    said += [f"{name} {100 * chance:g}%" for name, chance in chances.items() if chance and name not in varied]
    jitter = impairment.jitter.root if impairment.jitter else "0 ns"
    return said if jitter.startswith("0 ") or "jitter" in varied else [*said, f"jitter {jitter}"]


def _detail(node: Node, sets: set[str]) -> str:
    if node.stack is None:
        return "" if node.name == node.kind.root else node.kind.root
    hosts, settings = (node.name, "every"), ("stack", "congestion_control")
    if {f"hosts.{host}.{setting}" for host in hosts for setting in settings} & sets:
        return "stack: factor"
    return node.stack.name
