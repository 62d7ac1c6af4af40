"""Where partitions end that this process or others lead."""

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from broker_lite.control.metadata.topic import NO_LEADER, PartitionRegistration
from broker_lite.coordinator.share_records.states import ShareKey
from broker_lite.errors import BrokerError, KafkaStorageError, NotLeaderOrFollower
from broker_lite.handler.share import end_offsets
from broker_lite.handler.share.end_offsets import find_ends
from broker_lite.wire import messages
from tests.handler.share.share_requests import Sharer
from tests.handler.three_brokers import ThreeBrokers
from tests.support.handler_broker import HandlerBroker, OpenBroker

NOT_LEADER = 6


async def _nobody(
    _node_id: int, _partitions: Sequence[tuple[str, int]]
) -> Mapping[tuple[str, int], int | BrokerError]:
    return {}


def test_k41_partitions_of_this_process(broker: HandlerBroker) -> None:
    sharer = Sharer(broker, partitions=2)
    sharer.append(3, partition=1)
    keys = [ShareKey("g", sharer.topic_id, each) for each in range(2)]
    assert asyncio.run(find_ends(broker.context, keys)) == {keys[0]: 0, keys[1]: 3}


def test_k41_leaders_of_other_processes_are_asked(
    open_broker: OpenBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    brokers = ThreeBrokers.open(open_broker)
    shares = brokers.context.groups.shares
    asked: list[tuple[int, Sequence[tuple[str, int]]]] = []

    async def find(
        node_id: int, partitions: Sequence[tuple[str, int]]
    ) -> Mapping[tuple[str, int], int | BrokerError]:
        asked.append((node_id, partitions))
        return {("t", 1): 9, ("t", 2): KafkaStorageError()} if node_id == 2 else {}

    monkeypatch.setattr(shares, "find_ends", find)
    # as if the brokers 2 and 3 were processes
    monkeypatch.setattr(brokers.cluster, "node_ids", range(1, 2))
    topic_id = brokers.cluster.topics["t"].topic_id
    keys = [ShareKey("g", topic_id, each) for each in range(3)]
    ends = asyncio.run(find_ends(brokers.context, keys))
    assert asked == [(2, [("t", 1)]), (3, [("t", 2)])]
    assert ends[keys[0]] == 0
    assert ends[keys[1]] == 9
    assert isinstance(ends[keys[2]], NotLeaderOrFollower)


def test_k41_nobody_leads(broker: HandlerBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    sharer = Sharer(broker)
    sharer.beat()
    sharer.append(1)
    assert sharer.fetch()
    assert sharer.say({0: [(0, 0, [1])]}) == {0: (0, None)}
    monkeypatch.setattr(broker.context.groups.shares, "find_ends", _nobody)
    monkeypatch.setattr(end_offsets, "share_leader", lambda *_: PartitionRegistration(NO_LEADER))
    message = messages.DescribeShareGroupOffsetsRequest
    group = message.DescribeShareGroupOffsetsRequestGroup(group_id="g", topics=None)
    answer = broker.call("DescribeShareGroupOffsets", 1, groups=[group])
    ((told,),) = [topic.partitions for topic in answer.groups[0].topics]
    assert (told.error_code, told.start_offset, told.lag) == (NOT_LEADER, 0, -1)
