"""The inventory, and the ways to reach machines."""

import hashlib
import io
import json
import re
from pathlib import Path

import pytest

from nettrial.backends import BACKENDS, Machines
from nettrial.backends.hosts import reach
from nettrial.design import scenario_of
from nettrial.errors import BadInput
from nettrial.machines import Inventory
from nettrial.report.tables import headings
from nettrial.study import load

FAKE_ENGINE = Path(__file__).parents[1] / "fake_engine.py"
HOW_TO = Path(__file__).parents[2] / "docs" / "how-to" / "run-on-machines-of-your-own.md"
ON_LINKS = HOW_TO.with_name("compare-operating-systems.md")
STARTED = (
    "  guest:\n    ssh: root@127.0.0.1\n    starts: [qemu, 'tap,fd={eth1}']\n    interfaces: {eth1: []}\n"
)
"""A machine on the lab's links."""
ALPHA = "  alpha:\n    ssh: root@alpha\n    interfaces: {eth0: [192.0.2.1]}\n"


@pytest.fixture
def write(tmp_path):
    def write(text):
        (tmp_path / "machines.yaml").write_text(f"machines:\n{text}")
        return tmp_path / "machines.yaml"

    return write


def example(page):
    """Returns the inventory on a page, without its first line."""
    (text,) = re.findall(r"```yaml\n( *machines:.*?)```", page.read_text(), re.S)
    return "\n".join(line.removeprefix("    ") for line in text.splitlines()).partition("\n")[2]


def test_the_machine_of_the_how_to_is_on_the_labs_links(write):
    machine = Inventory.load(write(example(ON_LINKS))).machines["debian"]
    assert machine.starts[0] == "qemu-system-x86_64"
    assert machine.interfaces == {"ens4": []}


def test_the_inventory_of_the_how_to_is_one(write):
    found = Inventory.load(write(example(HOW_TO)))
    assert list(found.machines) == ["alpha", "gateway", "beta"]
    assert found.machines["beta"].reached_by == "ssh -T beta sudo -n"
    scenario = scenario_of(load("jumbo-ipv6"), {})
    assert list(found.of([scenario]).machines) == ["alpha", "gateway", "beta"]


def test_an_engine_may_be_a_command_of_the_users(write):
    text = ALPHA.replace("ssh: root@alpha", "engine: [ssh, win, engine.exe]").replace("eth0", "'Ethernet 2'")
    machine = Inventory.load(write(text)).machines["alpha"]
    assert machine.reached_by == "ssh win engine.exe"
    given = json.loads(Machines.of({"alpha": machine}).inventory)["machines"]["alpha"]
    assert given["reach"] == ["ssh", "win", "engine.exe", "machine", "serve"]
    assert given["engine"] is None


@pytest.mark.parametrize(
    ("text", "where", "value"),
    [
        (ALPHA + "    engine: [engine.exe]\n", "machines.alpha.ssh", "both given"),
        (
            ALPHA.replace("ssh: root@alpha", "engine: [engine.exe]") + "    binary: engine\n",
            "machines.alpha.binary",
            "no binary with",
        ),
        (ALPHA + "    colour: red\n", ":5: machines.alpha.colour", "unknown field"),
        (ALPHA + "    command: [docker]\n", "machines.alpha.ssh", "both given"),
        (ALPHA.replace("    ssh: root@alpha\n", ""), "machines.alpha", "missing"),
        (ALPHA.replace("root@alpha", "-oProxyCommand=x"), ":3: machines.alpha.ssh", "-oProxyCommand=x"),
        (ALPHA.replace("192.0.2.1", "fe80::1"), "machines.alpha.interfaces.eth0", "fe80::1"),
        (ALPHA.replace("192.0.2.1", "here"), "machines.alpha.interfaces.eth0", "here"),
        (ALPHA.replace("eth0", "a/b"), "machines.alpha.interfaces.a/b", "a/b"),
        (ALPHA + "    may_change: [everything]\n", "machines.alpha.may_change.0", "everything"),
        (ALPHA + ALPHA.replace("alpha", "beta"), "machines.beta.interfaces.eth0", "192.0.2.1"),
        ("  {}\n", "machines", "{}"),
        (ALPHA.replace("[192.0.2.1]", "[]"), "machines.alpha.interfaces.eth0", "none"),
        (ALPHA + "    may_change: [addresses]\n", "machines.alpha.may_change", "have `starts`"),
        (STARTED.replace("[]", "[192.0.2.1]"), "machines.guest.interfaces.eth1", "192.0.2.1"),
        (STARTED.replace("{eth1}", "3"), "machines.guest.starts", "a command with {eth1}"),
        (STARTED + "    set: left\n", "machines.guest.set", "left"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(write, text, where, value):
    with pytest.raises(BadInput) as raised:
        Inventory.load(write(text))
    message = str(raised.value)
    assert message.startswith("error: reading the inventory: ")
    assert where in message
    assert value in message


def test_only_the_machines_that_a_study_needs_are_reached(write):
    beta = ALPHA.replace("alpha", "beta").replace("2.1", "2.2") + "    nodes: [receiver]\n"
    gamma = ALPHA.replace("alpha", "gamma").replace("2.1", "2.3") + "    nodes: [elsewhere]\n"
    inventory = Inventory.load(write(ALPHA + beta + gamma))
    study = load("jumbo-ipv6").with_overrides({"hosts.sender.machine": "alpha,beta"})
    level = study.factors["hosts.sender.machine"].levels[0]
    scenario = scenario_of(study, {"hosts.sender.machine": level})
    assert scenario.nodes[0].machine == "alpha"
    assert list(inventory.of([scenario]).machines) == ["alpha", "beta"]
    with pytest.raises(BadInput, match="delta"):
        inventory.only(["delta"])


def test_ssh_never_asks_and_a_command_is_taken_as_it_is(write):
    inventory = Inventory.load(write(ALPHA))
    words = reach(inventory.machines["alpha"])
    assert (words[0], words[-2:]) == ("ssh", ["root@alpha", "sh"])
    assert "BatchMode=yes" in words
    other = ALPHA.replace("ssh: root@alpha", "command: [docker, exec, -i, web]")
    assert reach(Inventory.load(write(other)).machines["alpha"]) == ["docker", "exec", "-i", "web", "sh"]


def test_the_engine_is_given_the_machines_and_its_own_name_there(write, monkeypatch):
    monkeypatch.setenv("NETTRIAL_ENGINE", str(FAKE_ENGINE))
    made = Machines.of(Inventory.load(write(ALPHA)).machines)
    (text,) = made.arguments()
    alpha = json.loads(text)["machines"]["alpha"]
    assert re.fullmatch(r"\.local/share/nettrial/engine-[0-9.]+-[0-9a-f]{16}", alpha["engine"])
    assert alpha["interfaces"] == [{"name": "eth0", "addresses": ["192.0.2.1"]}]
    with BACKENDS["hosts"].start(made) as backend:
        assert backend.preflight().missing == []


def test_a_machine_of_another_kind_gets_an_engine_of_its_own(write, monkeypatch):
    monkeypatch.setenv("NETTRIAL_ENGINE", str(FAKE_ENGINE))
    file = write(ALPHA + "    binary: engine-freebsd\n")
    with pytest.raises(BadInput, match=r"engine-freebsd(.|\n)*system and CPU"):
        Machines.of(Inventory.load(file).machines)
    (file.parent / "engine-freebsd").write_bytes(b"an engine")
    given = json.loads(Machines.of(Inventory.load(file).machines).inventory)["machines"]["alpha"]
    assert given["engine"].endswith(f"-{hashlib.sha256(b'an engine').hexdigest()[:16]}")


def run(nettrial, *options):
    return nettrial("run", "jumbo-ipv6", *options)


def test_the_backend_and_its_machines_belong_together(nettrial, write, golden):
    done = run(nettrial, "--backend", "hosts")
    assert done.returncode == 2
    golden("error-no-machines", done.stderr)
    for backend, text, expected in [
        ("sim", ALPHA, "no --machines with this backend"),
        ("lab", ALPHA, "machines: alpha: starts: missing"),
        ("hosts", STARTED, "machines: guest: starts: given\n  expected: --backend lab"),
    ]:
        done = run(nettrial, "--backend", backend, "--machines", str(write(text)))
        assert done.returncode == 2
        assert expected in done.stderr


def test_captures_are_refused_where_there_are_none(nettrial, write):
    done = run(nettrial, "--backend", "hosts", "--machines", str(write(ALPHA)), "--capture", "first")
    assert done.returncode == 2
    assert "the backend hosts captures no packets" in done.stderr


def test_a_link_beside_an_inventory_is_replaced_and_not_followed(nettrial, tmp_path):
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "machines.yaml.part").symlink_to(tmp_path / "mine")
    file = f"--machines={tmp_path / 'machines.yaml'}"
    done = nettrial("machines", "add", file, "--interface=eth0=192.0.2.1", "alpha", "--ssh=root@alpha")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "mine").read_text() == "mine"
    assert list(Inventory.load(tmp_path / "machines.yaml").machines) == ["alpha"]
    assert not (tmp_path / "machines.yaml").is_symlink()


def test_machines_are_added_and_listed(nettrial, tmp_path):
    file = f"--machines={tmp_path / 'machines.yaml'}"
    add = ("machines", "add", file, "--interface=eth0=192.0.2.1,2001:db8::1")
    done = nettrial(*add, "alpha", "--ssh=root@alpha", "--node=sender", "--may-change=mtu")
    assert done.returncode == 0, done.stderr
    done = nettrial("machines", "list", file)
    assert "eth0: 192.0.2.1, 2001:db8::1" in done.stdout
    done = nettrial(*add, "alpha", "--ssh=root@alpha")
    assert (done.returncode, "a name that no other machine has" in done.stderr) == (2, True)
    done = nettrial(*add, "beta", "--command=docker exec -i web")
    assert (done.returncode, "alpha has the same address" in done.stderr) == (2, True)
    other = ("machines", "add", file, "--interface=eth0=192.0.2.2", "beta")
    assert nettrial(*other).returncode == 2
    assert nettrial(*other, "--command=docker exec -i web").returncode == 0
    assert list(Inventory.load(tmp_path / "machines.yaml").machines) == ["alpha", "beta"]


def test_the_study_for_real_radios_has_the_figures_of_its_modelled_form():
    machines, modelled = load("wlan-machines"), load("wlan-stacks")
    assert machines.backend == "hosts"
    assert machines.network.wlan is None
    assert machines.published_text() == modelled.published_text()
    assert machines.conclusions == modelled.conclusions


def test_headings_say_which_system_a_machine_has():
    study = load("jumbo-ipv6").with_overrides({"hosts.receiver.machine": "beta,delta"})
    found = headings(study, {"beta": "Debian GNU/Linux 12 (bookworm)", "alpha": "Alpine"})
    assert any(heading.endswith("beta (Debian GNU/Linux 12 (bookworm))") for heading in found.values())
    assert not any("delta (" in heading for heading in found.values())
    assert headings(study, {}) == {}


JOURNAL = """#!/bin/sh
kept='{"key": "0123456789ab", "entry": "the MTU of eth7", "why": "gone", "is_absent": true}'
[ $# = 2 ] && echo "nettrial-journal {\\"kept\\": [$kept]}" && exit
echo "nettrial-journal {\\"forgotten\\": [\\"$3\\"]}"
"""


@pytest.fixture
def forgetful(write, tmp_path):
    """An inventory with a machine whose engine has an entry that can't be carried out."""
    engine = tmp_path / "far-engine"
    engine.write_text(JOURNAL)
    engine.chmod(0o700)
    return write(f"  alpha:\n    engine: ['{engine}']\n    interfaces: {{eth0: [192.0.2.1]}}\n")


@pytest.mark.parametrize(("answer", "status"), [("y\n", 0), ("n\n", 2), ("", 2)])
def test_entries_are_discarded_after_a_yes_at_the_terminal(nettrial, forgetful, monkeypatch, answer, status):
    terminal = io.StringIO(answer)
    terminal.isatty = lambda: True
    monkeypatch.setattr("sys.stdin", terminal)
    done = nettrial("machines", "forget", "alpha", "--machines", str(forgetful))
    assert done.returncode == status
    assert "alpha: the MTU of eth7: gone" in done.stderr
    assert ("forgot 0123456789ab" in done.stderr) == (status == 0)


def test_an_answer_that_would_be_a_command_is_refused(nettrial, forgetful, tmp_path):
    engine = tmp_path / "far-engine"
    engine.write_text(engine.read_text().replace("0123456789ab", "; rm -r ~"))
    done = nettrial("machines", "forget", "alpha", "--yes", "--machines", str(forgetful))
    assert (done.returncode, "it sent an invalid answer" in done.stderr) == (3, True)
