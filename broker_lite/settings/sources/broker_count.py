"""What the number of brokers means for other settings: defaults, and a warning about too few.

Kafka's defaults for the topics with the state of groups and transactions suit a cluster of three
brokers or more. Here they grow with the cluster: settings that were not set explicitly become

| setting | value |
| --- | --- |
| `default.replication.factor` | 3, or the number of brokers if there are fewer |
| `offsets.topic.replication.factor` | the same |
| `transaction.state.log.replication.factor` | the same |
| `transaction.state.log.min.isr` | 2, or transaction.state.log.replication.factor if that is less |
| `share.coordinator.state.topic.replication.factor` | 3, or the number of brokers |
| `share.coordinator.state.topic.min.isr` | 2, or the number of its replicas if that is less |
"""

from typing import Final

from broker_lite.settings.settings import Settings
from broker_lite.settings.sources.load import with_flag
from broker_lite.settings.values import join

ORIGIN: Final = "number of brokers"

_REPLICAS_MAX: Final = 3
_IN_SYNC_MAX: Final = 2
_MEMBERS: Final = ("controller.quorum.voters", "controller.quorum.bootstrap.servers")
_TRANSACTION_REPLICAS: Final = "transaction.state.log.replication.factor"
_TRANSACTION_IN_SYNC: Final = "transaction.state.log.min.isr"
_SHARE_REPLICAS: Final = "share.coordinator.state.topic.replication.factor"
_SHARE_IN_SYNC: Final = "share.coordinator.state.topic.min.isr"
_FACTORS: Final = (
    "default.replication.factor",
    "offsets.topic.replication.factor",
    _TRANSACTION_REPLICAS,
    _SHARE_REPLICAS,
)
_REPLICAS: Final = (*_FACTORS, _TRANSACTION_IN_SYNC, _SHARE_IN_SYNC, "min.insync.replicas")


def fit_brokers(settings: Settings) -> Settings:
    """Return the settings with the defaults that suit the number of brokers."""
    replicas = min(_REPLICAS_MAX, settings.broker_lite_brokers)
    for name in _FACTORS:
        settings = _with_default(settings, name, replicas)
    in_sync = min(_IN_SYNC_MAX, settings.transaction_state_log_replication_factor)
    settings = _with_default(settings, _TRANSACTION_IN_SYNC, in_sync)
    in_sync = min(_IN_SYNC_MAX, settings.share_coordinator_state_topic_replication_factor)
    return _with_default(settings, _SHARE_IN_SYNC, in_sync)


def beyond_the_brokers(settings: Settings) -> str | None:
    """Return one line about the settings that need more brokers than there are.

    Returns:
        The line; None if there are no such settings.
    """
    brokers, replicas_max = settings.broker_count, settings.broker_lite_brokers
    found = []
    for name in _MEMBERS:
        members = settings.value(name)
        if isinstance(members, tuple) and len(members) > brokers:
            found.append(f"{name}={join(members)}")
    for name in _REPLICAS:
        count = settings.value(name)
        if isinstance(count, int) and count > replicas_max:
            found.append(f"{name}={count}")
    if not found:
        return None
    if settings.process_count > 1:
        return (
            "a partition has one replica in one process, but settings are for more:"
            f" {' '.join(found)}; voters are not connected to, and topics with more replicas"
            " cannot be created"
        )
    start = (
        "there is one broker, but settings are for several"
        if brokers == 1
        else f"there are {brokers} brokers, but settings are for more"
    )
    return (
        f"{start}: {' '.join(found)}; voters are not connected to, and topics with more replicas"
        " than brokers cannot be created"
    )


def _with_default(settings: Settings, name: str, count: int) -> Settings:
    if name in settings.given or settings.value(name) == count:
        return settings
    return with_flag(settings, name, str(count), ORIGIN)
