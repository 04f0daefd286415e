"""Skips, or in CI fails, tests whose requirements the machine lacks."""

import os
from typing import NoReturn

import pytest


def lacking(why: str) -> NoReturn:
    """Skips the test; in CI, where all requirements are installed, that is a failure."""
    if os.environ.get("CI"):
        pytest.fail(why)
    pytest.skip(why)
