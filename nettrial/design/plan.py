"""The trials of a run, and their order: complete blocks, each in a random order of its own."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from nettrial.study import Study


@dataclass(frozen=True)
class Treatment:
    """One level of each factor."""

    levels: dict[str, str]
    """The levels by the factor's name, in the study's order."""


@dataclass(frozen=True)
class PlannedTrial:
    """One trial of a plan."""

    number: int
    """The place in the run's order, from 1."""
    block: int
    """The replicate, from 1."""
    treatment: dict[str, str]
    """A level of each factor."""


def treatments(study: Study) -> list[Treatment]:
    """Every combination of the factors' levels (a full factorial), the last factor changing fastest."""
    combinations = product(*(factor.levels for factor in study.factors.values()))
    return [Treatment(dict(zip(study.factors, levels, strict=True))) for levels in combinations]


def plan(study: Study, replicates: int, seed: int) -> list[PlannedTrial]:
    """`replicates` blocks, each with every treatment once, in an order that follows from the seed alone.

    Blocks keep what drifts with time (a machine's temperature, its neighbours) out of the comparison of
    treatments; the random order within keeps it from favouring one of them (Montgomery, Design and
    Analysis of Experiments, chapter 4)."""
    generator = random.Random(seed)
    trials: list[PlannedTrial] = []
    for block in range(1, replicates + 1):
        order = treatments(study)
        generator.shuffle(order)
        for treatment in order:
            trials.append(PlannedTrial(len(trials) + 1, block, treatment.levels))
    return trials


def next_block(study: Study, planned: Sequence[PlannedTrial], seed: int) -> list[PlannedTrial]:
    """One block more than the plan of this study and seed has: what a longer plan would have held."""
    blocks = max((trial.block for trial in planned), default=0)
    return plan(study, blocks + 1, seed)[len(planned) :]


def in_words(treatment: Mapping[str, str]) -> str:
    """A treatment as text: `mtu 1500 B, sender classic`."""
    return ", ".join(f"{factor} {level}" for factor, level in treatment.items())
