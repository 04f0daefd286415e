"""The fuzz targets read their seeds, the inputs at which they once failed, and some hundred others."""

import random
from pathlib import Path

import pytest

from fuzz.package import changed
from fuzz.targets import TARGETS

REGRESSIONS = Path(__file__).parents[2] / "fuzz" / "regressions"
INPUTS = 50


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", TARGETS)
def test_a_target_reads_its_seeds_and_what_once_failed(name):
    target, chance = TARGETS[name], random.Random(name)
    seeds = list(target.seeds())
    assert seeds
    kept = [file.read_bytes() for file in sorted((REGRESSIONS / name).glob("*"))]
    for data in [*seeds, *kept, *(changed(chance, seeds) for _ in range(INPUTS)), b""]:
        target.read(data)
