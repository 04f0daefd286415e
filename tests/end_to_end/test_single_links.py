"""Questions about single links and about networks of other tools, as users ask them by commands: in the
simulator, and in the lab on real networks."""

import json
from pathlib import Path

import pytest

from tests.asymmetric import asymmetric
from tests.end_to_end.test_commands import nettrial

HOME = Path(__file__).parents[1] / "networks" / "home.py"


def goodputs(directory: Path, run: str, factor: str) -> dict[str, float]:
    """Returns the mean goodput at each level of a run's factor, in Mbit/s."""
    done = nettrial(directory, "report", run, "--json", charts=False)
    assert done.returncode == 0, done.stderr
    values = [each for each in json.loads(done.stdout)["values"] if each["response"] == "goodput"]
    return {each["treatment"][factor]: each["mean"] for each in values}


@pytest.mark.settles
@pytest.mark.end_to_end
@pytest.mark.parametrize("backend", [pytest.param("sim", marks=pytest.mark.slow), "lab"])
def test_the_rate_of_one_link_is_a_factor(tmp_path: Path, backend: str) -> None:
    """The study's factor is the rate up, of 2 and 4 Mbit/s, and the option makes the rate down another."""
    asymmetric(tmp_path, backend)
    options = ("--replicates", "1", "--set", "network.links.core.reverse.rate=5 Mbit/s", "--out", "up")
    done = nettrial(tmp_path, "run", "study.yaml", *options, report=False)
    assert done.returncode == 0, done.stderr
    shares = {"2 Mbit/s": 2 * 1472 / 1538, "4 Mbit/s": 4 * 1472 / 1538}
    assert goodputs(tmp_path, "up", "core") == pytest.approx(shares, rel=0.05)


@pytest.mark.settles
@pytest.mark.end_to_end
@pytest.mark.parametrize("backend", [pytest.param("sim", marks=pytest.mark.slow), "lab"])
def test_a_network_of_mininet_runs_with_its_rates(tmp_path: Path, backend: str) -> None:
    """A transfer goes over the link to the server, which the option gives another rate."""
    done = nettrial(tmp_path, "init", "mine", "--from-mininet", str(HOME), report=False)
    assert done.returncode == 0, done.stderr
    short = [f"--set=workload.{flow}.traffic.duration=3 s" for flow in ("transfer", "probe")]
    link = "network.links.r0-server.rate"
    options = ("--set", f"{link}=1 Mbit/s,2 Mbit/s", "--set", "control=cubic", "--out", "run")
    done = nettrial(
        tmp_path,
        "run",
        "mine/study.yaml",
        *short,
        *options,
        "--replicates=1",
        "--backend",
        backend,
        report=False,
    )
    assert done.returncode == 0, done.stderr
    found = goodputs(tmp_path, "run", link)
    for rate in (1, 2):
        assert 0.5 < found[f"{rate} Mbit/s"] / (rate * 1448 / 1538) < 1.01
