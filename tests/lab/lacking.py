"""Skips, or in CI fails, tests that need what the machine lacks."""

import os
from typing import NoReturn

import pytest


def lacking(why: str) -> NoReturn:
    """Skips the test; in CI, whose machine has everything, that is a failure."""
    if os.environ.get("CI"):
        pytest.fail(why)
    pytest.skip(why)
