"""The rules of eligible leader replicas (KIP-966) for configs.

While the feature is in force, `min.insync.replicas` has one value for all brokers: it has to be set
for the cluster, and no broker may have a value of its own. Topics may have one.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from broker_lite.control.cluster.features import ELIGIBLE_LEADER_REPLICAS_VERSION
from broker_lite.control.metadata import metadata_records as kinds
from broker_lite.control.metadata.image import BROKER_RESOURCE, TOPIC_RESOURCE, MetadataImage
from broker_lite.control.metadata.metadata_records import MetadataRecord, make
from broker_lite.errors import InvalidConfig
from broker_lite.settings import Settings

CONFIG: Final = "min.insync.replicas"
CLUSTER: Final = ""
"""The name of the resource that holds the configs of all brokers."""


def safety_configs(
    image: MetadataImage, levels: Mapping[str, int], settings: Settings
) -> list[tuple[int, str, dict[str, str | None]]]:
    """Return the configs that have to change together with levels of features.

    Args:
        image: before the change.
        levels: the new levels.
        settings: of the broker, without dynamic ones; their value is set for the cluster.

    Returns:
        For each resource its type, its name and the new values; empty if the feature is not
        switched on.

    Source: ConfigurationControlManager.maybeGenerateElrSafetyRecords.
    """
    if not levels.get(ELIGIBLE_LEADER_REPLICAS_VERSION):
        return []
    changes: list[tuple[int, str, dict[str, str | None]]] = []
    if CONFIG not in image.configs(BROKER_RESOURCE, CLUSTER):
        changes.append((BROKER_RESOURCE, CLUSTER, {CONFIG: str(settings.min_insync_replicas)}))
    changes += [
        (BROKER_RESOURCE, name, {CONFIG: None})
        for name in image.configured(BROKER_RESOURCE)
        if name != CLUSTER and CONFIG in image.configs(BROKER_RESOURCE, name)
    ]
    return changes


def clearings(
    features: Mapping[str, int], altered: Iterable[tuple[int, str, Mapping[str, str | None]]]
) -> list[MetadataRecord]:
    """Return the records that make partitions forget who may lead by an older value of the config.

    Args:
        features: in force.
        altered: for each resource its type, its name and the new values.

    See: C-12, C-13 (ConfigurationControlManager.createClearElrRecordsAsNeeded).
    """
    if not features.get(ELIGIBLE_LEADER_REPLICAS_VERSION):
        return []
    return [
        make(kinds.CLEAR_ELR, topic_name=name if resource_type == TOPIC_RESOURCE else "")
        for resource_type, name, values in altered
        if CONFIG in values
    ]


def check_change(
    features: Mapping[str, int],
    resource: tuple[int, str],
    named: Collection[str],
    values: Mapping[str, str | None],
) -> None:
    """Check that a change of configs keeps `min.insync.replicas` set for the cluster only.

    Args:
        features: in force.
        resource: type and name.
        named: the keys that the request names.
        values: the values to write, None to remove a config.

    Raises:
        InvalidConfig: the change sets it on a broker, or removes it from the cluster.

    See: P-127 (ConfigurationControlManager.validateAlterConfig).
    """
    resource_type, resource_name = resource
    if resource_type != BROKER_RESOURCE or not features.get(ELIGIBLE_LEADER_REPLICAS_VERSION):
        return
    if resource_name != CLUSTER:
        if CONFIG in named or CONFIG in values:
            raise InvalidConfig(f"Broker-level {CONFIG} cannot be altered while ELR is enabled.")
    elif values.get(CONFIG, "") is None:
        raise InvalidConfig(f"Cluster-level {CONFIG} cannot be removed while ELR is enabled.")
