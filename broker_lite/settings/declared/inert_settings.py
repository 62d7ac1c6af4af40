"""Settings of Kafka that are common in files, but have no effect on the brokers of one process.

They are checked, stored and described, so that a file for Kafka can be used as it is.
"""

from typing import Final

from broker_lite.settings.setting import ConfigType, Setting
from broker_lite.settings.values import Between, Validator

_ROWS: Final[tuple[tuple[str, ConfigType, str | None, Validator | None, bool], ...]] = (
    ("background.threads", ConfigType.INT, "10", Between(1), True),
    ("controller.quorum.bootstrap.servers", ConfigType.LIST, "", None, False),
    ("controller.quorum.voters", ConfigType.LIST, "", None, False),
    ("controller.quorum.election.backoff.max.ms", ConfigType.INT, "1000", Between(0), False),
    ("controller.quorum.election.timeout.ms", ConfigType.INT, "1000", Between(0), False),
    ("controller.quorum.fetch.timeout.ms", ConfigType.INT, "2000", Between(0), False),
    ("controller.quorum.request.timeout.ms", ConfigType.INT, "2000", Between(0), False),
    ("controller.quorum.retry.backoff.ms", ConfigType.INT, "20", Between(0), False),
    ("controller.socket.timeout.ms", ConfigType.INT, "30000", None, False),
    ("delete.records.purgatory.purge.interval.requests", ConfigType.INT, "1", None, False),
    ("fetch.purgatory.purge.interval.requests", ConfigType.INT, "1000", None, False),
    (
        "metric.reporters",
        ConfigType.LIST,
        "org.apache.kafka.common.metrics.JmxReporter",
        None,
        True,
    ),
    ("metrics.num.samples", ConfigType.INT, "2", Between(1), False),
    ("metrics.recording.level", ConfigType.STRING, "INFO", None, False),
    ("metrics.sample.window.ms", ConfigType.LONG, "30000", Between(1), False),
    ("num.io.threads", ConfigType.INT, "8", Between(1), True),
    ("num.network.threads", ConfigType.INT, "3", Between(1), True),
    ("num.replica.alter.log.dirs.threads", ConfigType.INT, None, None, False),
    ("num.replica.fetchers", ConfigType.INT, "1", Between(1), True),
    ("producer.purgatory.purge.interval.requests", ConfigType.INT, "1000", None, False),
    ("replica.fetch.backoff.ms", ConfigType.INT, "1000", Between(0), False),
    ("replica.fetch.max.bytes", ConfigType.INT, "1048576", Between(0), False),
    ("replica.fetch.min.bytes", ConfigType.INT, "1", None, False),
    ("replica.fetch.response.max.bytes", ConfigType.INT, "10485760", Between(0), False),
    ("replica.fetch.wait.max.ms", ConfigType.INT, "500", None, False),
    ("replica.socket.receive.buffer.bytes", ConfigType.INT, "65536", None, False),
    ("replica.socket.timeout.ms", ConfigType.INT, "30000", None, False),
    ("socket.connection.setup.timeout.max.ms", ConfigType.LONG, "30000", None, False),
    ("socket.connection.setup.timeout.ms", ConfigType.LONG, "10000", None, False),
)

INERT_SETTINGS: Final = tuple(
    Setting(
        name,
        kind,
        default,
        "Has no effect; accepted for compatibility with Kafka.",
        validator,
        dynamic=dynamic,
    )
    for name, kind, default, validator, dynamic in _ROWS
)
