"""Shared by all tests."""

from __future__ import annotations

import signal

import mujoco
import pytest


def pytest_configure(config):
    """A mark for tests that settle criteria of `criteria.md`."""
    config.addinivalue_line("markers", "criteria(*identifiers): the criteria of tests/criteria.md that a test settles")
    if (
        signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    ):  # in the background of a shell; the children of tests must hear it
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="session")
def quiet_mujoco():
    """Models of the corpora set off deprecation warnings of MuJoCo's compiler; here they are only noise."""
    mujoco.set_mju_user_warning(lambda message: None)
    yield
    mujoco.set_mju_user_warning(None)
