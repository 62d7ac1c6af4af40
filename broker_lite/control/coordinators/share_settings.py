"""Reads what is set for a share group of the configs of a cluster."""

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.metadata.image import GROUP_RESOURCE
from broker_lite.coordinator.share_records.settings import ShareSettings
from broker_lite.settings.configs.group_config import group_config_value


def share_settings(cluster: Cluster, group_id: str) -> ShareSettings:
    """Return the settings of a group.

    See: G-91.
    """
    settings = cluster.settings
    configs = cluster.configs(GROUP_RESOURCE, group_id)

    def number(name: str) -> int:
        value = group_config_value(settings, configs, name)
        assert isinstance(value, int)
        return value

    isolation = group_config_value(settings, configs, "share.isolation.level")
    renew = group_config_value(settings, configs, "share.renew.acknowledge.enable")
    return ShareSettings(
        lock_duration_ms=number("share.record.lock.duration.ms"),
        delivery_count_max=number("share.delivery.count.limit"),
        locks_max=number("share.partition.max.record.locks"),
        offset_reset=str(group_config_value(settings, configs, "share.auto.offset.reset")),
        is_committed=isolation == "read_committed",
        may_renew=renew is True,
    )
