"""Every stack, and the congestion controls that stacks name."""

import pytest

from nettrial.congestion import CONTROLS
from nettrial.stacks import STACKS
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
