"""`nettrial draw`: a picture and the properties of a topology, or of a study's network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from nettrial.cli import READING
from nettrial.cli.console import print_table, say
from nettrial.cli.documents import base as documents
from nettrial.cli.documents import draw as draw_documents
from nettrial.errors import BadInput, Fault
from nettrial.fields import Wrong, as_value
from nettrial.registry import UnknownName
from nettrial.study.catalogue import shipped
from nettrial.topology import TOPOLOGIES, Parameters, Topology

if TYPE_CHECKING:  # slow to load
    import networkx as nx

    from nettrial.report.picture import Drawing
    from nettrial.topology.facts import Bisection, Facts, Paths

SUFFIXES = (".svg", ".png", ".html")
"""The suffixes of files that can be written."""
HOSTS_DRAWN = 4
"""The number of hosts drawn for a topology that connects any number of hosts of a study."""


def draw(name: str, sets: Sequence[str], out: Path | None, as_json: bool) -> None:
    """Prints the properties of a topology, or of the network of a study's first treatment, and draws its
    picture; raises BadInput."""
    if out is not None and out.suffix not in SUFFIXES:
        raise BadInput(READING, "--out", str(out), f"a name that ends in {', '.join(SUFFIXES)}")
    if name not in TOPOLOGIES and (Path(name).exists() or name in shipped()):
        _draw_study(name, sets, out, as_json)
        return
    topology = _topology(name)
    parameters = _parameters(name, topology, sets)
    graph = topology.graph(parameters, _hosts(topology))

    asked = ", ".join(sets)
    title = f"{topology.title}: {asked}" if asked else topology.title
    given = parameters.model_dump(include=set(topology.settable()), exclude_none=True)
    _show(
        graph,
        None,
        out,
        (name, title),
        {"topology": name, "parameters": given, "study": None} if as_json else None,
    )


def _draw_study(name: str, sets: Sequence[str], out: Path | None, as_json: bool) -> None:
    """Does the same for the network of a study's first treatment, whose stations are drawn at their
    positions."""
    from nettrial.design import scenario_of, treatments
    from nettrial.report import topology as network
    from nettrial.study import catalogue
    from nettrial.topology.scenario_graph import graph_of

    if sets:
        raise BadInput(READING, "--set", sets[0], "no --set with a study: the settings are in its file")
    study = catalogue.load(name)
    scenario = scenario_of(study, treatments(study)[0].levels)
    drawing = network.draw(study, scenario)
    graph = graph_of(scenario)
    _show(
        graph,
        drawing,
        out,
        (name, study.title),
        {"topology": None, "parameters": None, "study": study.study} if as_json else None,
    )
    for caption in drawing.captions:
        say(caption)


def _show(
    graph: nx.MultiGraph,
    drawing: Drawing | None,
    out: Path | None,
    called: tuple[str, str],
    document: dict[str, Any] | None,
) -> None:
    """Writes the picture of a graph, or the given drawing, and prints the graph's properties, together with
    `document` if the output is JSON; `called` is the name and the title."""
    # Imported only when needed: their libraries are slow to load.
    from nettrial.topology.facts import facts_of

    facts = facts_of(graph)
    rows = in_words(facts)
    if out is not None:
        from nettrial.report import network_page, pages
        from nettrial.report.picture import picture

        drawing = drawing or picture(graph)
        if out.suffix == ".html":
            content = network_page.as_page(*called, drawing, facts, rows).encode()
        else:
            svg = network_page.as_drawn(drawing)
            content = network_page.in_pixels(svg) if out.suffix == ".png" else svg.encode()
        pages.write(out, content, "writing the picture")
        say(f"picture: {out}")
    if document is not None:
        documents.show(draw_documents.DrawDocument.model_validate({**document, **_plain(facts)}))
    else:
        print_table(["fact", "value"], rows)


def _topology(name: str) -> Topology:
    try:
        return TOPOLOGIES[name]
    except UnknownName as unknown:
        raise BadInput(READING, "TOPOLOGY", str(unknown), unknown.expected, unknown.hint) from None


def _hosts(topology: Topology) -> list[str]:
    if topology.joins is None:
        return []
    return [f"host-{number + 1}" for number in range(topology.joins[1] or HOSTS_DRAWN)]


def _parameters(name: str, topology: Topology, sets: Sequence[str]) -> Parameters:
    """Returns the parameters with the values of `--set`; raises BadInput."""
    given: dict[str, Any] = {}
    for text in sets:
        parameter, equals, value = text.partition("=")
        if not equals or not parameter or not value:
            raise BadInput(READING, "--set", text, "NAME=VALUE", "such as --set switches=45")
        if parameter in given:
            raise BadInput(READING, "--set", f"{parameter} is set twice", "each name once")
        given[parameter] = as_value(value)
    try:
        return topology.parameters.model_validate(given, context={"folder": Path.cwd(), "is_of_study": False})
    except ValidationError as error:
        faults = [_fault(name, topology, given, wrong) for wrong in Wrong.of(error)]
        raise BadInput.listing(READING, faults) from None


def _fault(name: str, topology: Topology, given: dict[str, Any], wrong: Wrong) -> Fault:
    parameter = str(wrong.place[0]) if wrong.place else ""
    if wrong.unknown_field:
        expected = ", ".join(topology.settable()) or "no parameters"
        what = f"not a parameter of the topology {name}"
        return Fault(f"--set {parameter}={given[parameter]}", what, expected, wrong.hint)
    if parameter not in given:
        expected = wrong.expected or f"--set {parameter}=…: the topology {name} requires it"
        return Fault(f"--set {parameter}", wrong.value, expected, wrong.hint)
    return Fault(f"--set {parameter}={given[parameter]}", wrong.value, wrong.expected, wrong.hint)


def _plain(facts: Facts) -> dict[str, Any]:
    """Returns the properties in the document's form."""
    made = asdict(facts)
    for between in ("between_hosts", "between_switches"):
        paths: Paths | None = getattr(facts, between)
        if paths:
            made[between] |= {"mean": paths.mean, "diameter": paths.diameter}
    return made


def in_words(facts: Facts) -> list[tuple[str, str]]:
    """Returns the properties in words, each with its name."""
    rows = [
        ("hosts", str(facts.hosts)),
        ("switches", str(facts.switches)),
        ("links of hosts", str(facts.host_links)),
        ("links between switches", str(facts.fabric_links)),
    ]
    if facts.fabric_links:
        fewest, most = facts.fewest_links, facts.most_links
        rows.append(("links of a switch to others", f"{fewest}" if fewest == most else f"{fewest} to {most}"))
    for what, paths in (("hosts", facts.between_hosts), ("switches", facts.between_switches)):
        if paths:
            rows.append((f"path between {what}, mean", f"{paths.mean:.2f} links"))
            rows.append((f"path between {what}, longest (diameter)", _links(paths.diameter)))
            rows.append((f"path between {what}, pairs by links", _shares(paths)))
    if facts.equal_paths:
        equal = facts.equal_paths
        several = f"{100 * equal.several:.3g}% of pairs have several, at most {equal.most}"
        rows.append(("shortest paths between two switches, mean", f"{equal.mean:.2f} ({several})"))
    if facts.bisection:
        rows.append(("bisection", _bisection(facts.bisection)))
    if facts.spectrum:
        spectrum = facts.spectrum
        second = f"second eigenvalue {spectrum.second:.2f}; 2√(d − 1) is {spectrum.bound:.2f}"
        rows.append(("spectral gap", f"{spectrum.gap:.2f} ({second})"))
    return rows


def _links(count: int) -> str:
    return f"{count} link{'' if count == 1 else 's'}"


def _shares(paths: Paths) -> str:
    total = sum(paths.pairs.values())
    return ", ".join(f"{length}: {100 * count / total:.3g}%" for length, count in paths.pairs.items())


def _bisection(bisection: Bisection) -> str:
    least, most = bisection.at_least, bisection.at_most
    between = _links(most) if least == most else f"{least} to {most} links"
    return f"{between}; at most {bisection.per_host:.2f} for each host of a half"
