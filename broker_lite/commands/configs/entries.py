"""Asks brokers for the configs of resources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from broker_lite.client import Client
from broker_lite.commands.shared.kafka_errors import check_told
from broker_lite.wire import messages

TOPIC: Final = 2
BROKER: Final = 4
BROKER_LOGGER: Final = 8
CLIENT_METRICS: Final = 16
GROUP: Final = 32

DEFAULT_CONFIG: Final = 5
# The sources of a value, as Kafka's tools print them.
SOURCES: Final[Mapping[int, str]] = {
    1: "DYNAMIC_TOPIC_CONFIG",
    2: "DYNAMIC_BROKER_CONFIG",
    3: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    4: "STATIC_BROKER_CONFIG",
    DEFAULT_CONFIG: "DEFAULT_CONFIG",
    6: "DYNAMIC_BROKER_LOGGER_CONFIG",
    7: "DYNAMIC_CLIENT_METRICS_CONFIG",
    8: "DYNAMIC_GROUP_CONFIG",
}

Resource: TypeAlias = tuple[int, str]  # type and name
Entry: TypeAlias = "messages.DescribeConfigsResponse.DescribeConfigsResourceResult"


def describe_configs(
    client: Client, resources: Iterable[Resource], *, synonyms: bool = False
) -> Mapping[Resource, list[Entry]]:
    """Ask for all configs of some resources.

    Args:
        client: of the cluster.
        resources: configs of a broker are asked of that broker.
        synonyms: whether to ask for the values of each entry in other sources.

    Raises:
        ClientError: a broker refused.
    """
    by_node: dict[int | None, list[Resource]] = {}
    for resource in resources:
        by_node.setdefault(node_of(resource), []).append(resource)
    found: dict[Resource, list[Entry]] = {}
    request = messages.DescribeConfigsRequest
    for node_id, asked in by_node.items():
        value = request(
            resources=[
                request.DescribeConfigsResource(
                    resource_type=kind, resource_name=name, configuration_keys=None
                )
                for kind, name in asked
            ],
            include_synonyms=synonyms,
        )
        for result in client.request(value, node_id=node_id).results:
            check_told(result.resource_name, result.error_code, result.error_message)
            found[result.resource_type, result.resource_name] = result.configs
    return found


def node_of(resource: Resource) -> int | None:
    """Return the broker to ask about a resource; None for any."""
    kind, name = resource
    return int(name) if kind in {BROKER, BROKER_LOGGER} and name else None
