import pytest

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
