"""The monitor's measurements against real servers, and the reasons that it gives for gaps."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from nettrial.monitor import mesh as meshes
from nettrial.monitor.kinds import KINDS, Task
from nettrial.monitor.outcome import Measured, Missed
from tests.end_to_end.serving import TOKEN, Server, serving

pytestmark = pytest.mark.end_to_end

MESH = """
mesh: loopback
hosts:
  here: {{}}
  served: {{address: 127.0.0.1, serves: nettrial, token_file: token, port: {port}}}
  other: {{address: 127.0.0.1, serves: nettrial, token_file: other, port: {port}}}
  closed: {{address: 127.0.0.1, serves: nettrial, token_file: token, port: 1}}
  silent: {{address: 127.0.0.1, serves: iperf3, port: 1}}
limits: {{share: 100%}}
measurements:
  goodput: {{kind: tcp, from: [here], to: [served, other, closed, silent], every: 10 min, duration: 200 ms}}
  delay: {{kind: rr, from: [served], to: [here], every: 10 min, duration: 200 ms}}
  path: {{kind: path, from: [here], to: [served], every: 10 min}}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("serve")) as server:
        yield server


def outcome(task: Task) -> Measured | Missed:
    try:
        return KINDS[task.settings.kind].run(task)
    except Missed as missed:
        return missed


def test_measurements_have_figures_and_failures_their_reasons(server: Server, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "other").write_text("another-token-than-the-servers")
    (tmp_path / "mesh.yaml").write_text(MESH.format(port=server.port))
    found = {task.key: outcome(task) for task in meshes.load(tmp_path / "mesh.yaml").tasks()}
    reasons = {key: each.reason for key, each in found.items() if isinstance(each, Missed)}
    assert reasons == {
        "goodput here other": "refused",
        "goodput here closed": "host gone",
        "goodput here silent": "host gone",
    }
    for key, headline in (("goodput here served", "goodput"), ("delay served here", "rtt")):
        measured = found[key]
        assert isinstance(measured, Measured)
        assert next(each.value for each in measured.figures if each.name == headline) > 0
        assert measured.bytes > 0
    path = found["path here served"]
    assert isinstance(path, Measured)
    assert path.states["route"] == "1:127.0.0.1"
