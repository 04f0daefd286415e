"""Every stack, and the congestion controls that stacks name."""

import copy

import pytest

from nettrial.congestion import CONTROLS
from nettrial.design import resolve
from nettrial.errors import BadInput
from nettrial.stacks import STACKS
from nettrial.study import Study, load
from nettrial.study.document import Document
from nettrial.units import SIZE


@pytest.mark.parametrize("name", list(STACKS))
def test_every_stack_is_one_that_a_kernel_takes(name):
    profile = STACKS[name]
    assert profile.stack.name == name
    assert profile.source
    assert "windows" not in f"{name} {profile.title}".lower()
    for buffer in (profile.stack.receive_buffer, profile.stack.send_buffer):
        sizes = [SIZE.parse(size.root) for size in (buffer.minimum, buffer.initial, buffer.maximum)]
        assert 0 < sizes[0] <= sizes[1] <= sizes[2] < 2**31


def test_every_stacks_congestion_control_is_a_known_one_and_every_own_one_has_a_stack():
    used = [STACKS[name].stack.congestion_control for name in STACKS]
    assert set(used) <= set(CONTROLS)
    assert {name for name in CONTROLS if CONTROLS[name].own} <= set(used)


@pytest.mark.parametrize("name", list(CONTROLS))
def test_every_congestion_control_is_described_and_has_a_name_a_kernel_takes(name):
    control = CONTROLS[name]
    assert control.title
    assert control.source
    assert control.needs
    assert len(name) <= (6 if control.own else 15)


def changed(**hosts):
    """Returns the study jumbo-ipv6 with a stack of its own, which the sender has with further settings."""
    document = copy.deepcopy(load("jumbo-ipv6").model_dump(by_alias=True, exclude_none=True))
    document["stacks"] = {"mine": {"like": "linux-cubic", "sack": False, "congestion_control": "bbr"}}
    document["hosts"]["sender"] |= hosts
    for name in ("published", "conclusions", "headline"):
        document.pop(name, None)
    document["factors"] = {"mtu": document["factors"]["mtu"]}
    document["layout"] = {"rows": "mtu"}
    return Study.of(Document.in_python(document))


def test_a_study_has_stacks_and_sysctls_of_its_own():
    study = changed(
        stack="mine", sysctls={"net.ipv4.tcp_rmem": "4096  131072 67108864", "net.core.somaxconn": 9}
    )
    resolved = resolve(study, {"mtu": "1500 B"})
    sender = next(node for node in resolved.scenario.nodes if node.name == "sender")
    usual = STACKS["linux-cubic"].stack
    assert (sender.stack.name, sender.stack.sack, sender.stack.congestion_control) == ("mine", False, "bbr")
    assert sender.stack.send_buffer == usual.send_buffer
    assert sender.sysctls == {"net.ipv4.tcp_rmem": "4096 131072 67108864", "net.core.somaxconn": "9"}
    number = resolved.scenario.nodes.index(sender)
    places = {
        f"/nodes/{number}/stack/sack": ("stacks", "mine", "sack"),
        f"/nodes/{number}/stack/timestamps": ("hosts", "sender", "stack"),
        f"/nodes/{number}/sysctls/net.core.somaxconn": ("hosts", "sender", "sysctls", "net.core.somaxconn"),
    }
    assert {pointer: resolved.origins.place(pointer) for pointer in places} == places


def test_a_sysctl_is_a_factor_by_its_path():
    study = changed().with_overrides({"hosts.sender.sysctls.net.ipv4.tcp_reordering": "3,30"})
    name = "hosts.sender.sysctls.net.ipv4.tcp_reordering"
    assert study.factors[name].levels == ["3", "30"]
    scenario = resolve(study, {"mtu": "1500 B", name: "30"}).scenario
    assert [node.sysctls for node in scenario.nodes if node.sysctls] == [{"net.ipv4.tcp_reordering": "30"}]


@pytest.mark.parametrize(
    ("host", "said"),
    [
        ({"stack": "mien"}, "did you mean 'mine'?"),
        ({"sysctls": {"kernel.panic": 1}}, "a sysctl of the network, such as net.ipv4.tcp_rmem"),
        ({"sysctls": {"net.ipv4.tcp_sack": 0}}, "`sack` of a stack of your own"),
    ],
)
def test_other_stacks_and_sysctls_are_refused(host, said):
    with pytest.raises(BadInput) as refused:
        changed(**host)
    assert said in str(refused.value)


def test_a_stack_of_ones_own_has_another_name_than_those_there_are():
    document = changed().model_dump(by_alias=True, exclude_none=True)
    document["stacks"]["classic"] = {"like": "linux-cubic"}
    with pytest.raises(BadInput, match="nettrial has a stack of this name"):
        Study.of(Document.in_python(document))
