"""Input from someone else: studies and run files that are too large, damaged, or malicious. Each is refused
with exit status 2 and an error that names it; none causes an internal error."""

import contextlib
import json
import os
import shutil
import sqlite3
import zlib
from collections.abc import Callable
from functools import reduce
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nettrial import bounds, export
from nettrial.analysis import trial_responses
from nettrial.errors import BadInput
from nettrial.files import RUN_FILE
from nettrial.running.study_design import Design, DesignOptions
from nettrial.store import Run
from nettrial.store.reading import damage
from nettrial.study import load, yaml_values
from nettrial.study.catalogue import FOLDER
from nettrial.topology.graph_file import GraphError
from nettrial.topology.graph_file import read as read_graph
from tests.unit.synthetic import make_run

TEXT = (FOLDER / "jumbo-ipv6" / "study.yaml").read_text()
FABRIC = (FOLDER / "jellyfish-mptcp" / "study.yaml").read_text()


@pytest.fixture
def study(tmp_path: Path) -> Callable[..., Path]:
    """Returns a function that writes a study file: a shipped study with parts of its text replaced."""

    def write(*changes: tuple[str, str], text: str = TEXT) -> Path:
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        shutil.copy(FOLDER / "jumbo-ipv6" / "published.csv", tmp_path)
        (tmp_path / "study.yaml").write_text(text)
        return tmp_path / "study.yaml"

    return write


def refusal(nettrial, *arguments):
    """Returns the message of a command that ended with exit status 2."""
    done = nettrial(*map(str, arguments))
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert "itself failed" not in done.stderr
    return done.stderr


BILLION = "1000000000"
BOMB = "a: &a [1,1,1,1,1,1,1,1,1,1]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("full_replicates: ", f"full_replicates: {BILLION} #"), "full_replicates: 1000000000\n  expected: "),
        (("\nreplicates: ", f"\nreplicates: {BILLION} #"), "replicates: 1000000000\n  expected: "),
        (
            ("    transport: tcp", f"    count: {BILLION}\n    transport: tcp"),
            "count: 1000000000\n  expected: ",
        ),
    ],
)
def test_plans_are_counted_before_they_are_built(nettrial, study, change, told):
    file = study(change)
    for dry in ((), ("--dry-run",)):
        full = ["--full"] if told.startswith("full") else []
        assert told in refusal(nettrial, "run", *dry, file, *full)


def test_replicates_on_the_command_line_are_counted(nettrial):
    dry = ("run", "--dry-run", "jumbo-ipv6")
    assert "--replicates: 1000000000\n" in refusal(nettrial, *dry, "--replicates", BILLION)
    told = refusal(nettrial, *dry, "--until", "2%", "--max-blocks", BILLION)
    assert "--max-blocks: 1000000000\n" in told
    assert "a run may have up to 100000" in told


def test_treatments_are_counted(nettrial, study):
    values = {"network.delay": "{} us", "network.rate": "{} Mbit/s", "measurement.interval": "{} ms"}
    options = []
    for name, value in values.items():
        levels = ",".join(value.format(number) for number in range(1, 1300))
        options += ["--set", f"{name}={levels}"]
    told = refusal(nettrial, "run", "--dry-run", study(), *options)
    assert "treatments\n  expected: up to 10000 treatments" in told


def test_flows_are_counted_together(nettrial, study):
    entry = FABRIC.index("\nworkload:")

    def told(count):
        changed = FABRIC[entry:].replace("transport:", f"count: {count}\n    transport:", 1)
        return refusal(nettrial, "run", "--dry-run", study(text=FABRIC[:entry] + changed))

    assert "count: 9000\n  expected: up to 120000 flows in a trial" in told(9000)
    assert ": 25000 flows\n  expected: up to 20000 with the backend lab\n  hint: `--backend fluid`" in told(
        1000
    )


@pytest.mark.parametrize(
    ("setting", "value", "most"),
    [("count", 10**12, 10**9), ("in_flight", 10**6, 10**4), ("count", 2**64, 10**9)],
)
def test_requests_are_counted(nettrial, setting, value, most):
    given = f"workload.probe.traffic.{setting}={value}"
    told = refusal(nettrial, "run", "--dry-run", "jumbo-ipv6", "--set", given)
    assert f"workload.probe.traffic.{setting}" in told
    assert f"expected: less than or equal to {most}" in told


def test_packets_are_counted(nettrial, study):
    entry = "traffic: {kind: packets, size: 100 B, count: 1000000000000}"
    file = study(("traffic: {kind: request_response", entry + " # "))
    assert "count: 1000000000000\n  expected: less than or equal to 1000000000" in refusal(
        nettrial, "run", "--dry-run", file
    )


def test_sizes_of_a_sweep_are_counted(nettrial):
    told = refusal(
        nettrial, "run", "--dry-run", "mtu-packet-size", "--set", "workload.sweep.traffic.last=1000 GB",
        "--set", "workload.sweep.traffic.step=1 B",
    )  # fmt: skip
    assert "up to 1000000 sizes" in told


STAIRS = f"a: &a {'[' * 20}{']' * 20}\nb: &b [*a]\nc: {'[' * 15}*b{']' * 15}\n"
"""Values that are nested too deeply only where aliases stand for others."""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (BOMB, "study.yaml:5: the alias *d\n  expected: up to 50000 values"),
        ("a: &a [*a]\n", "study.yaml:1: the alias *a\n  expected: an alias of a value that ends before it"),
        ("a: &a {<<: [*a]}\n", "an alias of a value that ends before it"),
        ("a: " + "[" * 100_000, "values nested too deeply\n  expected: up to 32 levels"),
        ("\n".join("  " * depth + "a:" for depth in range(200)), "values nested too deeply"),
        ("x" * 2_000_000, "it has more than 131072 bytes\n  expected: a readable file of up to 131072 bytes"),
        ("a: " + "9" * 5000, "study.yaml:1: a: unknown field"),
        ("a: 2001-99-99", "study.yaml:1: a: unknown field"),
        (
            STAIRS,
            "study.yaml:3: values nested too deeply\n  expected: up to 32 levels, including those of alias",
        ),
        ("a: !!int x", "study.yaml:1: the tag 'tag:yaml.org,2002:int'\n  expected: values without tags"),
        ("a: !mine 1", "study.yaml:1: the tag '!mine'\n  expected: values without tags"),
        ("a: 1\n---\nb: 2", "study.yaml:2: a second document\n  expected: one YAML document"),
        ("a: 1\na: 2", "study.yaml:2: the key 'a' occurs twice\n  expected: each key once"),
        ("<<: 1", "study.yaml:1: no mapping after <<"),
        ("a: *b", "study.yaml:1: the alias *b\n  expected: an alias of a value that ends before it"),
        (TEXT.replace("warmup: ", "warmup: 0x" + "f" * 5000 + " #"), "warmup: '0xfff"),
        ("a: !!python/object:os.system {}", "study.yaml"),
        ("a: !!binary '%'", "study.yaml"),
        ("? [a, b]\n: c", "study.yaml:1: a key of several values\n  expected: keys of one value each"),
        ("\0", "study.yaml: unacceptable character"),
        ("- 1", "expected: fields with values"),
        ("", "expected: fields with values"),
    ],
)
def test_yaml_that_is_no_study_is_refused(nettrial, study, text, told):
    assert told in refusal(nettrial, "run", "--dry-run", study(text=text))


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("a:\n  b: 1\n c: 2\n", "check the indentation of line 3 and of the lines above it"),
        ("a:\n  - 1\n - 2\n", "check the indentation of line 3 and of the lines above it"),
        ("  a: 1\nb: 2\n", "check the indentation of line 2 and of the lines above it"),
        ("a: 1\n b: 2\n", "check the indentation of line 2, and quote a text that contains ': '"),
        ("a: b: c\n", "check the indentation of line 1, and quote a text that contains ': '"),
        ("a:\n\tb: 1\n", "line 2 is indented with a tab: use spaces"),
        ("a:\r\n  \tb: 1\r\n", "line 2 is indented with a tab: use spaces"),
    ],
)
@pytest.mark.parametrize("loader", [yaml_values._LOADER, yaml.SafeLoader])
def test_wrong_indentation_has_a_hint(nettrial, study, monkeypatch, loader, text, hint):
    monkeypatch.setattr(yaml_values, "_LOADER", loader)
    assert f"\n  hint: {hint}\n" in refusal(nettrial, "run", "--dry-run", study(text=text))


def test_another_fault_of_yaml_has_no_hint(nettrial, study):
    assert "hint" not in refusal(nettrial, "run", "--dry-run", study(text="a: [1, 2\nb: 3\n"))


@pytest.mark.parametrize("text", ["", "# to be written\n"])
def test_an_empty_study_is_said_to_be_empty(nettrial, study, text):
    said = refusal(nettrial, "run", "--dry-run", study(text=text)).splitlines()[0]
    assert said.endswith("study.yaml: the file is empty, or has only comments")


def test_a_shipped_study_needs_a_tenth_of_what_is_allowed():
    """The bounds are far above what a legitimate study needs."""
    largest = max(file.stat().st_size for file in FOLDER.glob("*/study.yaml"))
    assert largest * 10 < bounds.MOST_STUDY_BYTES


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no FIFOs")
def test_a_file_that_is_none_is_not_waited_for(nettrial, study, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "folder" / "study.yaml")
    assert "it is not a regular file" in refusal(nettrial, "run", "--dry-run", tmp_path / "folder")
    told = refusal(nettrial, "draw", "file", "--set", f"path={tmp_path / 'fifo'}")
    assert "it is not a regular file" in told
    assert "/dev/zero: it is not a regular file" in refusal(
        nettrial, "draw", "file", "--set", "path=/dev/zero"
    )
    file = study(("file: published.csv", "file: fifo"))
    told = refusal(nettrial, "run", file, "--out", "mine")
    assert "published.file: fifo\n" in told
    assert "it is not a regular file" in told


@pytest.mark.parametrize("name", ["../secret", "/etc/hostname", "link", "."])
def test_a_file_that_a_study_names_is_in_the_studys_folder(nettrial, study, tmp_path, name):
    folder = tmp_path / "mine"
    folder.mkdir()
    (tmp_path / "secret").write_text("a secret")
    (folder / "link").symlink_to(tmp_path / "secret")
    file = study(("file: published.csv", f"file: {name}")).rename(folder / "study.yaml")
    told = refusal(nettrial, "run", file, "--out", "run")
    assert f"published.file: {name}\n  expected: a file in the directory of the study file" in told
    assert not (tmp_path / "run").exists()
    size = f"{{kind: packets, size: {{distribution: file, file: {name}}}, gap: 1 ms, count: 9}}"
    text = (
        TEXT[: TEXT.index("    traffic:")] + f"    traffic: {size}\n" + TEXT[TEXT.index("\nmeasurement:") :]
    )
    (folder / "study.yaml").write_text(text)
    with pytest.raises(BadInput) as caught:
        load(str(folder))
    assert "a file in the directory of the study file" in str(caught.value)
    assert "a secret" not in str(caught.value)


@pytest.mark.parametrize(
    "form", ["<graphml{}>", "<g:graphml xmlns:g='http://graphml.graphdrawing.org/xmlns'>"]
)
def test_graphml_with_a_node_twice_is_refused(tmp_path, form):
    prefix = "g:" if form.startswith("<g:") else ""
    nodes = "".join(f"<{prefix}node id='{name}'/>" for name in ("a", "b", "a"))
    space = " xmlns='http://graphml.graphdrawing.org/xmlns'"
    text = f"{form.format(space)}<{prefix}graph edgedefault='undirected'>{nodes}"
    text += f"<{prefix}edge source='a' target='b'/></{prefix}graph></{prefix}graphml>"
    (tmp_path / "graph").write_text(text)
    with pytest.raises(GraphError, match="the node 'a' occurs twice"):
        read_graph(tmp_path, "graph")


RUN_COMMANDS = (
    ("report", "mine"),
    ("export", "mine", "--to", "csv"),
    ("compare", "mine", "mine"),
    ("predict", "mine", "--mtu", "3000"),
    ("calibrate", "mine"),
    ("watch", "mine"),
    ("run", "--resume", "mine"),
    ("run", "--dry-run", "jumbo-ipv6", "--until", "5%", "--from", "mine"),
)


def change(directory, *statements, **values):
    """Changes a run file in ways that its triggers would prevent."""
    connection = sqlite3.connect(directory / RUN_FILE, isolation_level=None)
    triggers = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    for (name,) in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        connection.execute(statement, values)
    connection.close()


def document(column, table, **changes):
    """Returns a function that computes a statement's value: a document of the run file with some fields
    changed."""

    def changed(directory):
        connection = sqlite3.connect(directory / RUN_FILE)
        (kept,) = connection.execute(f"SELECT {column} FROM {table} LIMIT 1").fetchone()
        connection.close()
        text = zlib.decompress(kept) if isinstance(kept, bytes) else kept
        made = json.dumps({**json.loads(text), **changes})
        return zlib.compress(made.encode()) if isinstance(kept, bytes) else made

    return changed


def gibibyte(_):
    """Returns a statement's value: a few megabytes that decompress to a gibibyte."""
    part, parts = b" " * 2**24, 2**6
    compressor = zlib.compressobj(level=1)
    # After a full flush, equal parts are compressed to equal bytes.
    first, other = (compressor.compress(part) + compressor.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    checksum = reduce(lambda seen, _: zlib.adler32(part, seen), range(parts), 1)
    return first + other * (parts - 1) + compressor.flush()[:-4] + checksum.to_bytes(4, "big")


DAMAGES = {
    "record-of-a-gigabyte": ("UPDATE trial SET record = :value", gibibyte),
    "record-cut": ("UPDATE trial SET record = substr(record, 1, 100)", None),
    "record-no-json": ("UPDATE trial SET record = :value", zlib.compress(b"{")),
    "record-deep": ("UPDATE trial SET record = :value", zlib.compress(b"[" * 100_000)),
    "record-of-no-trial": ("UPDATE trial SET number = number + 1000", None),
    "record-bytes": ("UPDATE trial SET record = :value", zlib.compress(b"\xff")),
    "plan-no-json": ("UPDATE planned SET treatment = '['", None),
    "plan-deep": ("UPDATE planned SET treatment = :value", "[" * 100_000),
    "plan-no-object": ("UPDATE planned SET treatment = '1'", None),
    "plan-other-factor": ("""UPDATE planned SET treatment = '{"other": "1"}'""", None),
    "plan-other-level": ("UPDATE planned SET treatment = replace(treatment, '9000', '9001')", None),
    "plan-negative": ("UPDATE planned SET block = -1", None),
    "study-gone": ("DELETE FROM run", None),
    "study-twice": ("INSERT INTO run SELECT * FROM run", None),
    "study-no-json": ("UPDATE run SET study = 'study'", None),
    "study-other-backend": ("UPDATE run SET study = :value", document("study", "run", backend="elsewhere")),
    "study-other-factors": ("UPDATE run SET study = :value", document("study", "run", factors={})),
    "session-time": ("UPDATE session SET started = 'yesterday'", None),
    "session-environment": ("UPDATE session SET environment = '{}'", None),
    "table-gone": ("DROP TABLE failure", None),
    "a-view": ("CREATE VIEW more AS SELECT 1", None),
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the directory of an unfinished run of two blocks."""
    directory = tmp_path_factory.mktemp("runs") / "mine"
    make_run(directory, 2, trials=9)
    return directory


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_run_file_is_told(nettrial, sound, damage):
    directory = nettrial.directory / "mine"
    shutil.copytree(sound, directory)
    statement, value = DAMAGES[damage]
    change(directory, statement, **({"value": value(sound) if callable(value) else value} if value else {}))
    for command in (RUN_COMMANDS[0], RUN_COMMANDS[6]):
        if damage.startswith("session") and command[0] != "report":
            continue  # The command does not read the session.
        if damage.startswith("record") and command[0] == "run":
            continue  # The run resumes, and its report fails as `report` does.
        if damage == "study-other-backend" and command[0] != "run":
            continue  # Only a trial needs a backend.
        told = refusal(nettrial, *command)
        assert "mine" in told or "backend" in told


def test_names_of_a_run_file_that_are_no_text_are_damage():
    # The module sqlite3 raises this error if it can't decode a name in one of SQLite's messages.
    with pytest.raises(BadInput, match="UTF-8"), damage(lambda kind, what: BadInput("", kind, what, "", "")):
        b"session\xff".decode()


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_run_file_with_bytes_changed_is_read_or_refused(sound, tmp_path_factory, data):
    directory = tmp_path_factory.mktemp("fuzzed") / "mine"
    shutil.copytree(sound, directory)
    content = bytearray((directory / RUN_FILE).read_bytes())
    for _ in range(data.draw(st.integers(1, 12))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + 8] = data.draw(st.binary(min_size=1, max_size=8))
    (directory / RUN_FILE).write_bytes(content)
    try:
        run = Run.open(directory)
        trial_responses(run)
        assert run.pending() is not None
        assert run.failures() is not None
        assert run.sessions is not None
        for table in export.frames(run).values():
            table()
    except BadInput:
        pass


SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12) | st.sampled_from(
        ["every", "others", "next", "9 Gbit/s", "1 ms", "-1 B", "imix", "1e999 s", "network.mtu"]
    )
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=8), part, max_size=3),
    max_leaves=5,
)  # fmt: skip


def ways(node, way=()):
    """Yields the path to every value of a document."""
    yield way
    entries = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in entries:
        yield from ways(value, (*way, key))


@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_study_with_any_value_anywhere_is_a_study_or_refused(tmp_path_factory, data):
    text = data.draw(st.sampled_from([TEXT, FABRIC]))
    document = yaml_values.read(text)
    way = data.draw(st.sampled_from([way for way in ways(document) if way]))
    node = document
    for step in way[:-1]:
        node = node[step]
    node[way[-1]] = data.draw(VALUES)
    folder = tmp_path_factory.mktemp("study")
    shutil.copy(FOLDER / "jumbo-ipv6" / "published.csv", folder)
    (folder / "study.yaml").write_text(json.dumps(document))
    with contextlib.suppress(BadInput):
        Design.of(load(str(folder)), DesignOptions()).study.published_text()


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    content=st.binary(max_size=60) | st.text("{}[]:,&*!?-<>| \n'\"#%@ax1.~\t", max_size=60).map(str.encode)
)
def test_any_bytes_are_a_study_or_refused(tmp_path_factory, content):
    folder = tmp_path_factory.mktemp("study")
    (folder / "study.yaml").write_bytes(content)
    with pytest.raises(BadInput):
        load(str(folder))
