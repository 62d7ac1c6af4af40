"""The pytest plugin: options, and the fixtures once pytest is configured.

It is imported in every run of pytest in an environment that has broker-lite: before coverage is
measured, and whether or not a test wants a broker. So this module does next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: "pytest.Parser") -> None:
    """Declare what can be set in the project's pytest configuration."""
    parser.addini(
        "broker_lite_settings",
        "settings of the `broker` fixture, one NAME=VALUE a line, by Kafka's names",
        type="linelist",
        default=[],
    )
    parser.addini(
        "broker_lite_reset",
        "whether the `broker` fixture begins anew before each test that uses it",
        type="bool",
        default=False,
    )


def pytest_configure(config: "pytest.Config") -> None:
    """Add the fixtures."""
    config.addinivalue_line(
        "markers",
        "broker_reset(wanted=True): whether the broker begins anew with nothing before the test",
    )
    fixtures = import_module("broker_lite.testing.fixtures")
    config.pluginmanager.register(fixtures, "broker_lite_fixtures")
