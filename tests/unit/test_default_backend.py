"""The backend of a study that names none."""

import pytest

from nettrial.running import default_backend
from nettrial.running.default_backend import LAB, WITHOUT_KERNEL, BackendChoice, choose
from nettrial.running.study_design import Scenarios
from nettrial.study import load


def test_a_study_whose_answer_needs_cpu_figures_stays_in_the_lab() -> None:
    study = load("jumbo-ipv6")
    assert not study.names_backend
    assert study.headline is not None
    absent = default_backend._absent(study)
    assert [each.name for each in absent if each.name.startswith("cpu")] == ["cpu_sender", "cpu_receiver"]
    assert default_backend._answers(study, absent)
    only = study.model_copy(update={"responses": absent, "headline": None})
    assert not default_backend._answers(only, absent)
    asked = study.headline.model_copy(update={"responses": ["cpu_sender"]})
    assert not default_backend._answers(study.model_copy(update={"headline": asked}), absent)


def test_a_study_without_rates_stays_in_the_lab() -> None:
    study = load("mtu-packet-size")
    assert choose(study, Scenarios(study)) == BackendChoice(LAB)


def test_the_first_run_says_how_to_get_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETTRIAL_KERNEL", "")
    study = load("jumbo-ipv6")
    assert choose(study, Scenarios(study)) == BackendChoice(LAB, WITHOUT_KERNEL)
