"""Routing in a study, and in the scenario that follows from it."""

import pytest

from nettrial.design import scenario_of
from nettrial.errors import BadInput
from nettrial.study import load

POLICY = "network.routing.policy"


def routing_of(settings, block=1):
    study = load("jumbo-ipv6").with_overrides(settings)
    levels = {name: factor.levels[0] for name, factor in study.factors.items()}
    return scenario_of(study, levels, block).routing.model_dump(exclude_none=True)


def test_the_shortest_path_is_taken_where_nothing_is_said():
    assert routing_of({}) == {"policy": "shortest_path"}


def test_each_policy_has_what_it_needs_and_no_more():
    both = {"network.routing.seed": "7", "network.routing.paths": "4"}
    ecmp = routing_of({POLICY: "ecmp", **both})
    assert (set(ecmp), ecmp["policy"]) == ({"policy", "seed"}, "ecmp")
    assert routing_of({POLICY: "k_shortest_paths", **both}) == {"policy": "k_shortest_paths", "paths": 4}
    assert routing_of({POLICY: "spanning_tree", **both}) == {"policy": "spanning_tree"}


def test_each_block_has_another_seed():
    assert len({routing_of({POLICY: "ecmp"}, block)["seed"] for block in (1, 2, 3)}) == 3


def test_the_policy_can_be_a_factor():
    made = load("jumbo-ipv6").with_overrides({POLICY: "shortest_path,k_shortest_paths"})
    assert made.factors[POLICY].levels == ["shortest_path", "k_shortest_paths"]
    levels = {name: factor.levels[0] for name, factor in made.factors.items()}
    routing = scenario_of(made, {**levels, POLICY: "k_shortest_paths"}).routing.root
    assert (routing.policy, routing.paths) == ("k_shortest_paths", 8)


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("policy", "fastest", "'shortest_path', 'ecmp', 'k_shortest_paths' or 'spanning_tree'"),
        ("paths", "0", "greater than or equal to 1"),
        ("seed", "-1", "greater than or equal to 0"),
        ("weight", "1", "policy"),
    ],
)
def test_what_makes_no_sense_is_refused(setting, value, message):
    with pytest.raises(BadInput, match=message):
        load("jumbo-ipv6").with_overrides({f"network.routing.{setting}": value})
