"""Runs of pytest inside the tests."""

pytest_plugins = ["pytester"]
