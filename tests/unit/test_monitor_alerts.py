"""Alerts of a monitor, the tables of its archive, and ndt7 among its measurements."""

import http.server
import json
import sys
import threading

import polars as pl
import pytest

from nettrial.cli.export import export_run
from nettrial.cli.monitor import MonitorOptions, monitor
from nettrial.errors import BadInput
from nettrial.monitor import mesh as meshes
from nettrial.monitor.alerts import Alert, AlertsSettings, States, send
from nettrial.monitor.archive import Archive
from nettrial.monitor.kinds import KINDS
from nettrial.monitor.running import Monitor
from tests.unit.test_monitor import MESH, World
from tests.unit.test_monitor_site import make_archive

ALERT = Alert("alarm", "campus", 1.5, "goodput", "here", "alpha", "Goodput 1 Mbit/s")


def settings(**given):
    return AlertsSettings.model_validate({"command": ["true"], **given})


def causes(states, sequence):
    """Returns the cause of an alert, or None, for each state of a pair's intervals."""
    before, found = None, []
    for now in sequence:
        before, cause = states.cause("pair", before, now)
        found.append(cause)
    return found


def test_an_alert_follows_a_change_of_state_and_not_a_state():
    every = settings(on=["warning", "alarm", "gap", "recovered"], gaps=2)
    found = causes(States(every), ["good", "alarm", "alarm", "warning", "good", "good"])
    assert found == [None, "alarm", None, "warning", "recovered", None]
    found = causes(States(every), ["gap", "gap", "gap", "good", "gap", "good"])
    assert found == [None, "gap", None, "recovered", None, None]
    assert causes(States(settings(on=["gap"])), ["alarm", "good"]) == [None, None]


def test_a_monitor_sends_alerts_and_remembers_them(tmp_path):
    text = MESH + "alerts: {command: [notify], on: [gap, recovered, path], gaps: 2}\n"
    (tmp_path / "mesh.yaml").write_text(text)
    mesh = meshes.load(tmp_path / "mesh.yaml")
    archive = Archive.create(tmp_path / "archive")
    world = World(faults=[(600.0, lambda world: world.gone.add("alpha"))])
    sent = []

    def run(until):
        running = Monitor(mesh, archive, world, world, lambda text: None, sent.append)
        running.begin()
        while world.steady_s < until:
            running.step()
        running.end("stopped")

    run(1500)
    pairs = {(alert.measurement, alert.source, alert.target) for alert in sent}
    assert {alert.cause for alert in sent} == {"gap"}
    assert ("delay", "here", "alpha") in pairs
    assert len(pairs) == len(sent), "one alert for each pair"
    world.gone.clear()
    world.running, world.busy = [], set()
    count = len(sent)
    run(3000)
    assert {alert.cause for alert in sent[count:]} == {"recovered"}
    assert {(each.measurement, each.source, each.target) for each in sent[count:]} == pairs
    archive.close()


def test_a_command_gets_the_alert_on_its_standard_input(tmp_path):
    program = "import sys; open('got.json', 'wb').write(sys.stdin.buffer.read())"
    given = settings(command=[sys.executable, "-c", program])
    assert send(given, ALERT, tmp_path) == []
    found = json.loads((tmp_path / "got.json").read_text())
    assert (found["document"], found["cause"], found["from"], found["to"]) == (
        *("alert", "alarm"),
        *("here", "alpha"),
    )
    (why,) = send(settings(command=["no-such-program"]), ALERT, tmp_path)
    assert why == "there is no no-such-program here"


class _Hook(http.server.BaseHTTPRequestHandler):
    got: list = []

    def do_POST(self):
        self.got.append((self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
        moved = self.path == "/moved"
        self.send_response(302 if moved else 204)
        if moved:
            self.send_header("Location", "/elsewhere")
        self.end_headers()

    def log_message(self, *arguments):
        pass


def test_a_webhook_gets_the_alert_and_redirects_are_not_followed(tmp_path):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Hook) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        base = f"http://127.0.0.1:{server.server_port}"
        assert send(AlertsSettings(webhook=f"{base}/hook"), ALERT, tmp_path) == []
        (why,) = send(AlertsSettings(webhook=f"{base}/moved"), ALERT, tmp_path)
        assert "302" in why
        server.shutdown()
    assert [path for path, _ in _Hook.got] == ["/hook", "/moved"]
    assert _Hook.got[0][1]["text"] == ALERT.text
    (why,) = send(AlertsSettings(webhook=f"{base}/hook"), ALERT, tmp_path)
    assert "refused" in why


def test_a_command_needs_the_option(tmp_path):
    (tmp_path / "mesh.yaml").write_text(MESH + "alerts: {command: [notify]}\n")
    options = MonitorOptions(tmp_path / "mesh.yaml", dry=False, systemd=False, quiet=True)
    with pytest.raises(BadInput, match="--allow-exec"):
        monitor(options)
    assert not (tmp_path / "campus-archive").exists()


@pytest.mark.parametrize(
    ("alerts", "said"),
    [
        ("{}", "one of command and webhook"),
        ("{webhook: 'file:///etc/passwd'}", "http:// or https://"),
        ("{command: []}", "command"),
        ("{command: [x], on: [fire]}", "'warning', 'alarm'"),
    ],
)
def test_faults_of_alerts_are_named(tmp_path, alerts, said):
    (tmp_path / "mesh.yaml").write_text(MESH + f"alerts: {alerts}\n")
    with pytest.raises(BadInput) as error:
        meshes.load(tmp_path / "mesh.yaml")
    assert said in str(error.value)


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_an_archive_is_exported(tmp_path, form, capsys):
    directory = make_archive(tmp_path, 1.5)
    export_run(directory, form, tmp_path / "tables")
    assert "values" in capsys.readouterr().out
    read = {"parquet": pl.read_parquet, "csv": pl.read_csv}[form]
    tables = {path.stem: read(path) for path in (tmp_path / "tables").iterdir()}
    assert set(tables) == {"values", "hours", "gaps", "events", "sessions"}
    assert tables["values"].height == tables["hours"]["n"].sum() > 100
    assert set(tables["gaps"]["reason"]) >= {"host gone"}
    assert tables["hours"].columns[:4] == ["measurement", "from", "to", "at"]
    assert tables["events"].height >= 1


def test_ndt7_is_a_kind_between_this_machine_and_its_servers(tmp_path):
    text = MESH.replace("gamma: {address: 192.0.2.3}", "gamma: {address: 192.0.2.3, serves: ndt7, tls: none}")
    line = "  speed: {kind: ndt7, from: [gamma], to: [here], both_directions: true, every: 5 min}\n"
    (tmp_path / "mesh.yaml").write_text(text + line)
    mesh = meshes.load(tmp_path / "mesh.yaml")
    tasks = [task for task in mesh.tasks() if task.measurement == "speed"]
    assert [task.reverse for task in tasks] == [True, False]
    assert KINDS["ndt7"].seconds(tasks[0]) == 7
    (tmp_path / "mesh.yaml").write_text(text + line.replace("gamma", "alpha"))
    with pytest.raises(BadInput, match="serves: ndt7"):
        meshes.load(tmp_path / "mesh.yaml")
