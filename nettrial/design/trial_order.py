"""The trials of a run, and their order: complete blocks, each in a different random order."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from nettrial.study import Study


@dataclass(frozen=True)
class Treatment:
    """A combination of one level of each factor."""

    levels: dict[str, str]
    """The levels by factor, in the study's order."""


@dataclass(frozen=True)
class PlannedTrial:
    """A trial of a plan."""

    number: int
    """The position in the run order, from 1."""
    block: int
    """The number of the block, from 1."""
    treatment: dict[str, str]
    """The level of each factor."""


def treatments(study: Study) -> list[Treatment]:
    """Returns all combinations of the factors' levels (a full factorial), with the last factor varying
    fastest."""
    combinations = product(*(factor.levels for factor in study.factors.values()))
    return [Treatment(dict(zip(study.factors, levels, strict=True))) for levels in combinations]


def plan(study: Study, replicates: int, seed: int) -> list[PlannedTrial]:
    """Returns `replicates` blocks, each with every treatment once, in an order that depends only on the seed.

    Blocks keep slow drift (of a machine's temperature, or by its neighbours) out of the comparison of
    treatments, and the random order within a block prevents it from favouring a treatment (Montgomery, Design
    and Analysis of Experiments, chapter 4)."""
    generator = random.Random(seed)
    trials: list[PlannedTrial] = []
    for block in range(1, replicates + 1):
        order = treatments(study)
        generator.shuffle(order)
        for treatment in order:
            trials.append(PlannedTrial(len(trials) + 1, block, treatment.levels))
    return trials


def next_block(study: Study, planned: Sequence[PlannedTrial], seed: int) -> list[PlannedTrial]:
    """Returns the block that follows the plan of this study and seed, as a longer plan would contain it."""
    blocks = max((trial.block for trial in planned), default=0)
    return plan(study, blocks + 1, seed)[len(planned) :]


def in_words(treatment: Mapping[str, str]) -> str:
    """Returns a treatment as text: `mtu 1500 B, sender classic`."""
    return ", ".join(f"{factor} {level}" for factor, level in treatment.items())
