"""DescribeConfigs (32): the configs of topics, this broker, its loggers, groups, client metrics.

- v0 has is_default instead of the source; v1 synonyms (KIP-226); v3 type and documentation
  (KIP-569); v4 is flexible.

A difference to Kafka: a DescribeConfigs request whose answer would have more than 1,000,000 configs
closes the connection. A request may name one resource again and again (P-120).

Not done: nothing that a client asks for.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from broker_lite.control.cluster.config_rules import node_id_of
from broker_lite.control.metadata.image import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from broker_lite.control.metadata.topic_names import check_topic_name
from broker_lite.errors import BrokerError, InvalidRequest, UnknownTopicOrPartition
from broker_lite.handler.codec import decode, encode_long
from broker_lite.handler.configs import broker_loggers
from broker_lite.handler.configs.broker_loggers import BROKER_LOGGER_RESOURCE
from broker_lite.handler.configs.rights import denied
from broker_lite.handler.context import CloseConnection, HandlerContext, Parts, Request
from broker_lite.handler.large import lazily
from broker_lite.security.acls.acl import Operation
from broker_lite.settings.configs.describe import (
    ConfigEntry,
    describe_broker,
    describe_client_metrics,
    describe_cluster_default,
    describe_group,
    describe_topic,
)
from broker_lite.settings.setting import ConfigSource
from broker_lite.wire import messages

CONFIGS_MAX: Final = 1_000_000
"""The most configs in one answer."""

_RESOURCES: Final = frozenset(
    {
        TOPIC_RESOURCE,
        BROKER_RESOURCE,
        BROKER_LOGGER_RESOURCE,
        GROUP_RESOURCE,
        CLIENT_METRICS_RESOURCE,
    }
)
_IS_DEFAULT_VERSION: Final = 0
_TYPES_SINCE: Final = 3
_MALFORMED: Final = (
    "This most likely occurs because of a request being malformed by the client library or the "
    "message was sent to an incompatible broker. See the broker logs for more details."
)


async def handle(context: HandlerContext, request: Request) -> Parts:
    """Describe the configs of resources, in the order of the request; those denied come last.

    Raises:
        CloseConnection: the answer would be too large.

    Rule: P-120, P-124.
    """
    body = decode(messages.DescribeConfigsRequest, request)
    results = lazily(len(body.resources), _results(context, body, request.api_version))
    response = messages.DescribeConfigsResponse(results=results)
    return await encode_long(messages.DescribeConfigsResponse, response, request)


def _results(
    context: HandlerContext, body: messages.DescribeConfigsRequest, version: int
) -> Iterator[Any]:
    known = all(resource.resource_type in _RESOURCES for resource in body.resources)
    room = CONFIGS_MAX
    refused: list[Any] = []
    for resource in body.resources:
        error = denied(context, Operation.DESCRIBE_CONFIGS, resource) if known else None
        if error is not None:
            refused.append(_failed(resource, error))
            continue
        if known:
            result = _describe(context, body, resource, version)
        else:
            result = _failed(resource, InvalidRequest(_MALFORMED))
        room -= len(result.configs)
        if room < 0:
            raise CloseConnection(f"DescribeConfigs asks for more than {CONFIGS_MAX} configs")
        yield result
    yield from refused


def _describe(
    context: HandlerContext,
    body: messages.DescribeConfigsRequest,
    resource: "messages.DescribeConfigsRequest.DescribeConfigsResource",
    version: int,
) -> "messages.DescribeConfigsResponse.DescribeConfigsResult":
    try:
        entries = _entries(context, resource)
    except BrokerError as error:
        return _failed(resource, error)
    return messages.DescribeConfigsResponse.DescribeConfigsResult(
        error_message="",
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=[_config(entry, body, version) for entry in entries],
    )


def _failed(
    resource: "messages.DescribeConfigsRequest.DescribeConfigsResource", error: BrokerError
) -> "messages.DescribeConfigsResponse.DescribeConfigsResult":
    return messages.DescribeConfigsResponse.DescribeConfigsResult(
        error_code=int(error.code),
        error_message=error.message or "",
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


def _entries(
    context: HandlerContext, resource: "messages.DescribeConfigsRequest.DescribeConfigsResource"
) -> Sequence[ConfigEntry]:
    """Return the requested configs of a resource.

    Rule: P-123 (ConfigHelper.describeConfigs).
    See: P-121, P-132, P-134, G-91.
    """
    name, keys = resource.resource_name, resource.configuration_keys
    cluster, settings = context.cluster, context.cluster.settings_of(context.node_id)
    if resource.resource_type == BROKER_RESOURCE:
        if not name:
            return describe_cluster_default(settings, keys)
        _check_broker_id(name, context.node_id)
        return describe_broker(settings, keys)
    if resource.resource_type == BROKER_LOGGER_RESOURCE:
        return broker_loggers.describe(context.node_id, name, keys)
    if resource.resource_type == GROUP_RESOURCE:
        if not name:
            raise InvalidRequest("Group name must not be empty")
        return describe_group(settings, cluster.configs(GROUP_RESOURCE, name), keys)
    if resource.resource_type == CLIENT_METRICS_RESOURCE:
        if not name:
            raise InvalidRequest("Client metrics subscription name must not be empty")
        return describe_client_metrics(cluster.configs(CLIENT_METRICS_RESOURCE, name), keys)
    check_topic_name(name)
    topic = cluster.topics.get(name)
    if topic is None:
        raise UnknownTopicOrPartition
    return describe_topic(settings, topic.overrides, keys)


def _check_broker_id(name: str, node_id: int) -> None:
    """Rule: P-123."""
    if node_id_of(name, "Broker") != node_id:
        raise InvalidRequest(
            f"Unexpected broker id, expected {node_id} or empty string, but received {name}"
        )


def _config(
    entry: ConfigEntry, body: messages.DescribeConfigsRequest, version: int
) -> "messages.DescribeConfigsResponse.DescribeConfigsResourceResult":
    """Return one config as the response has it in a version.

    Rule: P-125.
    See: P-121, P-122.
    """
    types = messages.DescribeConfigsResponse
    config = types.DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=entry.read_only,
        is_sensitive=entry.is_sensitive,
    )
    if version == _IS_DEFAULT_VERSION:
        config.is_default = entry.is_default
        return config
    config.config_source = int(entry.source)
    if body.include_synonyms:
        config.synonyms = [
            types.DescribeConfigsSynonym(name=one.name, value=one.value, source=int(one.source))
            for one in entry.synonyms
        ]
    if version >= _TYPES_SINCE:
        config.config_type = int(entry.config_type)
        is_told = body.include_documentation or entry.source is ConfigSource.DYNAMIC_BROKER_LOGGER
        config.documentation = entry.documentation if is_told else None
    return config
