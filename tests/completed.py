"""Completes the models that most commands read, before commands are forked from this process.

Pydantic makes a model's validator when it is first used, which takes up to half of the CPU time of a short
command."""

from nettrial import scenario
from nettrial.study import Study
from nettrial.study.settings import Settings

COMPLETED = (
    *(Study, Settings, scenario.Scenario, scenario.Record, scenario.Environment, scenario.Flow),
    *(scenario.Request, scenario.PreflightRequest, scenario.CheckRequest, scenario.RunRequest),
    *(scenario.Event, scenario.Measure),
)
"""The models; those that they consist of are completed where a command uses them by themselves."""

for model in COMPLETED:
    model.model_rebuild()
