"""The output of the commands: text, stream and exit status."""

import errno
import json
import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from nettrial.backends import BACKENDS
from nettrial.cli import init, listing, measure, options
from nettrial.cli.app import app, parser_of
from nettrial.cli.help import EXAMPLES, GROUPS
from nettrial.design import scenario_of
from nettrial.errors import BadInput
from nettrial.machines import Inventory
from nettrial.measuring.options import MeasureOptions, with_unit
from nettrial.metrics import METRICS
from nettrial.report.numbers import as_time
from nettrial.stacks import STACKS
from nettrial.store import Run
from nettrial.study import load
from nettrial.topology import TOPOLOGIES
from nettrial.units import DURATION, RATE, SIZE
from tests.unit.synthetic import make_run

VECTOR = Path(__file__).parents[1] / "vectors" / "path.json"
SHIPPED = Path(__file__).parents[2] / "studies" / "jumbo-ipv6"


@pytest.mark.parametrize(
    "command",
    [
        "",
        "init",
        "run",
        "report",
        "export",
        "import",
        "watch",
        "book",
        "compare",
        "pool",
        "predict",
        "calibrate",
        "list",
        "draw",
        "doctor",
        "path",
        "serve",
        "measure",
        "monitor",
        "machines",
        "machines check",
        "machines list",
        "machines add",
        "machines install",
        "machines restore",
        "machines forget",
        "systems",
        "systems add",
        "systems list",
        "systems check",
        "systems calibrate",
        "systems remove",
    ],
)
def test_help(nettrial, golden, command):
    done = nettrial(*command.split(), "--help")
    assert (done.returncode, done.stderr) == (0, "")
    golden(f"help-{command.replace(' ', '-')}".removesuffix("-"), done.stdout)


@pytest.mark.parametrize("what", ["studies", "topologies", "metrics", "stacks", "congestion", "backends"])
def test_list(nettrial, golden, what):
    done = nettrial("list", what)
    assert (done.returncode, done.stderr) == (0, "")
    golden(f"list-{what}", done.stdout)
    registry = {"topologies": TOPOLOGIES, "metrics": METRICS, "stacks": STACKS, "backends": BACKENDS}.get(
        what
    )
    if registry:
        assert [line.split()[0] for line in done.stdout.splitlines()[1:]] == list(registry)


def test_a_dry_run_says_what_would_run_and_runs_nothing(nettrial, golden):
    done = nettrial("run", "--dry-run", "jumbo-ipv6")
    assert done.returncode == 0, done.stderr
    assert done.stderr.endswith("; all can run, none was run\n")
    golden("dry-run", done.stdout)
    assert list(nettrial.directory.iterdir()) == []


def test_a_dry_run_takes_the_options_of_run(nettrial, golden):
    done = nettrial(
        "run",
        "--dry-run",
        "jumbo-ipv6",
        "--set",
        "mtu=9000",
        "--set",
        "network.ip=4,6",
        "--replicates",
        "1",
        "--seed",
        "7",
    )
    golden("dry-run-options", done.stdout)


def test_a_dry_run_says_what_full_changes(nettrial, golden):
    done = nettrial("run", "--dry-run", "mtu-packet-size", "--full")
    assert done.returncode == 0, done.stderr
    golden("dry-run-full", done.stdout)
    assert "Changed by --full" not in nettrial("run", "--dry-run", "mtu-packet-size").stdout


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_every_command_has_a_group_and_examples_in_its_help(nettrial, option):
    commands = typer.main.get_command(app).commands
    assert {name for names in GROUPS.values() for name in names} == set(commands)
    below = {
        f"{group} {name}": each
        for group in ("machines", "systems")
        for name, each in commands[group].commands.items()
    }
    assert set(EXAMPLES) == {"", *commands, *below}
    assert not [line for each in EXAMPLES.values() for line in each if len(line) > 76]
    room = 76 - max(map(len, commands))
    assert not [name for name, each in (commands | below).items() if "..." in each.get_short_help_str(room)]
    shown = nettrial("report", option).stdout
    assert all(f"\n    {line}\n" in f"{shown}\n" for line in EXAMPLES["report"])


def test_a_study_begins_from_a_template_and_can_run(nettrial):
    done = nettrial("init", "mine")
    assert (done.returncode, done.stdout) == (0, "")
    assert "next: nettrial run --dry-run mine/study.yaml" in done.stderr
    done = nettrial("run", "mine/study.yaml", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].endswith(" (mine)")
    assert "6 trials" in done.stderr
    one = nettrial("run", "mine/study.yaml", "--dry-run", "--replicates", "1", "--set", "mtu=1500")
    assert ": 1 trial, " in one.stderr
    assert sorted(each.name for each in nettrial.directory.iterdir()) == ["mine"]
    done = nettrial("init", "mine")
    assert (done.returncode, done.stdout) == (2, "")
    assert "mine exists" in done.stderr


@pytest.mark.parametrize("source", ["examples/bufferbloat", "jumbo-ipv6"])
def test_a_study_begins_from_a_shipped_one(nettrial, source):
    assert nettrial("init", "mine", "--from", source).returncode == 0
    shown = nettrial("run", "--dry-run", "mine", "--backend", "sim")
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.splitlines()[0].endswith("(mine)")
    refused = nettrial("init", "yours", "--from", "bufferbloat")
    assert refused.returncode == 2
    assert "did you mean 'examples/bufferbloat'?" in refused.stderr
    assert "did you mean 'examples/loss'?" in nettrial("init", "yours", "--from", "los").stderr
    assert not (nettrial.directory / "yours").exists()


@pytest.mark.parametrize(
    ("file", "hint"),
    [
        ("net.graphml", "`nettrial draw file --set path=net.graphml` draws it"),
        ("topo.py", "`nettrial init DIR --from-mininet topo.py`"),
        ("two.clab.yml", "`nettrial init DIR --from-containerlab two.clab.yml`"),
    ],
)
def test_a_network_in_place_of_a_study_has_a_hint(nettrial, file, hint):
    (nettrial.directory / file).write_text("")
    refused = nettrial("run", file)
    assert refused.returncode == 2
    assert f"{file} is a network" in refused.stderr
    assert hint in refused.stderr


def test_a_study_that_can_not_be_written_leaves_nothing(tmp_path, monkeypatch):
    def full(*_arguments, **_options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(BadInput) as refused:
        init.write(tmp_path / "mine")
    assert str(refused.value).startswith(
        f"error: writing the study: {tmp_path / 'mine'}: No space left on device"
    )
    assert not (tmp_path / "mine").exists()
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="file/mine: Not a directory"):
        init.write(tmp_path / "file" / "mine")


def test_the_list_of_runs_has_the_reason_why_one_is_unreadable(nettrial):
    make_run(nettrial.directory / "runs" / "mine", 1)
    file = nettrial.directory / "runs" / "mine" / "run.sqlite"
    content = bytearray(file.read_bytes())
    at = content.index(b'"network":')
    content[at + 1] = 0xFF
    file.write_bytes(content)
    (_, row) = nettrial("list", "runs").stdout.splitlines()
    reason = "can't read a table in it: Could not decode to UTF-8 column 'study'"
    assert re.fullmatch(rf"runs/mine +unreadable: {reason} +[\d.]+ [kM]?B", row)


def test_runs_are_listed_with_their_state(nettrial):
    for directory in ("runs", "."):
        done = nettrial("list", "runs", directory)
        said = "no runs yet: `nettrial run STUDY` stores one in the directory runs\n"
        assert (done.returncode, done.stdout, done.stderr) == (0, said, "")
    assert json.loads(nettrial("list", "runs", "--json").stdout)["runs"] == []
    assert nettrial("list", "runs", "results").returncode == 2
    make_run(nettrial.directory / "runs" / "whole", 2)
    make_run(nettrial.directory / "runs" / "part", 2, trials=5)
    rows = nettrial("list", "runs").stdout.splitlines()[1:]
    assert [row.split("  ")[0] for row in rows] == ["runs/part", "runs/whole"]
    assert "5 of 24 trials" in rows[0]
    assert "finished: 24 trials" in rows[1]
    (part, _) = json.loads(nettrial("list", "runs", "--json").stdout)["runs"]
    assert (part["study"], part["state"]) == ("jumbo-ipv6", "5 of 24 trials")


def test_doctor_looks_at_the_backend_that_was_asked_for(nettrial):
    assert nettrial("doctor", "sim", FAKE_MISSING="1").returncode == 0
    assert nettrial("doctor", "lab", FAKE_MISSING="1").returncode == 3
    assert nettrial("doctor", "hosts").returncode == 2


def test_numbers_without_units_mean_what_they_mean_to_iperf3():
    given = [
        ("5", DURATION),
        ("500 ms", DURATION),
        ("100M", RATE),
        ("1.5g", RATE),
        ("1400", SIZE),
        ("8K", SIZE),
    ]
    told = [with_unit(quantity, text) for text, quantity in given]
    assert told == ["5 s", "500 ms", "100 Mbit/s", "1.5 Gbit/s", "1400 B", "8 KiB"]


def test_time_is_in_words():
    assert [as_time(seconds) for seconds in (0.4, 59.6, 138, 3600, 7500)] == [
        "0 s",
        "1 min 0 s",
        "2 min 18 s",
        "1 h 0 min",
        "2 h 5 min",
    ]


def test_doctor(nettrial, golden):
    done = nettrial("doctor")
    assert (done.returncode, done.stderr) == (0, "")
    golden("doctor", done.stdout)


def test_doctor_on_a_machine_that_cannot(nettrial, golden):
    done = nettrial("doctor", FAKE_MISSING="1")
    assert (done.returncode, done.stderr) == (3, "")
    golden("doctor-missing", done.stdout)


def test_a_path_is_a_page_or_a_document(nettrial, golden):
    done = nettrial("path", "far.example", "--rate", "100 Gbit/s")
    assert (done.returncode, done.stderr) == (0, "")
    golden("path", done.stdout)
    done = nettrial("path", "far.example", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == json.loads(VECTOR.read_text())


def test_a_path_report_is_kept_in_a_file_that_was_not_there(nettrial):
    done = nettrial("path", "far.example", "--out", "monday.json")
    assert (done.returncode, done.stderr) == (0, "")
    kept = nettrial.directory / "monday.json"
    assert json.loads(kept.read_text()) == json.loads(VECTOR.read_text())
    kept.write_text("mine")
    done = nettrial("path", "far.example", "--out", "monday.json")
    assert (done.returncode, done.stdout, kept.read_text()) == (2, "", "mine")
    assert "--out: monday.json exists" in done.stderr


def test_a_path_that_cannot_be_examined_is_told(nettrial, golden):
    done = nettrial("path", "far.example", FAKE_PATH="refused")
    assert (done.returncode, done.stdout) == (2, "")
    golden("error-path-host", done.stderr)
    done = nettrial("path", "far.example", FAKE_PATH="cannot")
    assert (done.returncode, done.stdout) == (3, "")
    golden("error-path-cannot", done.stderr)


def test_the_commands_start_without_what_only_some_of_them_need():
    slow = ("networkx", "numpy", "polars", "pydantic", "scipy", "statsmodels")
    text = f"import sys, nettrial.cli.app; print([module for module in {slow} if module in sys.modules])"
    done = subprocess.run([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_shell_completes_the_names_of_studies_lists_and_backends(nettrial):
    def completed(words):
        given = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        return nettrial(_NETTRIAL_COMPLETE="complete_bash", **given).stdout.split()

    assert completed("nettrial run jumbo") == [
        "jumbo-ipv6",
        "jumbo-ipv6-ditg",
        "jumbo-ipv6-settings",
        "jumbo-ipv6-stacks",
        "jumbo-ipv6-traffic",
        "jumbo-path",
        "jumbo-transfers",
    ]
    assert completed("nettrial list sta") == ["stacks"]
    assert completed("nettrial run jumbo-ipv6 --backend s") == ["sim"]


def test_version(nettrial):
    assert nettrial("--version").stdout == "nettrial 0.1.0\n"


def prepare(directory):
    """Creates the objects of bad input: studies with errors, and directories that are not runs."""
    text = (SHIPPED / "study.yaml").read_text()
    for name, (old, new) in {
        "field": ("  delay: 0 ms", "  dellay: 0 ms"),
        "level": ("[1500 B, 4000 B, 9000 B]", "[1500 B, wide]"),
        "backend": ("warmup: 2", "warmup: 2\nbackend: labb"),
    }.items():
        (directory / name).mkdir()
        (directory / name / "study.yaml").write_text(text.replace(old, new))
        (directory / name / "published.csv").write_text((SHIPPED / "published.csv").read_text())
    (directory / "exists").mkdir()
    for name, pragma in (("newer", "application_id = 0x6E74726C"), ("other", "application_id = 1")):
        (directory / name).mkdir()
        with sqlite3.connect(directory / name / "run.sqlite") as connection:
            connection.execute(f"PRAGMA {pragma}")
            connection.execute("PRAGMA user_version = 99")
            connection.execute("CREATE TABLE something (x)")


def test_a_dry_run_refuses_what_run_refuses_and_shows_what_this_machine_lacks(nettrial, golden):
    for backend in ("lab", "sim", "hosts"):
        done = nettrial("run", "--dry-run", "jumbo-ipv6", "--backend", backend, "--set", "mtu=500")
        assert done.returncode == 2
        assert done.stdout == ""
    golden("error-small-mtu", nettrial("run", "--dry-run", "jumbo-ipv6", "--set", "mtu=500").stderr)
    # A design is shown even if the machine lacks requirements of the lab, machines or the engine.
    there = nettrial("run", "--dry-run", "jumbo-ipv6").stdout
    for more, lacking, status in (
        ((), {"FAKE_MISSING": "1"}, 3),
        ((), {"NETTRIAL_ENGINE": "/nowhere"}, 3),
        (("--out", "."), {}, 2),
    ):
        done = nettrial("run", "--dry-run", "jumbo-ipv6", *more, **lacking)
        assert (done.returncode, done.stdout) == (status, there)
        assert done.stderr.startswith("error: ")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--dry-run --resume mine", "--dry-run: given\n  expected: not with --resume"),
        ("--out mine --resume mine", "--out: given\n  expected: not with --resume"),
        ("--sessions 2 --resume mine", "--resume: given\n  expected: not with --sessions"),
        ("--another-apparatus", "--another-apparatus: given\n  expected: only with --resume"),
        ("--from mine", "--from: given\n  expected: only with --dry-run"),
        ("--dry-run --from mine --json --until 2%", "--from: mine\n  expected: no --from with --json"),
    ],
)
def test_options_of_run_that_exclude_or_need_others_are_refused(nettrial, options, said):
    done = nettrial("run", "jumbo-ipv6", *options.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert list(nettrial.directory.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "now"),
    [
        ("resume runs/mine", "nettrial run --resume RUN"),
        ("show jumbo-ipv6", "nettrial run --dry-run STUDY"),
        ("runs", "nettrial list runs"),
        ("show --help", "nettrial run --dry-run STUDY"),
    ],
)
def test_a_command_that_became_part_of_another_names_it(nettrial, words, now):
    done = nettrial(*words.split())
    assert (done.returncode, done.stdout) == (2, "")
    name = words.split()[0]
    assert done.stderr == (
        f"error: reading the options: no such command '{name}'\n  hint: nettrial {name} is {now}\n"
    )


BAD_INPUT = {
    "unknown-study": "run jumbo-ip6",
    "unknown-field": "run ./field",
    "wrong-level": "run ./level",
    "unknown-backend": "run ./backend",
    "wrong-level-option": "run jumbo-ipv6 --set mtu=1500,wide",
    "unknown-factor": "run jumbo-ipv6 --set mtv=1500",
    "unknown-stack": "run jumbo-ipv6 --set sender=linux-cubik",
    "unknown-topology": "run jumbo-ipv6 --set network.topology=route",
    "duplicate-level": "run jumbo-ipv6 --set mtu=1500,1500",
    "set-twice": "run jumbo-ipv6 --set mtu=1500 --set mtu=9000",
    "set-without-value": "run jumbo-ipv6 --set mtu",
    "small-mtu": "run jumbo-ipv6 --set mtu=500",
    "small-mtu-among-others": "run jumbo-ipv6 --set mtu=500,1500",
    "small-mtu-of-links": "run jumbo-path --set network.links.host.mtu=500",
    "no-replicates": "run jumbo-ipv6 --replicates 0",
    "full-and-replicates": "run jumbo-ipv6 --full --replicates 3",
    "existing-directory": "run jumbo-ipv6 --out exists",
    "no-study": "run",
    "resume-without-run": "run --resume",
    "resume-missing": "run --resume missing",
    "resume-no-run": "run --resume exists",
    "resume-newer": "run --resume newer",
    "resume-other-file": "run --resume other",
    "report-missing": "report missing",
    "report-newer": "report newer",
    "report-figures": "report missing --figures exists",
    "report-file": "report field/study.yaml",
    "report-run-file": "report newer/run.sqlite",
    "run-of-run": "run newer",
    "watch-missing": "watch missing",
    "watch-newer": "watch newer",
    "watch-port": "watch exists --port 70000",
    "compare-missing": "compare missing missing",
    "seed": "run jumbo-ipv6 --seed x",
    "measure-kind": "measure 127.0.0.1 tpc",
    "measure-host": "measure no-such-host.invalid",
    "measure-ip": "measure 127.0.0.1 --ip 5",
    "measure-time": "measure 127.0.0.1 --time soon",
    "measure-rate": "measure 127.0.0.1 udp --rate 10X",
    "measure-size": "measure 127.0.0.1 udp --size 1400X --time 1s",
    "measure-rr-rate": "measure 127.0.0.1 rr --rate 1Mbit/s",
    "measure-iperf3-rr": "measure 127.0.0.1 rr --iperf3",
    "measure-iperf3-client": "measure -c 127.0.0.1",
    "measure-iperf3-omit": "measure 127.0.0.1 -O 2",
    "measure-iperf3-congestion": "measure 127.0.0.1 -C bbr",
    "measure-other-version": "measure 127.0.0.1 -6",
    "serve-iperf3-server": "serve -s",
    "measure-iperf3-udp": "measure 127.0.0.1 rr -u",
    "measure-iperf3-ip": "measure 127.0.0.1 -4 -6",
    "measure-iperf3-token": "measure 127.0.0.1 --iperf3 --token-file x",
    "serve-bind": "serve --bind elsewhere",
    "monitor-bind": "monitor mesh.yaml --bind elsewhere",
    "serve-iperf3-token": "serve --iperf3 --token-file x",
    "path-ip": "path host --ip 5",
    "path-mtu": "path host --max-mtu 9000x",
    "path-rate": "path host --rate fast",
    "path-port": "path host --port 70000",
    "draw-topology": "draw jellyfysh",
    "draw-parameter": "draw jellyfish --set switchs=45",
    "draw-value": "draw jellyfish --set switches=many",
    "draw-odd": "draw xpander --set switches=46 --set degree=4",
    "draw-ports": "draw jellyfish --set hosts_per_switch=4",
    "draw-none": "draw pair --set links=2",
    "draw-twice": "draw fat-tree --set k=4 --set k=6",
    "draw-file": "draw file --set path=missing.graphml",
    "draw-no-file": "draw file",
    "export-missing": "export nowhere",
    "draw-out": "draw fat-tree --out tree.gif",
    "draw-folder": "draw fat-tree --out missing/tree.svg",
    "unknown-list": "list metric",
    "list-directory": "list studies exists",
    "unknown-option": "run jumbo-ipv6 --replicate 3",
    "unknown-command": "rnu",
}


@pytest.mark.parametrize("name", list(BAD_INPUT))
def test_bad_input_is_one_screen_and_exit_2_and_writes_nothing(nettrial, golden, name):
    prepare(nettrial.directory)
    before = sorted(nettrial.directory.rglob("*"))
    done = nettrial(*BAD_INPUT[name].split())
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) <= 24
    assert sorted(nettrial.directory.rglob("*")) == before
    golden(f"error-{name}", done.stderr)


@pytest.mark.parametrize(
    ("short", "meant"),
    [
        ("-t 3", {"time": "3"}),
        ("-b 100M", {"rate": "100M"}),
        ("-l 8K", {"size": "8K"}),
        ("-p 5201", {"port": 5201}),
        ("-4", {"ip": 4}),
        ("-6", {"ip": 6}),
        ("-u", {"kind": "udp"}),
        ("-P 4", {"parallel": 4}),
        ("-R", {"reverse": True}),
        ("-ub 100M -l1400 -t5", {"kind": "udp", "rate": "100M", "size": "1400", "time": "5"}),
        ("udp -u --ip 6 -6", {"kind": "udp", "ip": 6}),
        ("-J", {}),
    ],
)
def test_the_short_options_of_iperf3_mean_the_same(nettrial, monkeypatch, short, meant):
    given = []
    monkeypatch.setattr(measure, "measure", lambda *of: given.append(of) or 0)
    done = nettrial("measure", "host", *short.split())
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert given == [(MeasureOptions("host", **meant), measure.MeasureOutput(as_json=short == "-J"))]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--set mtu", "SETTING=VALUE,VALUE with one of mtu, congestion_control"),
        ("--set MTU=1500,9000", "did you mean 'mtu'?"),
        ("--set mtu=1500", "2 to 20 different values"),
        ("--set mtu=1500,1500", "2 to 20 different values"),
        ("--set mtu=100,9000", "576 B to 65535 B"),
        ("--set mtu=1500,9000 --set mtu=1500,4000", "each setting once"),
        ("--set parallel=1,200", "1 to 128"),
        ("--set parallel=1,2 -P 3", "none with --set parallel"),
        ("--set ip=4,6 -4", "none with --set ip"),
        ("--set ip=4,5", "4, 6"),
        ("--set congestion_control=cubic,brr", "did you mean 'bbr'?"),
        ("--set transport=tcp,udp", "a rate with --set transport"),
        ("udp --set window=64K,1M", "no window with udp"),
        ("stamp --set mtu=1500,9000", "no --set with stamp"),
        ("--iperf3 --set mtu=1500,9000", "one of parallel, ip, transport with --iperf3"),
    ],
)
def test_settings_that_measure_cannot_compare_are_refused(nettrial, words, said):
    done = nettrial("measure", "127.0.0.1", *words.split(), NETTRIAL_TOKEN="a-token")
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_init_writes_a_study_between_two_machines(nettrial):
    done = nettrial("init", "mine", "--two-hosts")
    assert done.returncode == 0, done.stderr
    study = load(str(nettrial.directory / "mine"))
    assert (study.study, study.backend) == ("mine", "hosts")
    scenario = scenario_of(study, {"mtu": "9000 B"})
    inventory = Inventory.load(nettrial.directory / "mine" / "machines.yaml")
    assert [node.name for node in scenario.nodes] == [
        name for machine in inventory.machines.values() for name in machine.nodes
    ]
    assert scenario.links[0].rate is None
    done = nettrial("init", "other", "--two-hosts", "--from", "jumbo-ipv6")
    assert (done.returncode, "none with --from" in done.stderr) == (2, True)


def test_a_machine_that_cannot_is_exit_3_with_every_reason(nettrial, golden):
    done = nettrial("run", "jumbo-ipv6", FAKE_MISSING="1")
    assert (done.returncode, done.stdout) == (3, "")
    assert list(nettrial.directory.iterdir()) == []
    golden("error-cannot-run", done.stderr)


def test_no_engine_is_exit_3(nettrial, golden):
    done = nettrial("run", "jumbo-ipv6", NETTRIAL_ENGINE="/nowhere/nettrial-engine")
    assert (done.returncode, done.stdout) == (3, "")
    golden("error-no-engine", done.stderr)


def test_a_run(nettrial, golden):
    done = nettrial(
        "run", "jumbo-ipv6", "--set", "mtu=1500,9000", "--replicates", "2", "--seed", "7", "--out", "mine"
    )
    assert done.returncode == 0
    golden("run-progress", done.stderr)
    assert "Jumbo frames over IPv6" in done.stdout
    assert "trials," not in done.stdout
    assert sorted(path.name for path in (nettrial.directory / "mine").iterdir()) == [
        "nettrial.log",
        "report.html",
        "run.sqlite",
    ]
    run = Run.open(nettrial.directory / "mine")
    assert run.command == "nettrial run jumbo-ipv6 --set mtu=1500,9000 --replicates 2 --backend lab --seed 7"
    assert [trial.planned for trial in run.trials()] == run.plan
    assert len(run.plan) == 16
    assert [session.note for session in run.sessions] == ["finished"]
    assert run.published_text == (SHIPPED / "published.csv").read_text()

    (nettrial.directory / "mine" / "report.html").unlink()
    again = nettrial("report", "mine")
    assert (again.returncode, again.stdout) == (0, done.stdout)
    assert again.stderr == "report: mine/report.html\n"
    assert (nettrial.directory / "mine" / "report.html").exists()


def test_an_export_is_files_of_tables_and_refuses_what_there_is(nettrial, golden):
    assert nettrial(*SHORT).returncode == 0
    done = nettrial("export", "mine")
    assert (done.returncode, done.stderr) == (0, "exported: mine/export-parquet\n")
    golden("export", done.stdout)
    *listed, without_rows = done.stdout.splitlines()[1:]
    names = [line.split()[0] for line in listed]
    names += without_rows.removeprefix("without rows: ").split(", ")
    files = (nettrial.directory / "mine" / "export-parquet").iterdir()
    assert sorted(file.name for file in files) == sorted(f"{name}.parquet" for name in names)
    again = nettrial("export", "mine")
    assert (again.returncode, again.stdout) == (2, "")
    golden("error-export-existing", again.stderr)
    assert nettrial("export", "mine", "--to", "csv", "--out", "tables").returncode == 0
    flows = (nettrial.directory / "tables" / "flows.csv").read_text()
    assert len(flows.splitlines()) == 1 + 2 * 4
    other = nettrial("export", "mine", "--to", "excel")
    assert (other.returncode, other.stdout) == (2, "")
    golden("error-export-form", other.stderr)


def test_a_run_has_a_name_and_a_seed_of_its_own(nettrial_process):
    nettrial = nettrial_process
    for _ in range(2):
        assert nettrial("run", "jumbo-ipv6", "--set", "mtu=1500", "--replicates", "1").returncode == 0
        for path in (nettrial.directory / "runs").glob("jumbo-ipv6-*"):
            path.rename(path.with_name(f"{len(list((nettrial.directory / 'runs').iterdir()))}"))
    runs = [Run.open(path) for path in (nettrial.directory / "runs").iterdir()]
    assert len({run.seed for run in runs}) == len(runs) == 2
    assert all(f"--seed {run.seed}" in run.command for run in runs)


SHORT = ("run", "jumbo-ipv6", "--set", "mtu=1500", "--replicates", "1", "--seed", "1", "--out", "mine")


def test_failed_trials_are_exit_4_and_tried_again(nettrial_process, golden):
    nettrial = nettrial_process
    done = nettrial(*SHORT, FAKE_FAIL="2", FAKE_DIE="3")
    assert done.returncode == 4
    golden("run-failed", done.stderr)
    run = Run.open(nettrial.directory / "mine")
    assert [failure.planned.number for failure in run.failures()] == [2, 3]
    assert "panicked" in run.failures()[1].message

    again = nettrial("run", "--resume", "mine")
    assert again.returncode == 0
    run = Run.open(nettrial.directory / "mine")
    assert ([trial.planned for trial in run.trials()], run.failures()) == (run.plan, [])
    assert len(run.sessions) == 2


def test_warnings_are_failures_if_strict(nettrial_process, golden):
    nettrial = nettrial_process
    done = nettrial(*SHORT, "--strict", FAKE_WARN="2")
    assert done.returncode == 4
    golden("run-strict", done.stderr)
    run = Run.open(nettrial.directory / "mine")
    assert len(run.trials()[1].record.warnings) == 1
    assert run.failures() == []
    assert nettrial("run", "--resume", "mine").returncode == 0
    assert nettrial("run", "--resume", "mine", "--strict").returncode == 4


def test_resuming_a_finished_run_says_so_and_reports_it_again(nettrial):
    first = nettrial(*SHORT)
    (nettrial.directory / "mine" / "report.html").unlink()
    done = nettrial("run", "--resume", "mine", NETTRIAL_ENGINE="/nowhere")
    assert (done.returncode, done.stdout) == (0, first.stdout)
    assert done.stderr == "the run in mine is finished\nreport: mine/report.html\n"
    assert nettrial("run", "jumbo-ipv6", "--resume", "mine").returncode == 0
    assert nettrial(*SHORT[:-2], "--resume", "mine").returncode == 0
    other = nettrial("run", "other-study", "--resume", "mine")
    assert (other.returncode, other.stdout) == (2, "")
    assert "the run in mine is of this study" in other.stderr


def test_figures_are_not_put_where_something_is(nettrial, golden):
    nettrial(*SHORT)
    (nettrial.directory / "paper").mkdir()
    done = nettrial("report", "mine", "--figures", "paper")
    assert (done.returncode, done.stdout) == (2, "")
    golden("error-figures-exist", done.stderr)
    assert list((nettrial.directory / "paper").iterdir()) == []


def test_resuming_with_another_plan_is_refused(nettrial, golden):
    nettrial(*SHORT)
    done = nettrial("run", "--resume", "mine", "--replicates", "9", "--set", "mtu=1500")
    assert (done.returncode, done.stdout) == (2, "")
    golden("error-resume-other-plan", done.stderr)


def test_a_place_that_cannot_be_written_is_told(nettrial_process):
    nettrial_process(*SHORT)
    (nettrial_process.directory / "mine" / "report.html").unlink()
    (nettrial_process.directory / "mine" / "report.html").mkdir()
    done = nettrial_process("report", "mine")
    assert done.returncode == 5
    assert done.stderr == "error: mine/report.html: Is a directory\n"


def test_help_names_every_list():
    assert (*listing.LISTS, listing.RUNS) == options.LISTS


@pytest.mark.parametrize("command", ["path", "systems", "systems list"])
def test_a_command_has_the_same_help_alone_as_among_all(command, capsys):
    words, helps = command.split(), []
    assert parser_of(words[0]) is not app
    for parser in (app, parser_of(words[0])):
        with pytest.raises(SystemExit):
            parser([*words, "--help"], prog_name="nettrial")
        helps.append(capsys.readouterr().out)
    assert helps[0] == helps[1] != ""


@pytest.mark.parametrize("command", ["", "pth", "--version"])
def test_what_is_no_command_is_read_among_all(command):
    assert parser_of(command) is app
