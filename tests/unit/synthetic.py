"""A run of the study jumbo-ipv6 with artificial records, for tests of analysis and report.

The figures are plausible and seeded, and their true values are known: see `figures`."""

import math
import random
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from nettrial import scenario
from nettrial.design import PlannedTrial, plan, scenario_of
from nettrial.scenario import Distribution, Environment, FlowRecord, HostRecord, Record, Scenario
from nettrial.store import Run
from nettrial.study import Study, load

BUSY = scenario.Warning(
    code="processor_saturated",
    object="router",
    message="CPU 0 was busy 97.5 % of the time",
    consequence="Throughput may be bounded by the CPU instead of the network.",
)
ENVIRONMENT = Environment(
    engine_version="0.1.0",
    kernel="Linux 6.12.0 #1 SMP",
    processor="A CPU",
    processors=2,
    privileges="user_namespace",
    congestion_controls=["reno", "cubic", "bbr"],
    sysctls={"net.ipv4.tcp_rmem": "4096 131072 6291456", "net.ipv4.tcp_sack": "1"},
)
HEADLINE = re.compile(r"^headline: .*\n", re.MULTILINE)
Maker = Callable[[PlannedTrial], Record | str]


def figures(trial: PlannedTrial) -> dict[str, float]:
    """Returns the values that a trial measures: those of its treatment, with noise that depends on its block
    and its number."""
    size = int(trial.treatment["mtu"].split()[0])
    noise = random.Random(trial.number)
    block = random.Random(1000 + trial.block).gauss(0, 0.004)

    def spread(value: float, deviation: float) -> float:
        return value * math.exp(block + noise.gauss(0, deviation))

    slow = 0.985 if trial.treatment.get("sender") == "classic" else 1.0
    short = 0.4 if trial.treatment.get("receiver") == "classic" else 1.0
    return {
        "goodput": spread(1e9 * slow * (size - 72) / (size + 38), 0.002),
        "rtt": spread(4000 * short * (1 - size / 60000), 0.04),
        "jitter": spread(300 * (1 - size / 90000), 0.06),
        "cpu": spread(20 + 60000 / size, 0.02),
        "demand": spread(0.3 + 4000 / size, 0.02),
    }


def record(trial: PlannedTrial, warnings: Iterable[scenario.Warning] = ()) -> Record:
    """Returns a record with the trial's figures."""
    found = figures(trial)
    goodput, rtt = found["goodput"], found["rtt"]
    common = {"transport": "tcp", "ip": 6, "congestion_control": "cubic", "mss_bytes": 1428}
    transfer = {
        **common,
        "name": "transfer",
        "connections": 40,
        "bytes": 200_000_000,
        "active_ns": round(200_000_000 * 8e9 / goodput),
        "goodput_bps": goodput,
        "connect_us": spread_of(200),
        "completion_us": spread_of(40_000),
        "retransmissions_pkts": 0,
        "srtt_us": spread_of(rtt),
        "min_rtt_us": 90,
        "intervals": [],
    }
    probe = {
        **common,
        "name": "probe",
        "connections": 1,
        "bytes": 25_600,
        "active_ns": 2_000_000_000,
        "connect_us": spread_of(200),
        "retransmissions_pkts": 0,
        "srtt_us": spread_of(rtt),
        "min_rtt_us": 90,
        "rtt_us": spread_of(rtt),
        "jitter_rfc3550_us": found["jitter"],
        "delay_difference_mean_us": found["jitter"],
        "intervals": [],
    }
    hosts = [
        HostRecord(
            name=name,
            processor=processor,
            processor_shared_with=shared,
            cpu_percent=found["cpu"] + 5 * processor,
            cpu_busy_ns=round(found["cpu"] * 2e7),
            service_demand_us_per_kb=found["demand"],
        )
        for name, processor, shared in (("sender", 0, ["router"]), ("receiver", 1, []))
    ]
    return Record(
        format=1,
        backend="lab",
        engine_version="0.1.0",
        started_unix_ns=1_790_000_000_000_000_000,
        phases=scenario.Phases(
            network_ns=30_000_000, checks_ns=120_000_000, traffic_ns=2_000_000_000, tear_down_ns=50_000_000
        ),
        flows=[FlowRecord.model_validate(flow) for flow in (transfer, probe)],
        hosts=hosts,
        ends=[],
        checks=[],
        warnings=list(warnings),
        absent=[],
    )


def spread_of(mean: float) -> dict[str, float]:
    """Returns a distribution with this mean."""
    return Distribution(
        count=400,
        mean=mean,
        deviation=mean / 5,
        minimum=mean / 2,
        p50=mean,
        p90=mean * 1.3,
        p99=mean * 1.6,
        maximum=mean * 2,
    ).model_dump()


def plain(trial: PlannedTrial) -> Record | str:
    """Returns a record. Some trials at MTU 1500 B with a classic sender have a warning; the others have
    none."""
    treatment = trial.treatment
    if treatment.get("sender") != "classic" or treatment["mtu"] != "1500 B" or trial.block >= 3:
        return record(trial)
    busy = f"CPU 0 was busy {97 + trial.number / 100:.1f} % of the time"
    return record(trial, [BUSY.model_copy(update={"message": busy})])


def altered_study(directory: Path, replacements: dict[str, str]) -> Study:
    """Loads a copy of the study jumbo-ipv6 in which parts of the file's text are replaced."""
    shipped = load("jumbo-ipv6")
    text = shipped.document.text
    for old, new in replacements.items():
        assert old in text
        text = text.replace(old, new)
    directory.mkdir()
    (directory / "study.yaml").write_text(text, encoding="utf-8")
    (directory / "published.csv").write_text(shipped.published_text() or "", encoding="utf-8")
    return load(str(directory))


def make_run(
    directory: Path,
    replicates: int = 5,
    overrides: dict[str, str] | None = None,
    maker: Maker = plain,
    trials: int | None = None,
    study: Study | None = None,
    environment: Environment = ENVIRONMENT,
) -> Run:
    """Makes a run in a new directory, in which the first `trials` trials are finished (all, if None).

    `maker` returns each trial's record, or the message of its failure."""
    without_headline = study is None  # so that reports begin with every response, which tests of them need
    study = (study or load("jumbo-ipv6")).with_overrides(overrides or {})
    planned = plan(study, replicates, seed=7)
    text = study.document.text
    if without_headline:
        study, text = study.model_copy(update={"headline": None}), HEADLINE.sub("", text)
    command = f"nettrial run jumbo-ipv6 --replicates {replicates} --seed 7"
    run = Run.create(directory, text, study.published_text(), study, planned, 7, command)
    scenarios: dict[str, Scenario] = {}
    with run.session(environment) as session:
        for trial in planned[:trials]:
            made = maker(trial)
            if isinstance(made, str):
                session.failed(trial, made)
            else:
                treatment = str(trial.treatment)
                if treatment not in scenarios:
                    scenarios[treatment] = scenario_of(study, trial.treatment)
                session.finished(trial, scenarios[treatment], made)
    return run
