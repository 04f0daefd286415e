"""The settings of a study and of the scenario. Their common fields are generated from the engine's schema
(`nettrial/study/base.py`). A study's own models may change the values that a field accepts, but must not add
fields by mistake."""

import inspect

import pytest
from annotated_types import Ge, Le

from nettrial.fields import Strict
from nettrial.study import base, links, network, settings, traffic

BESIDE_THE_SCENARIO = {"MeasurementSettings": {"capture"}}
"""The fields of a study that are for the runner, and that a scenario does not have."""
EXTENDED = {
    model: parent
    for module in (links, network, settings, traffic)
    for model in vars(module).values()
    if inspect.isclass(model) and model.__module__ == module.__name__
    for parent in model.__bases__
    if parent.__module__ == base.__name__
}


def test_a_study_has_models_that_extend_the_scenario_s():
    names = {model.__name__ for model in EXTENDED}
    assert {"MeasurementSettings", "ImpairmentSettings", "SweepSettings", "PacketsSettings"} <= names


@pytest.mark.parametrize(("model", "parent"), EXTENDED.items(), ids=lambda model: model.__name__)
def test_a_model_that_extends_the_scenario_s_adds_no_field(model, parent):
    further = model.model_fields.keys() - parent.model_fields.keys()
    assert further == BESIDE_THE_SCENARIO.get(model.__name__, set())


@pytest.mark.parametrize(("model", "parent"), EXTENDED.items(), ids=lambda model: model.__name__)
def test_what_a_study_must_say_the_scenario_must_have(model, parent):
    """A field that a study requires must also be required in a scenario."""
    for name, field in model.model_fields.items():
        if field.is_required():
            assert parent.model_fields[name].is_required(), name


@pytest.mark.parametrize(("model", "parent"), EXTENDED.items(), ids=lambda model: model.__name__)
def test_a_study_takes_no_number_that_the_scenario_refuses(model, parent):
    for name, field in model.model_fields.items():
        for limit in parent.model_fields[name].metadata if name in parent.model_fields else ():
            if isinstance(limit, Ge):
                assert next(own.ge for own in field.metadata if isinstance(own, Ge)) >= limit.ge
            if isinstance(limit, Le):
                assert next(own.le for own in field.metadata if isinstance(own, Le)) <= limit.le


def test_the_generated_models_refuse_unknown_fields_as_all_that_users_write():
    models = [
        kind for kind in vars(base).values() if inspect.isclass(kind) and kind.__module__ == base.__name__
    ]
    assert len(models) > 20
    assert all(issubclass(model, Strict) for model in models)
