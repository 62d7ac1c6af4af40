"""Makes a group member with the wanted protocol, or the newest that the broker supports."""

from broker_lite.client.client import Client
from broker_lite.client.consuming.classic_protocol import ClassicProtocol
from broker_lite.client.consuming.consumer_config import CLASSIC, CONSUMER, ConsumerConfig
from broker_lite.client.consuming.consumer_protocol import ConsumerProtocol
from broker_lite.client.consuming.group_member import GroupMember, Membership
from broker_lite.client.errors import NotSupported
from broker_lite.wire import messages


def make_member(client: Client, group: str, config: ConsumerConfig) -> GroupMember:
    """Make a member; its first poll() joins.

    Args:
        client: of the cluster.
        group: its id.
        config: of the consumer.
    """
    membership = Membership(
        client,
        group,
        instance_id=config.instance_id,
        session_timeout_ms=config.session_timeout_ms,
        commit_interval_s=config.commit_interval_s,
    )
    protocol = config.group_protocol or _newest_protocol(client)
    make = ConsumerProtocol if protocol == CONSUMER else ClassicProtocol
    return GroupMember(membership, make(membership))


def _newest_protocol(client: Client) -> str:
    try:
        client.connection().version_of(messages.ConsumerGroupHeartbeatRequest)
    except NotSupported:
        return CLASSIC
    return CONSUMER
