"""The settings of share groups, and who is told when they change."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from broker_lite.control.coordinators import share_service
from broker_lite.control.coordinators.share_settings import share_settings
from broker_lite.control.metadata.image import GROUP_RESOURCE, TOPIC_RESOURCE
from broker_lite.coordinator.effects import NO_START, ShareStart
from broker_lite.coordinator.share_records.settings import ShareSettings
from broker_lite.coordinator.share_records.states import ShareKey
from tests.control.group_node import Node

TOPIC = b"t" * 16


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    node = Node(tmp_path / "data", share_coordinator_state_topic_num_partitions="1")
    yield node
    node.cluster.close(sync=False)


def test_g91_a_group_has_its_own_settings(node: Node) -> None:
    assert share_settings(node.cluster, "g") == ShareSettings()
    configs: dict[str, str | None] = {
        "share.record.lock.duration.ms": "20000",
        "share.isolation.level": "read_committed",
        "share.auto.offset.reset": "earliest",
        "share.renew.acknowledge.enable": "false",
    }
    node.cluster.alter_configs([(GROUP_RESOURCE, "g", configs)])
    own = share_settings(node.cluster, "g")
    assert (own.lock_duration_ms, own.is_committed) == (20_000, True)
    assert (own.offset_reset, own.may_renew) == ("earliest", False)
    assert share_settings(node.cluster, "h") == ShareSettings()


def test_each_group_is_read_once_when_configs_change(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    shares = node.groups.shares
    read: list[str] = []

    def reading(cluster: Any, group_id: str) -> ShareSettings:
        read.append(group_id)
        return share_settings(cluster, group_id)

    monkeypatch.setattr(share_service, "share_settings", reading)
    keys = [ShareKey(group, TOPIC, each) for group in ("g", "h") for each in range(3)]
    shares.put_starts([ShareStart(*key, NO_START, 1) for key in keys])
    partitions = [shares.open(key, 0) for key in keys]
    assert read == ["g", "h"]
    node.cluster.alter_configs([(GROUP_RESOURCE, "g", {"share.delivery.count.limit": "3"})])
    assert sorted(read) == ["g", "g", "h", "h"]
    assert [each.settings.delivery_count_max for each in partitions] == [3, 3, 3, 5, 5, 5]
    node.groups.configs_changed([(TOPIC_RESOURCE, "t")])
    assert shares.settings_of("g") is partitions[0].settings
    assert len(read) == 4
