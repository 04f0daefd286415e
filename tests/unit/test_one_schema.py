"""A study's settings beside the scenario's: the same fields, which take the same values."""

import types
from typing import Annotated, Literal, Union, get_args, get_origin

import pytest
from pydantic import BaseModel, RootModel

from nettrial import scenario, units
from nettrial.study import network, queues, settings, traffic, variates

PAIRS = [
    (network.OffloadSettings, scenario.Offloads),
    (network.BurstSettings, scenario.LossBursts),
    (network.ImpairmentSettings, scenario.Impairment),
    (settings.CostSettings, scenario.HostCost),
    (settings.SocketSettings, scenario.SocketOptions),
    (settings.MeasurementSettings, scenario.Measurement),
    (queues.DropTailSettings, scenario.DropTail),
    (queues.MarkSettings, scenario.Mark),
    (queues.RedSettings, scenario.Red),
    (queues.CoDelSettings, scenario.CoDel),
    (traffic.TransferSettings, scenario.TransferTraffic),
    (traffic.FileTransferSettings, scenario.FileTransferTraffic),
    (traffic.RequestResponseSettings, scenario.RequestResponseTraffic),
    (traffic.OnOffSettings, scenario.OnOff),
    (traffic.PacketsSettings, scenario.PacketsTraffic),
    (traffic.SweepSettings, scenario.SweepTraffic),
    (traffic.ToolSettings, scenario.ToolTraffic),
    (variates.Truncation[units.Size], scenario.SizeTruncation),
    (variates.Truncation[units.Duration], scenario.DurationTruncation),
    (variates.Share[units.Size], scenario.SizeShare),
]
OF_STUDY = {
    units.Rate: "Rate",
    units.Size: "Size",
    units.Duration: "Duration",
    units.Queue: "QueueLimit",
    variates.Constant[units.Size]: "SizeVariate",
    variates.Constant[units.Duration]: "DurationVariate",
    queues.DisciplineSettings: "Discipline",
}
"""The scenario's types of what a study writes as text, or short."""
NAMES = {study: of_scenario.__name__ for study, of_scenario in PAIRS}
BESIDE_THE_SCENARIO = {"MeasurementSettings": {"capture": {"CaptureSettings"}}}
"""What a study asks of the runner, which a scenario does not have."""
QUANTITIES = set(OF_STUDY.values())
VARIATES = (variates.Constant[units.Size], variates.Constant[units.Duration])


def kinds(annotation):
    """The values that a field takes, as a set: of types, of literals, of names of the scenario's models."""
    for known, name in OF_STUDY.items():
        if annotation == known:
            return {name}
    if get_origin(annotation) is Annotated:
        return kinds(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        if variate := [OF_STUDY[part] for part in get_args(annotation) if part in VARIATES]:
            return set(variate)  # with every other distribution, which a test of its own compares
        return set().union(*map(kinds, get_args(annotation))) - {type(None)}
    if get_origin(annotation) is Literal:
        return set(get_args(annotation))
    if get_origin(annotation) is list:
        return {("list", *sorted(map(str, kinds(get_args(annotation)[0]))))}
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if annotation.__name__ in QUANTITIES:
            return {annotation.__name__}
        if issubclass(annotation, RootModel):
            return kinds(annotation.model_fields["root"].annotation)
        return {NAMES.get(annotation, annotation.__name__)}
    return {annotation}


def fields(model):
    found = {}
    for name, field in model.model_fields.items():
        annotation = Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
        found[field.alias or name] = kinds(annotation)
    return found


@pytest.mark.parametrize(("study", "of_scenario"), PAIRS, ids=lambda model: model.__name__)
def test_a_study_declares_what_the_scenario_declares(study, of_scenario):
    assert fields(study) == fields(of_scenario) | BESIDE_THE_SCENARIO.get(study.__name__, {})


@pytest.mark.parametrize(("study", "of_scenario"), PAIRS, ids=lambda model: model.__name__)
def test_what_a_study_must_say_the_scenario_must_have(study, of_scenario):
    """A study may leave out more than a scenario, and never less."""
    theirs = {field.alias or name: field for name, field in of_scenario.model_fields.items()}
    for name, field in study.model_fields.items():
        is_tag = get_origin(field.annotation) is Literal and len(get_args(field.annotation)) == 1
        if field.is_required() and not is_tag:
            assert theirs[field.alias or name].is_required(), name


def test_every_distribution_of_the_engine_can_be_written():
    def named(annotation):
        members = get_args(get_args(annotation)[0])
        return {next(iter(kinds(member.model_fields["distribution"].annotation))) for member in members}

    engine = scenario.SizeVariate.model_fields["root"].annotation
    theirs = {next(iter(kinds(m.model_fields["distribution"].annotation))) for m in get_args(engine)}
    assert named(variates.SizeVariate) == theirs | {"imix"}
    assert named(variates.DurationVariate) == theirs
