"""Registries of named objects, and the suggestions for unknown names."""

import pytest

from nettrial.backends import BACKENDS
from nettrial.metrics import METRICS
from nettrial.registry import Registry, UnknownName
from nettrial.stacks import STACKS
from nettrial.topology import TOPOLOGIES


def test_refuses_a_name_that_is_taken():
    registry = Registry("stack")
    registry.add("linux", 1)
    with pytest.raises(ValueError, match="stack 'linux' is registered twice"):
        registry.add("linux", 2)
    assert registry["linux"] == 1


def test_lists_the_names_on_a_miss():
    registry = Registry("stack")
    registry.add("linux-cubic", 1)
    registry.add("classic", 2)
    with pytest.raises(UnknownName, match="unknown stack 'linux-cubik'") as caught:
        registry["linux-cubik"]
    assert (caught.value.expected, caught.value.hint) == (
        "linux-cubic, classic",
        "did you mean 'linux-cubic'?",
    )
    with pytest.raises(UnknownName) as caught:
        registry["zzz"]
    assert caught.value.hint == ""


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("throughput", "goodput"),
        ("latency", "rtt"),
        ("drops", "queue_drops"),
        ("Bandwidth", "goodput"),
        ("Delay", "owd"),
    ],
)
def test_a_synonym_of_a_metric_has_a_hint(name, meant):
    with pytest.raises(UnknownName) as caught:
        METRICS[name]
    assert caught.value.hint == f"did you mean {meant!r}?"


@pytest.mark.parametrize(
    "registry", [BACKENDS, METRICS, STACKS, TOPOLOGIES], ids=lambda registry: registry.kind
)
def test_every_entry_says_what_it_is(registry):
    assert len(registry) > 0
    for name in registry:
        title = registry[name].title
        assert title
        assert title == title.strip()
        assert name == name.strip().lower()
