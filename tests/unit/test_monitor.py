"""The monitor: its mesh file, its schedule in spite of faults, its archive."""

import contextlib
import heapq
import json
import math
import multiprocessing
import multiprocessing.synchronize
import random
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import textwrap
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nettrial.backends import TrialFailed
from nettrial.backends.pair import Pair, Unreached
from nettrial.cli.monitor import MonitorOptions, _is_open, monitor
from nettrial.errors import BadInput, CannotRun, Lack
from nettrial.monitor import mesh as meshes
from nettrial.monitor import pairs
from nettrial.monitor.archive import FILE, Archive, KnownSession
from nettrial.monitor.changes import Detector
from nettrial.monitor.kinds import KINDS
from nettrial.monitor.outcome import REASONS, MeasuredValue, MeasuredValues, Missed
from nettrial.monitor.running import Ended, Monitor, differs
from nettrial.monitor.schedule import Moment, Spent
from nettrial.monitor.task import Task
from nettrial.monitor.view import history
from tests.unit.interrupted import Interrupted

MESH = """
mesh: campus
hosts:
  here: {}
  alpha: {address: 192.0.2.1, serves: nettrial}
  beta: {address: 192.0.2.2, serves: iperf3, limits: {share: 30%, bytes_a_day: 1 GB}}
  gamma: {address: 192.0.2.3}
limits: {share: 100%}
measurements:
  goodput: {kind: tcp, from: [here], to: [alpha, beta], both_directions: true, every: 2 min}
  delay: {kind: rr, from: [here], to: [alpha], every: 1 min, duration: 2 s}
  path: {kind: path, from: [here], to: [alpha, gamma], every: 5 min}
"""
BEGAN_S = 1_800_000_000.0


def load(folder: Path, text: str = MESH) -> meshes.Mesh:
    (folder / "mesh.yaml").write_text(text)
    return meshes.load(folder / "mesh.yaml")


@dataclass
class World:
    """A network, a disk and two clocks that a test controls. They replace the real ones of a monitor."""

    wall_s: float = BEGAN_S
    steady_s: float = 0.0
    booted: str = "first"
    gone: set[str] = field(default_factory=set)
    seed: int = 0
    full: bool = False
    faults: list[tuple[float, object]] = field(default_factory=list)
    running: list[tuple[float, int, Task]] = field(default_factory=list)
    most: Counter = field(default_factory=Counter)
    busy: set[str] = field(default_factory=set)

    def __post_init__(self):
        self.random = random.Random(self.seed)

    def now(self) -> Moment:
        return Moment(self.wall_s, self.steady_s)

    def boot(self) -> str:
        return self.booted

    def start(self, task: Task) -> None:
        assert not self.busy & {task.source, task.target}, "two measurements load a host at once"
        self.busy |= {task.source, task.target}
        seconds = KINDS[task.settings.kind].seconds(task) * self.random.uniform(0.3, 1.2)
        heapq.heappush(self.running, (self.steady_s + seconds, self.random.getrandbits(32), task))

    def wait(self, seconds: float) -> list[Ended]:
        until = min([self.steady_s + seconds, *(ends for ends, _, _ in self.running)])
        while self.faults and self.faults[0][0] <= until:
            at, happens = self.faults.pop(0)
            self.pass_to(at)
            happens(self)
        self.pass_to(until)
        ended = []
        while self.running and self.running[0][0] <= self.steady_s:
            _, _, task = heapq.heappop(self.running)
            self.busy -= {task.source, task.target}
            ended.append(Ended(task.key, self.outcome(task)))
        return ended

    def pass_to(self, steady_s: float) -> None:
        self.wall_s += max(0.0, steady_s - self.steady_s)
        self.steady_s = max(steady_s, self.steady_s)

    def outcome(self, task: Task) -> MeasuredValues | Missed:
        if self.gone & {task.source, task.target}:
            return Missed("host gone", "connecting to it: no route to host")
        value = self.random.gauss(900, 5)
        figure = MeasuredValue(KINDS[task.settings.kind].headline, "Figure", "Mbit/s", value)
        return MeasuredValues([figure], 10_000_000, self.random.randbytes(4000).hex(), {"route": "1:a 2:b"})

    def monitor(self, mesh: meshes.Mesh, archive: Archive) -> Monitor:
        monitor = Monitor(mesh, archive, self, self, lambda text: None)
        monitor.begin()
        return monitor


def check_entries(archive: Archive, mesh: meshes.Mesh, now_s: float) -> dict[str, Counter]:
    """Checks that every interval of every task has one entry, from its first interval to the present.
    Intervals may only be repeated if the clock was set back. Returns, for each task, the number of intervals
    by reason."""
    found: dict[str, list] = {task.key: [] for task in mesh.tasks()}
    for key, first, last, reason, detail in archive.entries():
        assert last >= first
        assert reason is None or (reason in REASONS and detail)
        found[key].append((first, last, reason))
    counted = {}
    for task in mesh.tasks():
        entries = found[task.key]
        assert entries, task.key
        for (_, before, _), (first, _, reason) in pairwise(entries):
            assert first == before + 1 or (first <= before and reason == "clock step"), task.key
        assert int(now_s // task.settings.every_s) - entries[-1][1] in (0, 1), task.key
        counted[task.key] = Counter()
        for first, last, reason in entries:
            counted[task.key][reason] += last - first + 1
    return counted


def set_clock(by: float):
    def happens(world):
        world.wall_s += by

    return happens


def sleep(world):
    world.pass_to(world.steady_s + 600)


@pytest.mark.parametrize("seed", range(4))
def test_an_hour_with_faults_has_no_gap_without_a_reason(tmp_path, seed):
    mesh = load(tmp_path)
    archive = Archive.create(tmp_path / "archive")

    def disk(pages):
        """Makes SQLite report a full disk: the file may not grow beyond this number of pages."""

        def happens(world):
            world.full = pages == 1
            archive._connection.execute(f"PRAGMA max_page_count = {pages}")

        return happens

    draw = random.Random(seed)
    begins = sorted(draw.uniform(100, 3000) for _ in range(6))
    faults = [
        (begins[0], lambda world: world.gone.add("alpha")),
        (begins[0] + 200, lambda world: world.gone.discard("alpha")),
        (begins[1], set_clock(draw.uniform(100, 2000))),
        (begins[2], set_clock(-draw.uniform(100, 2000))),
        (begins[3], disk(1)),
        (begins[3] + draw.uniform(400, 800), disk(1_000_000)),
        (begins[4], set_clock(draw.choice([-5, 5, -70, 70]))),
        (begins[5], sleep),
    ]
    world = World(seed=seed, faults=sorted(faults, key=lambda each: each[0]))
    monitor = world.monitor(mesh, archive)
    restart_s = draw.uniform(500, 3500)
    while world.steady_s < 3600:
        monitor.step()
        if restart_s and world.steady_s > restart_s and not world.full and monitor._writable:
            restart_s = 0  # The monitor is killed, and the running measurements are lost.
            world.running, world.busy = [], set()
            world.pass_to(world.steady_s + draw.choice([1, 300]))
            monitor = world.monitor(mesh, archive)
    disk(1_000_000)(world)
    monitor.step()
    monitor.end("stopped")
    counted = check_entries(archive, mesh, world.wall_s)
    total = sum(counted.values(), Counter())
    assert total[None] > 50
    assert {"clock step", "disk full", "host gone", "not running"} <= set(total), total
    archive.close()


def test_hours_of_peace_have_every_measurement(tmp_path):
    mesh = load(tmp_path)
    archive = Archive.create(tmp_path / "archive")
    world = World()
    monitor = world.monitor(mesh, archive)
    while world.steady_s < 3 * 3600:
        monitor.step()
    monitor.end("stopped")
    for key, counts in check_entries(archive, mesh, world.wall_s).items():
        missed = {reason: n for reason, n in counts.items() if reason}
        if "beta" in key:  # A budget of 1 GB is enough for 100 measurements of 10 MB.
            assert set(missed) == {"budget spent"}, key
        else:
            # The first interval may end before the monitor begins.
            assert sum(missed.values()) <= 1, (key, missed)
    archive.close()


def test_a_probability_leaves_intervals_out_which_are_no_gaps(tmp_path):
    text = MESH.replace("every: 1 min, duration: 2 s}", "every: 1 min, duration: 2 s, probability: 25%}")
    mesh = load(tmp_path, text + "alerts: {command: [notify], on: [gap], gaps: 1}\n")
    archive = Archive.create(tmp_path / "archive")
    world, sent = World(), []
    monitor = Monitor(mesh, archive, world, world, lambda text: None, sent.append)
    monitor.begin()
    while world.steady_s < 10 * 3600:
        monitor.step()
    monitor.end("stopped")
    counts = check_entries(archive, mesh, world.wall_s)["delay here alpha"]
    assert counts["not drawn"] + counts[None] >= 599
    assert 100 < counts[None] < 200, "a quarter of 600, within five standard deviations"
    assert not [alert for alert in sent if alert.measurement == "delay"]
    (number,) = [task.number for task in archive.tasks() if task.measurement == "delay"]
    assert archive.latest()[number].reason is None
    assert not [gap for gap in history(archive, number).gaps if gap.reason == "not drawn"]
    (other,) = [plan for plan in monitor._schedule.plans if plan.key == "goodput here alpha"]
    assert all(other.is_drawn(interval) for interval in range(1000))
    archive.close()


def test_an_archive_is_written_by_one_monitor_at_a_time(tmp_path):
    archive = Archive.create(tmp_path / "archive")
    with pytest.raises(BadInput, match="another monitor is writing it"):
        Archive.create(tmp_path / "archive")
    archive.close()
    Archive.create(tmp_path / "archive").close()


@pytest.mark.parametrize(
    "content", [b"", b"no database at all, but a text", b"SQLite format 3\0" + bytes(200)]
)
def test_other_files_are_no_archives(tmp_path, content):
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(BadInput, match="archive"):
        Archive.open(tmp_path)
    if content:
        with pytest.raises(BadInput, match="archive"):
            Archive.create(tmp_path)
    with pytest.raises(BadInput, match="has no archive"):
        Archive.open(tmp_path / "elsewhere")


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("task", "watched", None),
        ("task", "thresholds", "{"),
        ("task", "every_s", 0),
        ("session", "began_s", "soon"),
        ("event", "text", None),
        ("entry", "detail", None),
        ("entry", "at_s", "soon"),
        ("figure", "value", math.inf),
    ],
)
def test_values_of_another_type_are_those_of_a_damaged_archive(tmp_path, table, column, value):
    archive = Archive.create(tmp_path)
    session = archive.begin_session(KnownSession("campus", "1 d", 0.0, 9.0, "running"))
    archive.add_task(session, "t", ("a", "b"), 60, watched=["goodput"])
    archive.measured(
        "t", 1, Spent(60.0, 1.0, 9), MeasuredValues([MeasuredValue("goodput", "", "", 1.5)], 9, "{}")
    )
    archive.event(60.0, "t", "change", "less", "goodput")
    archive.close()

    def read() -> None:
        archive = Archive.open(tmp_path)
        try:
            archive.sessions(), archive.latest(), archive.events(0.0)
            archive.hours(archive.tasks()[0].number, "goodput", 0.0)
        finally:
            archive.close()

    read()
    with contextlib.closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as connection:
        # A table without types takes any value, as a damaged one may have in spite of its types.
        connection.executescript(f"CREATE TABLE one AS SELECT * FROM {table}; DROP TABLE {table}")
        connection.execute(f"ALTER TABLE one RENAME TO {table}")
        connection.execute(f"UPDATE {table} SET {column} = ?", (value,))
    with pytest.raises(BadInput, match="an archive that is not damaged"):
        read()


def test_an_interrupted_transaction_leaves_the_archive_writable(tmp_path):
    archive = Archive.create(tmp_path / "archive")
    connection = archive._connection
    archive._connection = Interrupted(connection, "BEGIN")
    with pytest.raises(KeyboardInterrupt), archive.transaction():
        pass
    archive._connection = connection
    with archive.transaction():
        archive.pass_time("boot", 1.0)
    archive.close()


def test_old_values_are_merged_by_hour_and_older_ones_deleted(tmp_path):
    """Merged values have the number, the mean and the spread of the original ones, even if merging was
    interrupted."""
    archive = Archive.create(tmp_path / "archive")
    archive.add_task(archive.begin_session(KnownSession("campus", "1 d", 0, 0, "")), "t a b", ("a", "b"), 60)
    draw = random.Random(1)
    values = [draw.gauss(100, 10) for _ in range(240)]
    began = 500_000 * 3600
    for number, value in enumerate(values):
        at = began + 60 * number
        found = MeasuredValues([MeasuredValue("goodput", "Goodput", "Mbit/s", value)], 5, "{}")
        archive.measured("t a b", at // 60, Spent(at, 1, 5), found)
        if number % 10 == 0:
            with archive.transaction():
                archive.pass_time("boot", 60.0 * number)
                archive.forget(10**6, 10**6, 10**6)
    with archive.transaction():
        archive.pass_time("boot", 4 * 3600.0)
    expected = [values[60 * hour : 60 * hour + 60] for hour in range(4)]
    for kept, left in ((9000, 149), (9000, 149), (4000, 69), (0, 0)):
        with archive.transaction():
            archive.forget(0, kept, 100 * 3600)
        assert len(archive.values(1, "goodput", 0)) == left
        hours = archive.hours(1, "goodput", 0)
        assert [point.n for point in hours] == [60] * 4
        for point, part in zip(hours, expected, strict=True):
            assert point.mean == pytest.approx(np.mean(part))
            assert point.m2 == pytest.approx(np.var(part) * 60)
            assert (point.smallest, point.largest) == (min(part), max(part))
    assert archive.entered() == {"t a b": (began + 60 * 239) // 60}
    with archive.transaction():
        archive.pass_time("boot", 5 * 3600.0)
        archive.forget(0, 0, 2 * 3600)
    assert [point.at_s for point in archive.hours(1, "goodput", 0)] == [began + 3 * 3600]
    archive.close()


def measured_hour(tmp_path) -> tuple[meshes.Mesh, Archive, World]:
    """Returns a mesh that keeps everything for two hours, and its archive after an hour of measurements."""
    mesh = load(tmp_path, MESH + "keep: {records: 2 h, values: 2 h, hours: 2 h}\n")
    archive = Archive.create(tmp_path / "archive")
    world = World()
    run(world, world.monitor(mesh, archive), 3600)
    return mesh, archive, world


def run(world: World, monitor: Monitor, until_s: float) -> None:
    while world.steady_s < until_s:
        monitor.step()
    monitor.end("stopped")


def restart(world: World, booted: str | None = None) -> None:
    """Stops the monitor, and starts the machine again if its new boot is given."""
    world.running, world.busy = [], set()
    if booted:
        world.steady_s, world.booted = 20.0, booted


@pytest.mark.parametrize("booted", [None, "second"], ids=["restart", "reboot"])
@pytest.mark.parametrize("step_d", [1200, -1200, 0.2])
def test_a_wrong_clock_deletes_nothing(tmp_path, step_d, booted):
    """A monitor that is started with a clock 1,200 days ahead once deleted all but the latest entries."""
    mesh, archive, world = measured_hour(tmp_path)
    entries, values = archive.entries(), archive.values(1, "goodput", 0)
    assert len(entries) > 50
    archive.close()

    restart(world, booted)
    world.wall_s += step_d * 86400
    archive = Archive.create(tmp_path / "archive")
    run(world, world.monitor(mesh, archive), world.steady_s + 1800)
    restart(world, booted and "third")
    world.wall_s -= step_d * 86400
    run(world, world.monitor(mesh, archive), world.steady_s + 1200)

    assert archive.entries()[: len(entries)] == entries
    assert archive.values(1, "goodput", 0)[: len(values)] == values
    assert archive.record(1)
    archive.close()


def test_steady_time_deletes_whatever_the_clock_says(tmp_path):
    """Entries that were dated by a clock 1,200 days ahead, or in 1970, are as old as all others."""
    mesh, archive, world = measured_hour(tmp_path)
    for step_s in (1200 * 86400, -(1200 * 86400 + BEGAN_S)):
        world.wall_s += step_s
        run(world, world.monitor(mesh, archive), world.steady_s + 3600)
    world.wall_s += BEGAN_S
    dated = [at_s for at_s, _ in archive.values(1, "goodput", -math.inf)]
    assert min(dated) < 86400
    assert max(dated) > BEGAN_S + 1000 * 86400
    run(world, world.monitor(mesh, archive), world.steady_s + 4 * 3600)
    dated = [at_s for at_s, _ in archive.values(1, "goodput", -math.inf)]
    assert 60 <= len(dated) <= 120
    assert all(abs(world.wall_s - at_s) < 4 * 3600 for at_s in dated)
    archive.close()


def test_time_of_another_boot_is_not_added_up(tmp_path):
    """A machine that was off, or whose clock counts anew, has not kept anything for longer."""
    archive = Archive.create(tmp_path / "archive")
    passed = []
    for boot, steady_s in (("a", 100), ("a", 160), ("b", 9e9), ("b", 9e9 + 5), ("b", 7), ("b", 8)):
        with archive.transaction():
            archive.pass_time(boot, steady_s)
        passed.append(archive._rows("SELECT passed_s FROM steady")[0][0])
    assert passed == [0, 60, 60, 65, 65, 66]
    archive.close()


def test_the_number_of_a_deleted_event_is_not_given_again(tmp_path):
    archive = Archive.create(tmp_path / "archive")
    for steady_s in range(5):
        with archive.transaction():
            archive.event(0.0, None, "clock", f"{steady_s}")
            archive.pass_time("boot", 10.0 * steady_s)
            archive.forget(1, 1, 1)
        assert [event.text for event in archive.events(0.0)][-1] == f"{steady_s}"
    assert len(archive.events(0.0)) <= 2
    archive.close()


def test_an_archive_of_format_1_is_read_and_goes_on(tmp_path):
    mesh, archive, world = measured_hour(tmp_path)
    entries = archive.entries()
    with archive.transaction():
        archive.forget(1, 1, 1e9)
    archive.close()
    file = tmp_path / "archive" / FILE
    connection = sqlite3.connect(file)
    connection.executescript(
        "DROP TABLE mark; DROP TABLE steady; ALTER TABLE merged DROP COLUMN entry; PRAGMA user_version = 1"
    )
    connection.close()

    reader = Archive.open(tmp_path / "archive")
    hours = reader.hours(1, "goodput", 0)
    assert hours
    reader.close()
    world.wall_s += 1200 * 86400
    archive = Archive.create(tmp_path / "archive")
    run(world, world.monitor(mesh, archive), world.steady_s + 1200)
    assert archive.hours(1, "goodput", 0)[: len(hours)] == hours
    run(world, world.monitor(mesh, archive), world.steady_s + 4 * 3600)
    assert archive.entries()[0] not in entries
    assert hours[0] not in archive.hours(1, "goodput", 0)
    archive.close()


def test_another_interval_goes_on_from_the_same_moment(tmp_path):
    mesh = load(tmp_path)
    archive = Archive.create(tmp_path / "archive")
    world = World()
    monitor = world.monitor(mesh, archive)
    while world.steady_s < 1200:
        monitor.step()
    monitor.end("stopped")
    other = load(tmp_path, MESH.replace("every: 1 min, duration: 2 s", "every: 7 min"))
    world.running, world.busy = [], set()
    monitor = world.monitor(other, archive)
    while world.steady_s < 3600:
        monitor.step()
    monitor.end("stopped")
    ends = []
    for began_s, ended_s in archive._rows(
        "SELECT first * every_s, (last + 1) * every_s FROM entry "
        "WHERE task = (SELECT task FROM task WHERE key = 'delay here alpha') ORDER BY entry",
    ):
        ends += [began_s, ended_s]
    assert ends[0] <= BEGAN_S + 60
    # The first longer interval is the one that contains the end of the last shorter one.
    assert all(0 <= end - begin < 420 for end, begin in zip(ends[1::2], ends[2::2], strict=False))
    archive.close()


def test_routes_with_silent_hops_are_the_same():
    assert not differs("1:a 2:? 3:c", "1:a 2:b 3:c")
    assert differs("1:a 2:b 3:c", "1:a 2:x 3:c")
    assert differs("1:a 2:b", "1:a 2:b 3:c")
    assert differs("9000 B", "1500 B")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("alpha: {address", "alpha: {adress", "unknown field"),
        ("to: [alpha, beta]", "to: [alpha, delta]", "expected: here, alpha, beta, gamma"),
        ("kind: tcp", "kind: tpc", "did you mean 'tcp'?"),
        ("kind: rr, from: [here], to: [alpha]", "kind: rr, from: [here], to: [beta]", "serves: nettrial"),
        ("to: [alpha, gamma]", "to: [gamma], both_directions: true", "this machine in `from`"),
        ("from: [here], to: [alpha], every", "from: [alpha], to: [beta], every", "one host that is this"),
        ("duration: 2 s", "duration: 2 s, rate: 1 Mbit/s", "no rate with kind rr"),
        ("duration: 2 s", "duration: 2 h", "duration"),
        ("every: 1 min", "every: 1 s", "10 s or more"),
        ("share: 100%", "share: 20%", "measure less often"),
        ("share: 30%", "share: 0%", "percentage above 0"),
        ("share: 30%", "share: 1%", "at most 0.01 of its time"),
        ("from: [here], to: [alpha], every", "from: [here], to: [here], every", "another host"),
        ("every: 5 min}", "every: 5 min, thresholds: {path_mtu: {alarm: 9000}}}", '"< 900"'),
        ("every: 5 min}", "every: 5 min, thresholds: {path_mut: {}}}", "did you mean 'path_mtu'?"),
        ("every: 5 min}", "every: 5 min, probability: 0%}", "percentage above 0"),
    ],
)
def test_faults_of_a_mesh_are_named_with_their_place(tmp_path, old, new, said):
    assert old in MESH
    with pytest.raises(BadInput) as error:
        load(tmp_path, MESH.replace(old, new, 1))
    assert said in str(error.value)
    assert "mesh.yaml:" in str(error.value)


WORDS = [
    "",
    "null",
    "~",
    "-1",
    "1e999",
    ".nan",
    "0x7f",
    "[]",
    "{}",
    "- ",
    ": ",
    "&a [*a]",
    "*a",
    "!!python/x",
    "\0",
    "é",
    "9" * 30,
]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cuts=st.lists(
        st.tuples(
            st.integers(0, len(MESH)), st.integers(0, 12), st.sampled_from(WORDS) | st.text(max_size=8)
        ),
        min_size=1,
        max_size=3,
    )
)
def test_hostile_meshes_are_read_or_refused(tmp_path, cuts):
    text = MESH
    for place, length, words in cuts:
        text = text[:place] + words + text[place + length :]
    (tmp_path / "mesh.yaml").write_bytes(text.encode(errors="surrogatepass"))
    with contextlib.suppress(BadInput):
        meshes.load(tmp_path / "mesh.yaml")


@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
        lambda of: st.lists(of, max_size=3) | st.dictionaries(st.text(max_size=5), of, max_size=3),
        max_leaves=6,
    ),
    field=st.sampled_from(
        [
            "mesh",
            "hosts",
            "limits",
            "measurements",
            "alerts",
            "machines",
            "kind",
            "every",
            "to",
            "share",
            "address",
        ]
    ),
)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_meshes_with_other_values_are_read_or_refused(tmp_path, value, field):
    text = re.sub(
        rf"\b{field}: ?([^,{{}}\[\]\n]*|\[[^]]*\])",
        f"{field}: {json.dumps(value)} ".replace("\\", "\\\\"),
        MESH,
        count=1,
    )
    (tmp_path / "mesh.yaml").write_text(text)
    with contextlib.suppress(BadInput):
        meshes.load(tmp_path / "mesh.yaml")


def test_a_token_is_read_beside_the_mesh(tmp_path):
    text = MESH.replace("serves: nettrial}", "serves: nettrial, token_file: alpha.token}")
    with pytest.raises(BadInput, match="a file with the token"):
        load(tmp_path, text)
    (tmp_path / "alpha.token").write_text("0" * 32)
    mesh = load(tmp_path, text)
    assert mesh.hosts["alpha"].token_file == tmp_path / "alpha.token"
    assert mesh.archive == tmp_path / "campus-archive"


MACHINES = """
machines:
  alpha: {ssh: root@alpha, interfaces: {eth0: ["192.0.2.1", "2001:db8::1"]}, may_change: [mtu]}
  beta: {ssh: root@beta, interfaces: {eth0: ["198.51.100.2"], eth1: ["192.0.2.2"]}}
  gamma: {command: [docker, exec, -i, gamma], interfaces: {eth0: ["2001:db8::3"]}}
"""
PAIRS = """
mesh: pairs
machines: machines.yaml
hosts:
  here: {}
  one: {machine: alpha}
  two: {machine: beta, address: 192.0.2.2, serves: nettrial}
  three: {machine: gamma}
  router: {address: 192.0.2.254, serves: stamp}
limits: {share: 100%}
measurements:
  goodput: {kind: tcp, from: [one], to: [two], both_directions: true, every: 10 min}
  path: {kind: path, from: [one], to: [three], every: 10 min}
  near: {kind: rr, from: [here], to: [two], every: 10 min}
  delay: {kind: stamp, from: [here], to: [router], every: 5 min, thresholds: {backward_owd: {alarm: "> 5"}}}
"""


def test_two_machines_of_an_inventory_are_a_pair(tmp_path):
    (tmp_path / "machines.yaml").write_text(MACHINES)
    mesh = load(tmp_path, PAIRS)
    found = {task.key: task for task in mesh.tasks()}
    assert [task.is_of_machines for task in found.values()] == [True, True, True, False, False]
    assert pairs.version(found["goodput one two"]) == 4
    assert pairs.version(found["path one three"]) == 6
    assert KINDS["tcp"].seconds(found["goodput one two"]) == 10
    assert KINDS["stamp"].seconds(found["delay here router"]) == 6
    assert mesh.inventory["alpha"].may_change == ["mtu"]
    with pytest.raises(BadInput, match="--allow-exec") as refused:
        monitor(MonitorOptions(tmp_path / "mesh.yaml", dry=False, systemd=False, quiet=True))
    assert "machines.yaml: machines.gamma: docker" in str(refused.value)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (Unreached("machine alpha (ssh root@alpha): no answer within 20 s", ["timed_out"]), "host gone"),
        (Unreached("machine alpha: the engine is not there", ["missing_program"]), "refused"),
        (Unreached("machine alpha: ssh may not log in", ["unreachable", "refused"]), "refused"),
        (TrialFailed("beta: another session measures there", "busy"), "refused"),
        (TrialFailed("the words is using this machine decide nothing"), "failed"),
        (TrialFailed("the agent of client ended"), "failed"),
        (CannotRun("asking", [Lack("the engine", "it ended", "build it")]), "failed"),
    ],
)
def test_a_failure_between_two_machines_has_its_reason(tmp_path, monkeypatch, error, reason):
    def traffic(*_):
        raise error

    monkeypatch.setattr(Pair, "traffic", traffic)
    (tmp_path / "machines.yaml").write_text(MACHINES)
    task = next(task for task in load(tmp_path, PAIRS).tasks() if task.key == "goodput one two")
    with pytest.raises(Missed) as missed:
        KINDS["tcp"].run(task)
    assert missed.value.reason == reason
    assert missed.value.detail in str(error)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("machine: beta,", "machine: beat,", "did you mean 'beta'?"),
        ("three: {machine: gamma}", "three: {machine: alpha}", "one is the same machine"),
        ("machines: machines.yaml\n", "", "as `machines` of the mesh"),
        ("from: [one], to: [three]", "from: [two], to: [three]", "the same IP version"),
        ("to: [three], every", "to: [three], ip: 4, every", "the same IPv4 version"),
        ("to: [three], every", "to: [three], size: 9000 B, every", "no `size` between two machines"),
        ("from: [here], to: [two]", "from: [here], to: [one]", "or two hosts with `machine`"),
        ("from: [here], to: [router]", "from: [router], to: [here]", "this machine in `from`"),
        ("from: [here], to: [router]", "from: [here], to: [two]", "serves: stamp"),
        ("from: [here], to: [router]", "from: [one], to: [router]", "one host that is this machine"),
        ("every: 5 min, thr", "every: 5 min, size: 45 B, thr", "44 B, or 48 to"),
        ("every: 5 min, thr", "every: 5 min, streams: 2, thr", "no streams with kind stamp"),
        ("backward_owd", "backward_rtt", "did you mean 'backward_"),
        ("serves: stamp}", "serves: stamp, token_file: machines.yaml}", None),
        ("serves: stamp}", "serves: stamp, token_file: key}", "16 bytes or more"),
    ],
)
def test_faults_of_pairs_are_named_with_their_place(tmp_path, old, new, said):
    (tmp_path / "machines.yaml").write_text(MACHINES)
    (tmp_path / "key").write_text("short")
    assert old in PAIRS
    if said is None:
        load(tmp_path, PAIRS.replace(old, new, 1))
        return
    with pytest.raises(BadInput) as error:
        load(tmp_path, PAIRS.replace(old, new, 1))
    assert said in str(error.value)
    assert "mesh.yaml:" in str(error.value)


def test_the_meshes_of_the_how_to_are_some(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "monitor-a-network.md").read_text()
    texts = re.findall(r"```yaml\n(.*?)```", page, re.S)
    (tmp_path / "token").write_text("0" * 32)
    names = enumerate(("alpha", "gateway", "beta"), start=1)
    lines = [f'  {name}: {{ssh: x, interfaces: {{eth0: ["192.0.2.{at}"]}}}}' for at, name in names]
    (tmp_path / "machines.yaml").write_text("\n".join(["machines:", *lines]))
    assert [len(load(tmp_path, textwrap.dedent(text)).tasks()) for text in texts] == [8, 12]


def test_a_unit_of_systemd_names_the_files_whatever_they_are_called(tmp_path, capsys):
    """In a unit, systemd expands % and $, and splits lines at spaces unless they are quoted."""
    folder = tmp_path / 'a "mesh" of 100% $HOME'
    folder.mkdir()
    load(folder)
    options = MonitorOptions(folder / "mesh.yaml", dry=False, systemd=True, quiet=True, port=8080, bind="::")
    monitor(options)
    said = capsys.readouterr().out
    lines = dict(line.split("=", 1) for line in said.splitlines() if "=" in line)
    for sign in "%$":
        assert sign not in lines["ExecStart"].replace(2 * sign, "")
    words = [word.replace("%%", "%").replace("$$", "$") for word in shlex.split(lines["ExecStart"])]
    begin = [sys.executable, "-m", "nettrial.cli", "monitor", str(folder / "mesh.yaml")]
    assert words == [*begin, "--port", "8080", "--bind", "::"]
    archive = folder / "campus-archive"
    assert archive.is_dir(), "the service could not create it"
    (written,) = shlex.split(lines["ReadWritePaths"])
    assert written.replace("%%", "%") == f"-{archive}", "systemd expands $ in commands alone"
    if shutil.which("systemd-analyze"):
        (tmp_path / "monitor.service").write_text(said)
        verify(tmp_path / "monitor.service")
    odd = tmp_path / "two\nlines"
    odd.mkdir()
    load(odd)
    with pytest.raises(BadInput, match="without control characters"):
        monitor(MonitorOptions(odd / "mesh.yaml", dry=False, systemd=True, quiet=True))


def verify(unit):
    """Checks a unit with systemd's own tools, and that its exposure is below 3 of 10 by their count."""
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    command = ["systemd-analyze", "security", "--offline=true", "--threshold=30", "--no-pager", unit]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def unit_of(folder, capsys, **options):
    """Returns the lines of the unit for the mesh in a directory."""
    given = {"dry": False, "systemd": True, "quiet": True, **options}
    monitor(MonitorOptions(folder / "mesh.yaml", **given))
    return capsys.readouterr().out.splitlines()


def test_no_line_of_a_unit_gives_its_user_more_privileges(tmp_path, capsys):
    """A command with `+` or `!` runs as root: with `install -d -o USER`, the user could make a link in the
    place of the archive, and get any directory of the machine."""
    load(tmp_path)
    lines = unit_of(tmp_path, capsys)
    commands = [line for line in lines if line.startswith("Exec")]
    assert [line[:11] for line in commands] == ['ExecStart="'], commands
    assert "NoNewPrivileges=yes" in lines
    assert "CapabilityBoundingSet=" in lines
    assert "CapabilityBoundingSet=CAP_NET_BIND_SERVICE" in unit_of(tmp_path, capsys, port=443)


@pytest.mark.parametrize("everyone", [True, False])
@pytest.mark.parametrize("root", [True, False])
def test_systemd_creates_an_archive_below_its_own_directory(tmp_path, capsys, monkeypatch, root, everyone):
    load(tmp_path, text=f"archive: /var/lib/nettrial/test site\n{MESH}")
    monkeypatch.setattr("nettrial.cli.monitor.is_root", lambda: root)
    monkeypatch.setattr("nettrial.cli.monitor._is_open", lambda path: everyone)
    lines = unit_of(tmp_path, capsys)
    assert 'StateDirectory="nettrial/test site"' in lines
    assert not Path("/var/lib/nettrial/test site").exists()
    assert ("DynamicUser=yes" in lines) == (root and everyone)
    assert any(line.startswith("User=") for line in lines) == (not (root and everyone))
    if shutil.which("systemd-analyze"):
        (tmp_path / "monitor.service").write_text("\n".join(lines))
        verify(tmp_path / "monitor.service")


def test_files_that_not_everyone_can_read_need_their_user(tmp_path):
    assert _is_open(Path("/bin/sh"))
    for mode in (0o700, 0o755):
        (tmp_path / "deep").mkdir(mode, exist_ok=True)
        (tmp_path / "deep" / "file").touch(0o644)
        tmp_path.chmod(0o700)
        assert not _is_open(tmp_path / "deep" / "file")
    assert not _is_open(tmp_path / "absent")


def alarms(series: int, length: int, threshold: float) -> int:
    """Returns the number of false alarms in series of independent values of one distribution, with ties."""
    found = 0
    for seed in range(series):
        draw, detector = random.Random(seed), Detector(threshold, seed)
        found += sum(detector.add(round(draw.expovariate(1), 2)) is not None for _ in range(length))
    return found


def test_false_alarms_stay_below_the_stated_rate():
    """The expected number is at most 5,000 / 200 = 25. A Poisson variable with this mean exceeds 40 with a
    probability of 1 in 700."""
    assert 0 < alarms(series=10, length=500, threshold=200) <= 40


@pytest.mark.slow
def test_false_alarms_stay_below_the_stated_rate_over_many_values():
    """The expected number is at most 400,000 / 1000 = 400, and the bound is five standard deviations of a
    Poisson variable above it."""
    assert 40 < alarms(series=200, length=2000, threshold=1000) <= 500


@pytest.mark.parametrize(("shift", "patience"), [(2, 40), (-4, 12)])
def test_a_change_is_found_where_it_is(shift, patience):
    for seed in range(4):
        draw, detector = random.Random(seed), Detector(1e5, seed)
        assert not any(detector.add(draw.gauss(0, 1)) for _ in range(100))
        found = [detector.add(draw.gauss(shift, 1)) for _ in range(patience)]
        change = next(filter(None, found))
        assert abs(change.began - 100) <= 5
        assert change.after - change.before == pytest.approx(shift, abs=1.5)


def test_the_values_that_remain_are_a_detectors_state(tmp_path):
    """A restarted monitor finds the same change at the same value."""
    draw = random.Random(3)
    values = [draw.gauss(0, 1) for _ in range(60)] + [draw.gauss(5, 1) for _ in range(20)]
    one = Detector(1e4, 7)
    at = next(number for number, value in enumerate(values) if one.add(value))
    two = Detector(1e4, 7)
    assert not any(two.add(value) for value in values[:at])
    assert two.add(values[at])


def killed(folder: Path, began: multiprocessing.synchronize.Event) -> None:
    archive = Archive.create(folder / "archive")
    world = World(seed=5)
    monitor = world.monitor(meshes.load(folder / "mesh.yaml"), archive)
    while True:
        monitor.step()
        if world.steady_s > 1200:
            began.set()


def test_a_killed_monitor_loses_only_what_it_was_measuring(tmp_path):
    """The monitor receives kill -9 while it writes. The archive stays intact, and the next monitor
    continues."""
    mesh = load(tmp_path)
    context = multiprocessing.get_context("fork")
    began = context.Event()
    process = context.Process(target=killed, args=(tmp_path, began))
    process.start()
    assert began.wait(300)
    process.kill()
    process.join()
    archive = Archive.create(tmp_path / "archive")
    assert archive._rows("PRAGMA integrity_check") == [("ok",)]
    measured = sum(reason is None for *_, reason, _ in archive.entries())
    assert measured > 20
    last = max(at for (at,) in archive._rows("SELECT max(at_s) FROM entry"))
    world = World(wall_s=last + 1000)
    monitor = world.monitor(mesh, archive)
    while world.steady_s < 600:
        monitor.step()
    monitor.end("stopped")
    total = sum(check_entries(archive, mesh, world.wall_s).values(), Counter())
    assert total[None] > measured
    assert total["not running"] > 10
    assert [each.note for each in archive.sessions()] == ["killed, or running", "stopped"]
    archive.close()
