"""What a forked process does: it becomes a broker, and tells how it went.

All that a start needs is imported here, once, in the launcher.
"""

import contextlib
import logging
import os
from pathlib import Path
from typing import Final

import broker_lite.coordinator.groups.coordinator  # noqa: F401 - so that no fork has to
from broker_lite import logging_setup
from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.coordinators.start import Coordinators
from broker_lite.errors import KafkaStorageError, SettingsError
from broker_lite.server.run import serve
from broker_lite.settings import Settings, load_settings, with_first_address, with_flag
from broker_lite.testing.plan import Plan

logger = logging.getLogger("broker_lite.testing")

_USAGE_ERROR: Final = 2
_DISK_ERROR: Final = 1
_ORIGIN: Final = "settings"


def warm_up(directory: Path) -> None:
    """Make what a start makes once in a process, by starting a cluster without a server."""
    clock = Clock()
    data_dir = directory / "warm-up"
    cluster = Cluster.open(Settings(), data_dir, clock)
    Coordinators.start(cluster, clock)
    cluster.register([])
    cluster.create_topic("warm-up")
    cluster.close(sync=False)


def run_broker(plan: Plan, orders: int) -> int:
    """Be a broker until it is ordered to stop; a start that fails is told there, in one line.

    Args:
        plan: what kind of broker.
        orders: see server.orders.

    Returns:
        The exit code.
    """
    _redirect(plan.log_path)
    answers = os.dup(orders)
    try:
        settings = plan_settings(plan)
        logging_setup.set_up(settings.broker_lite_log_level, settings.broker_lite_log_format)
        return serve(
            settings,
            data_dir=Path(plan.data_dir),
            ready=lambda address: logger.info("ready on %s", address),
            durable=not plan.is_temporary,
            orders=orders,
        )
    except (SettingsError, KafkaStorageError) as error:
        line = " ".join(str(error).split())
        logger.error("%s", line)
        with contextlib.suppress(OSError):  # nobody wants to know any more
            os.write(answers, f"failed {line}\n".encode())
        return _USAGE_ERROR if isinstance(error, SettingsError) else _DISK_ERROR


def plan_settings(plan: Plan) -> Settings:
    """The settings of a plan; the environment has no say, so that tests are the same everywhere.

    Raises:
        SettingsError: one line that names what is wrong.
    """
    flags = {name: (text, _ORIGIN) for name, text in plan.settings.items()}
    flags["log.dirs"] = (plan.data_dir, "data_dir")
    config = Path(plan.config) if plan.config is not None else None
    settings = load_settings(config, {}, flags=flags)
    if plan.host is None and plan.port is None:
        return settings
    listeners = with_first_address(settings, plan.host, plan.port)
    return with_flag(settings, "listeners", listeners, "host, port")


def _redirect(log_path: str) -> None:
    """Read from nothing, and print into the log."""
    for number, path, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND),
    ):
        fd = os.open(path, flags, 0o600)
        os.dup2(fd, number)
        os.close(fd)
    os.dup2(1, 2)
