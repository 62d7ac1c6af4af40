"""A life of a broker for the views of groups: share groups whose states a test makes."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from broker_lite.coordinator.group_settings import GroupSettings
from broker_lite.coordinator.share.group import ShareGroup, StatefulTopic
from broker_lite.coordinator.share_records.partition import SharePartition
from broker_lite.coordinator.share_records.states import KeptState, ShareKey
from broker_lite.coordinator.timers import Timers
from broker_lite.errors import UnknownTopicOrPartition
from tests.coordinator.consumer.consumer_driver import FakeTopics

TOPIC_ID = b"t" * 16


def log_of(end: int) -> Any:
    visibility = SimpleNamespace(synthetic=None)
    return SimpleNamespace(
        visibility=visibility,
        log_start_offset=0,
        log_end_offset=end,
        high_watermark=end,
        last_stable_offset=end,
    )


def share_group(*topics: tuple[str, int]) -> ShareGroup:
    """A group "g" with a state of each partition; topics have ids made of their first letter."""
    group = ShareGroup("g", Timers(), GroupSettings(), FakeTopics())
    for name, count in topics:
        group.stateful[name[:1].encode() * 16] = StatefulTopic(name, frozenset(range(count)))
    return group


class FakeLife:
    """The life; `life` is what the views are given.

    Attributes:
        loads: the partitions whose logs were loaded.
    """

    def __init__(
        self,
        group: ShareGroup,
        opened: Mapping[int, SharePartition] | None = None,
        kept: Mapping[int, KeptState] | None = None,
        end: int = 100,
    ) -> None:
        self.loads: list[tuple[str, int]] = []
        self.topics = {
            each.name: SimpleNamespace(
                topic_id=topic_id,
                partition_count=len(each.partitions),
                partitions=[SimpleNamespace(leader=1)] * len(each.partitions),
            )
            for topic_id, each in group.stateful.items()
        }
        opened, kept = opened or {}, kept or {}
        self._end = end

        def of_topic(known: Mapping[int, Any], key: ShareKey) -> Any:
            return known.get(key.partition) if key.topic_id == TOPIC_ID else None

        shares = SimpleNamespace(
            is_known=lambda key: True,
            partition=lambda key: of_topic(opened, key),
            log=SimpleNamespace(get=lambda key: of_topic(kept, key)),
            said=SimpleNamespace(of=lambda key: {}),
        )
        offsets_topic = SimpleNamespace(
            exists=True, leader=lambda place: 1, partition_of=lambda group_id: 0
        )
        registry = SimpleNamespace(
            groups={"g": group}, offsets=SimpleNamespace(of=lambda group_id: None)
        )
        groups = SimpleNamespace(
            shares=shares,
            ask_leader=None,
            topic=offsets_topic,
            check_loaded=lambda ids: None,
            coordinator=SimpleNamespace(registry=registry),
            history=SimpleNamespace(of=lambda group_id: []),
        )
        cluster = SimpleNamespace(
            node_ids=range(1, 2),
            topics=self.topics,
            log=self._load,
            loaded_log=lambda name, index: None,
        )
        self.life: Any = SimpleNamespace(
            cluster=cluster,
            coordinators=SimpleNamespace(groups=groups),
            clock=SimpleNamespace(steady_ms=lambda: 0),
        )

    def _load(self, name: str, index: int) -> Any:
        if name not in self.topics:
            raise UnknownTopicOrPartition
        self.loads.append((name, index))
        return log_of(self._end)
