"""Runs of pytest inside the tests."""

from tests.testing.pytest_runs import prepare, run, run_apart

__all__ = ["prepare", "run", "run_apart"]

pytest_plugins = ["pytester"]
