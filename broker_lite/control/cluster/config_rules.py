"""Checks changes of a resource's configs, and returns the values to write.

Pure functions: they take the current cluster and a request, and return values by key; None restores
the default. Nothing is changed here.

Source: ConfigurationControlManager, ConfigAdminManager, ControllerConfigurationValidator.
"""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.metadata.image import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from broker_lite.control.metadata.topic_names import check_topic_name
from broker_lite.control.telemetry.subscription import check_subscription
from broker_lite.errors import (
    BrokerError,
    InvalidConfig,
    InvalidRequest,
    PolicyViolation,
    UnknownServerError,
    UnknownTopicOrPartition,
)
from broker_lite.settings import (
    TOPIC_SETTINGS,
    find_broker_setting,
    is_list,
    validate_topic_configs,
)
from broker_lite.settings.configs.dynamic import with_dynamic_broker_configs
from broker_lite.settings.configs.group_config import validate_group_configs

Values = Mapping[str, str | None]
"""New values by key; None removes the config."""


class OperationType(IntEnum):
    """An operation of IncrementalAlterConfigs on a key.

    Rule: P-126 (AlterConfigOp.OpType).
    """

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ConfigOperation(NamedTuple):
    """One operation of a request; its code need not be one of OperationType."""

    name: str
    code: int
    value: str | None


_WITHOUT_DEFAULT: Final = frozenset({"controller.listener.names", "process.roles"})
_RIGHTS_FIRST: Final = (TOPIC_RESOURCE, GROUP_RESOURCE, CLIENT_METRICS_RESOURCE)
_SUBSCRIPTIONS_MAX: Final = 1000
_CHANGE_LISTS: Final = (OperationType.APPEND, OperationType.SUBTRACT)


def plan_operations(
    cluster: Cluster,
    resource_type: int,
    resource_name: str,
    operations: Sequence[ConfigOperation],
    *,
    node_id: int | None = None,
    denied: BrokerError | None = None,
) -> Values:
    """Check the operations on one resource.

    Args:
        cluster: the cluster.
        resource_type: 2 for a topic, 4 for a broker, 16 for client metrics, 32 for a group.
        resource_name: its name.
        operations: in the order of the request.
        node_id: the broker that is asked; None for the first one.
        denied: that the client has no right to this. It is raised where Kafka checks rights, so
            that a client learns no more about the resource than from Kafka.

    Returns:
        The values to write; empty if nothing changes.

    Raises:
        InvalidRequest, InvalidConfig, InvalidTopic, UnknownTopicOrPartition, UnknownServerError:
            see the rules.

    Rule: P-126, P-127 (ConfigurationControlManager.incrementalAlterConfigResource).
    """
    check_keys(operations)
    _check_rights(resource_type, denied)
    node_id = cluster.node_id if node_id is None else node_id
    _check_resource(resource_type, resource_name, node_id)
    current = cluster.configs(resource_type, resource_name)
    after = dict(current)
    for operation in operations:
        text = _result(cluster, resource_type, current.get(operation.name), operation)
        if text is None:
            after.pop(operation.name, None)
        else:
            after[operation.name] = text
    changes = _checked_changes(cluster, resource_type, resource_name, after, node_id)
    if denied is not None:
        raise denied
    return changes


def plan_replacement(
    cluster: Cluster,
    resource_type: int,
    resource_name: str,
    configs: Sequence[tuple[str, str | None]],
    *,
    node_id: int | None = None,
    denied: BrokerError | None = None,
) -> Values:
    """Check a whole new set of configs of one resource; configs that are not in it are removed.

    Args:
        cluster: the cluster.
        resource_type: as in plan_operations(), also the next one.
        resource_name: its name.
        configs: names and values.
        node_id: the broker that is asked; None for the first one.
        denied: as in plan_operations().

    Returns:
        The values to write; empty if nothing changes.

    Raises:
        InvalidRequest, InvalidConfig, InvalidTopic, UnknownTopicOrPartition: see the rules.

    Rule: P-128 (ConfigurationControlManager.legacyAlterConfigResource).
    """
    _check_once([name for name, _ in configs])
    _check_no_nulls([name for name, value in configs if value is None])
    _check_rights(resource_type, denied)
    node_id = cluster.node_id if node_id is None else node_id
    _check_resource(resource_type, resource_name, node_id)
    after = {name: value for name, value in configs if value is not None}
    changes = _checked_changes(cluster, resource_type, resource_name, after, node_id)
    if denied is not None:
        raise denied
    return changes


def check_keys(operations: Sequence[ConfigOperation]) -> None:
    """Check that operations name each key once, and have a value if they need one.

    Raises:
        InvalidRequest: they do not.

    See: P-127 (ConfigAdminManager.preprocess).
    """
    _check_once([operation.name for operation in operations])
    _check_no_nulls(
        [o.name for o in operations if o.value is None and o.code != OperationType.DELETE]
    )


def _check_rights(resource_type: int, denied: BrokerError | None) -> None:
    """Check rights before the resource is looked at; for brokers, Kafka does it at the end.

    See: X-57 (ConfigAdminManager.preprocess, ControllerApis.authenticateAlterConfigsResource).
    """
    if denied is not None and resource_type in _RIGHTS_FIRST:
        raise denied


def _check_once(names: Sequence[str]) -> None:
    if len(set(names)) != len(names):
        raise InvalidRequest("Error due to duplicate config keys")


def _check_no_nulls(names: Sequence[str]) -> None:
    if names:
        raise InvalidRequest(f"Null value not supported for : {', '.join(names)}")


def _check_resource(resource_type: int, resource_name: str, node_id: int) -> None:
    """Check that the broker that is asked stores configs of such a resource.

    Rule: P-127.
    """
    if resource_type == TOPIC_RESOURCE:
        if not resource_name:
            raise InvalidRequest("Default topic resources are not allowed.")
        check_topic_name(resource_name)
    elif resource_type == BROKER_RESOURCE:
        if resource_name:
            check_node_id(resource_name, node_id)
    elif resource_type == GROUP_RESOURCE:
        if not resource_name:
            raise InvalidRequest("Default group resources are not allowed.")
    elif resource_type != CLIENT_METRICS_RESOURCE:
        raise InvalidRequest(f"Unknown resource type {resource_type}")


def check_node_id(resource_name: str, node_id: int) -> None:
    """Check that the name of a broker resource is this broker's node id.

    Raises:
        InvalidRequest: it is no number, or another node's.

    Rule: P-127 (ConfigAdminManager.validateResourceNameIsCurrentNodeId).
    """
    asked = node_id_of(resource_name, "Node")
    if asked != node_id:
        raise InvalidRequest(f"Unexpected broker id, expected {node_id}, but received {asked}")


def node_id_of(resource_name: str, whose: str) -> int:
    """Return the node id that is the name of a resource.

    Args:
        resource_name: as the request has it.
        whose: how the error calls the id: "Node" where configs change, "Broker" where they are
            described.

    Raises:
        InvalidRequest: the name is no number.
    """
    try:
        return int(resource_name)
    except ValueError:
        raise InvalidRequest(f"{whose} id must be an integer, but it is: {resource_name}") from None


def _result(
    cluster: Cluster, resource_type: int, current: str | None, operation: ConfigOperation
) -> str | None:
    """Return the text of a key after one operation, or None if the key is removed.

    Rule: P-126.
    """
    name, code, value = operation
    if code == OperationType.DELETE:
        return None
    if code == OperationType.SET:
        return value
    if code not in _CHANGE_LISTS:
        raise UnknownServerError
    kind = OperationType(code)
    if resource_type == CLIENT_METRICS_RESOURCE or not is_list(name):
        raise InvalidConfig(_not_a_list(resource_type, name, kind))
    if current is None:
        current = _default_text(resource_type, name)
    items = [item for item in current.split(",") if item]
    given = (value or "").split(",")
    if kind is OperationType.APPEND:
        return ",".join((*items, *(one for one in dict.fromkeys(given) if one not in items)))
    return ",".join(item for item in items if item not in given)


def _not_a_list(resource_type: int, name: str, kind: OperationType) -> str:
    """Source: ConfigAdminManager.prepareIncrementalConfigs, ConfigurationControlManager."""
    if resource_type == BROKER_RESOURCE:
        return f"Config value {kind.name.lower()} is not allowed for config key: {name}"
    return f"Can't {kind.name} to key {name} because its type is not LIST."


def _default_text(resource_type: int, name: str) -> str:
    """Return the default list that APPEND adds to and SUBTRACT removes from.

    Raises:
        UnknownServerError: the broker's setting has no default; Kafka fails on it, too.
    """
    if resource_type == TOPIC_RESOURCE:
        setting = TOPIC_SETTINGS.get(name)
    else:
        setting = find_broker_setting(name)
    if resource_type == BROKER_RESOURCE and name in _WITHOUT_DEFAULT:
        raise UnknownServerError
    return (setting.default if setting is not None else None) or ""


def _checked_changes(
    cluster: Cluster, resource_type: int, resource_name: str, after: Mapping[str, str], node_id: int
) -> Values:
    """Check a resource's configs after a change, and return the difference to the current ones."""
    if resource_type == TOPIC_RESOURCE:
        validate_topic_configs(cluster.settings, after)
        if resource_name not in cluster.topics:
            raise UnknownTopicOrPartition(f"The topic '{resource_name}' does not exist.")
    elif resource_type == GROUP_RESOURCE:
        validate_group_configs(cluster.settings, after)
    elif resource_type == CLIENT_METRICS_RESOURCE:
        check_subscription(resource_name, after)
        _check_subscription_count(cluster, resource_name, after)
    elif resource_name:
        default = cluster.configs(BROKER_RESOURCE, "")
        with_dynamic_broker_configs(cluster.settings_of(node_id), after, default)
    else:
        own = cluster.configs(BROKER_RESOURCE, str(node_id))
        with_dynamic_broker_configs(cluster.settings_of(node_id), own, after)
    before = cluster.configs(resource_type, resource_name)
    changed: dict[str, str | None] = {
        name: text for name, text in after.items() if before.get(name) != text
    }
    changed.update((name, None) for name in before if name not in after)
    return changed


def _check_subscription_count(
    cluster: Cluster, resource_name: str, after: Mapping[str, str]
) -> None:
    """Check that there is room for one more subscription: each is matched with every new client.

    Rule: P-133.
    """
    names = cluster.configured(CLIENT_METRICS_RESOURCE)
    if after and len(names) >= _SUBSCRIPTIONS_MAX and resource_name not in names:
        raise PolicyViolation(f"There are {_SUBSCRIPTIONS_MAX} client metrics subscriptions.")
