"""Runs a broker in a forked process.

The launcher imports this module once, and with it all that a start needs.
"""

import contextlib
import logging
import os
import time
from pathlib import Path
from typing import Final

import broker_lite.coordinator.groups.coordinator  # noqa: F401 - so that no fork has to
from broker_lite import logging_setup
from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.coordinators.start import Coordinators
from broker_lite.errors import KafkaStorageError, SettingsError
from broker_lite.handler.table import load_handlers
from broker_lite.server.run import serve
from broker_lite.settings import Settings, load_settings, with_first_address, with_flag
from broker_lite.settings.sources.broker_count import fit_brokers
from broker_lite.testbench.door import Door, address_of
from broker_lite.testbench.scripts.files import with_script
from broker_lite.testing.processes.plan import Plan

logger = logging.getLogger("broker_lite.testing")

_USAGE_ERROR: Final = 2
_DISK_ERROR: Final = 1
_ORIGIN: Final = "settings"
_SECURITY: Final = "broker.lite.security"


def warm_up(directory: Path) -> None:
    """Start a cluster without a server, to fill the caches that a start would fill."""
    load_handlers()
    clock = Clock()
    data_dir = directory / "warm-up"
    cluster = Cluster.open(Settings(), data_dir, clock)
    Coordinators.start(cluster, clock)
    cluster.register(cluster.node_id, [])
    cluster.create_topic("warm-up")
    cluster.close(sync=False)


def run_broker(plan: Plan, orders: int) -> int:
    """Run a broker until it gets the order to stop; report a failed start in one line.

    Args:
        plan: of the broker.
        orders: see server.orders.

    Returns:
        The exit code.
    """
    _redirect(plan.log_path)
    answers = os.dup(orders)
    try:
        settings = _secured(plan_settings(plan), plan)
        logging_setup.set_up(settings.broker_lite_log_level, settings.broker_lite_log_format)
        return serve(
            settings,
            data_dir=Path(plan.data_dir),
            ready=lambda address: logger.info("ready on %s", address),
            durable=not plan.is_temporary,
            orders=orders,
            bench=Door(
                address_of(settings.broker_lite_control), script=settings.broker_lite_script
            ),
        )
    except (SettingsError, KafkaStorageError) as error:
        line = " ".join(str(error).split())
        logger.error("%s", line)
        with contextlib.suppress(OSError):  # the other end is closed
            os.write(answers, f"failed {line}\n".encode())
        return _USAGE_ERROR if isinstance(error, SettingsError) else _DISK_ERROR


def plan_settings(plan: Plan) -> Settings:
    """Load the settings of a plan; the environment is ignored, for reproducible tests.

    Raises:
        SettingsError: a setting is wrong; the text is one line.
    """
    flags = {name: (text, _ORIGIN) for name, text in plan.settings.items()}
    flags["log.dirs"] = (plan.data_dir, "data_dir")
    config = Path(plan.config) if plan.config is not None else None
    settings = with_script(fit_brokers(load_settings(config, {}, flags=flags)))
    if plan.ports:
        settings = with_flag(settings, "broker.lite.ports", ",".join(map(str, plan.ports)), "ports")
    if plan.host is None and plan.port is None:
        return settings
    listeners = with_first_address(settings, plan.host, plan.port)
    return with_flag(settings, "listeners", listeners, "host, port")


def _secured(settings: Settings, plan: Plan) -> Settings:
    """Return the settings with those that a word of security stands for; make what they need.

    Raises:
        SettingsError: they are wrong, or keys cannot be made.
    """
    if not any(name.startswith(_SECURITY) for name in settings.given):
        return settings
    from broker_lite.security.one_word.keep import prepare
    from broker_lite.settings.sources.one_word import secured

    data_dir = Path(plan.data_dir)
    settings = secured(settings, data_dir)
    if not settings.broker_lite_security:
        return settings
    if "broker.lite.control" not in settings.given:
        # so that clients can get tokens
        settings = with_flag(settings, "broker.lite.control", "127.0.0.1:0", _SECURITY)
    data_dir.mkdir(parents=True, exist_ok=True)
    # Test brokers share a folder for their logs. The first one puts its certificates there, and the
    # others take them, because making them takes a second.
    shared = Path(plan.log_path).parent if plan.is_temporary else None
    prepare(settings, data_dir, time.time(), shared=shared)
    return settings


def _redirect(log_path: str) -> None:
    """Redirect standard input from /dev/null, and output to the log."""
    for number, path, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND),
    ):
        fd = os.open(path, flags, 0o600)
        os.dup2(fd, number)
        os.close(fd)
    os.dup2(1, 2)
