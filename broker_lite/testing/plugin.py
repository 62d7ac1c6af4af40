"""The pytest plugin: declares options, and adds the fixtures once pytest is configured.

Every pytest run in an environment with broker-lite imports it, before coverage is measured and even
if no test uses a broker. So this module does as little as possible.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: "pytest.Parser") -> None:
    """Declare the options for a project's pytest configuration."""
    parser.addini(
        "broker_lite_settings",
        "settings of the `broker` fixture, one NAME=VALUE per line, by Kafka's names",
        type="linelist",
        default=[],
    )
    parser.addini(
        "broker_lite_reset",
        "whether to reset the `broker` fixture before each test that uses it",
        type="bool",
        default=False,
    )
    parser.addini(
        "broker_lite_requests",
        "what the `broker` fixture records of requests: headers, bodies or off",
        default="headers",
    )
    parser.addini(
        "broker_lite_security",
        "security of the `broker` fixture: ssl, mtls, sasl_plaintext or sasl_ssl",
        default="",
    )
    parser.addoption(
        "--broker-lite-keep",
        metavar="DIR",
        help="leave the record of each script of a failed test in DIR, as TEST.brokerlite",
    )


def pytest_configure(config: "pytest.Config") -> None:
    """Add the fixtures."""
    config.addinivalue_line(
        "markers", "broker_reset(wanted=True): whether to reset the broker before the test"
    )
    config.addinivalue_line(
        "markers",
        "broker_script(file, timeout=...): a script during the test, beside the test's module",
    )
    config.addinivalue_line(
        "markers",
        "broker_fault(*keys, **rule): a fault during the test, as broker.fault(); it has to act",
    )
    config.addinivalue_line(
        "markers", "broker_snapshot(name): restore what broker.snapshot(name) kept before the test"
    )
    fixtures = import_module("broker_lite.testing.pytest_plugin.fixtures")
    config.pluginmanager.register(fixtures, "broker_lite_fixtures")
    script_hooks = import_module("broker_lite.testing.pytest_plugin.script_hooks")
    config.pluginmanager.register(script_hooks, "broker_lite_script_hooks")
