"""Finds settings that need several brokers, because there is only one here."""

from typing import Final

from broker_lite.settings.settings import Settings
from broker_lite.settings.values import join

_MEMBERS: Final = ("controller.quorum.voters", "controller.quorum.bootstrap.servers")
_REPLICAS: Final = (
    "default.replication.factor",
    "offsets.topic.replication.factor",
    "transaction.state.log.replication.factor",
    "transaction.state.log.min.isr",
    "min.insync.replicas",
)


def beyond_one_broker(settings: Settings) -> str | None:
    """Return one line about the settings that need more than one broker.

    Returns:
        The line; None if there are no such settings.
    """
    found = []
    for name in _MEMBERS:
        members = settings.value(name)
        if isinstance(members, tuple) and len(members) > 1:
            found.append(f"{name}={join(members)}")
    for name in _REPLICAS:
        count = settings.value(name)
        if isinstance(count, int) and count > 1:
            found.append(f"{name}={count}")
    if not found:
        return None
    return (
        f"there is one broker, but settings are for several: {' '.join(found)}; it does not"
        " connect to voters, and topics with more than one replica cannot be created"
    )
