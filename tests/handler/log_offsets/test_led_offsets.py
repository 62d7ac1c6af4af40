"""Where partitions begin and end that this process or others lead."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from broker_lite.control.metadata.topic import NO_LEADER
from broker_lite.errors import (
    BrokerError,
    KafkaStorageError,
    NotLeaderOrFollower,
    UnknownTopicOrPartition,
)
from broker_lite.handler.log_offsets import led_offsets
from broker_lite.handler.log_offsets.led_offsets import END, START, find_offsets
from broker_lite.wire import messages
from tests.handler.share.share_requests import Sharer
from tests.handler.three_brokers import ThreeBrokers
from tests.support.handler_broker import HandlerBroker, OpenBroker

NOT_LEADER = 6

Answer = Mapping[tuple[str, int], int | BrokerError]


async def _nobody(_node_id: int, _partitions: Sequence[tuple[str, int]], _timestamp: int) -> Answer:
    return {}


def test_k41_partitions_of_this_process(broker: HandlerBroker) -> None:
    sharer = Sharer(broker, partitions=2)
    sharer.append(3, partition=1)
    assert broker.cluster.log("t", 1).delete_records_before(2) == 2
    places = [("t", 0), ("t", 1), ("t", 2), ("u", 0)]

    def found(which: int) -> list[Any]:
        answer = asyncio.run(find_offsets(broker.cluster, None, places, which))
        assert all(isinstance(answer[each], UnknownTopicOrPartition) for each in places[2:])
        return [answer[each] for each in places[:2]]

    assert found(END) == [0, 3]
    assert found(START) == [0, 2]


@pytest.mark.parametrize("which", [START, END])
def test_k41_leaders_of_other_processes_are_asked(
    open_broker: OpenBroker, monkeypatch: pytest.MonkeyPatch, which: int
) -> None:
    brokers = ThreeBrokers.open(open_broker)
    asked: list[tuple[int, Sequence[tuple[str, int]], int]] = []

    async def ask(node_id: int, partitions: Sequence[tuple[str, int]], timestamp: int) -> Answer:
        asked.append((node_id, partitions, timestamp))
        return {("t", 1): 9, ("t", 2): KafkaStorageError()} if node_id == 2 else {}

    # as if the brokers 2 and 3 were processes
    monkeypatch.setattr(brokers.cluster, "node_ids", range(1, 2))
    places = [("t", each) for each in range(3)]
    found = asyncio.run(find_offsets(brokers.cluster, ask, places, which))
    assert asked == [(2, [("t", 1)], which), (3, [("t", 2)], which)]
    assert found[places[0]] == 0
    assert found[places[1]] == 9
    assert isinstance(found[places[2]], NotLeaderOrFollower)


def test_k41_many_partitions_are_asked_for_some_at_a_time(
    broker: HandlerBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    Sharer(broker, partitions=5)
    asked: list[Sequence[tuple[str, int]]] = []

    async def ask(_node_id: int, partitions: Sequence[tuple[str, int]], _timestamp: int) -> Answer:
        asked.append(partitions)
        return dict.fromkeys(partitions, 7)

    monkeypatch.setattr(broker.cluster, "node_ids", range(2, 3))
    monkeypatch.setattr(led_offsets, "_ASKED_AT_A_TIME", 2)
    places = [("t", each) for each in range(5)]
    assert asyncio.run(find_offsets(broker.cluster, ask, places, END)) == dict.fromkeys(places, 7)
    assert asked == [places[:2], places[2:4], places[4:]]


def test_k41_nobody_leads(broker: HandlerBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    sharer = Sharer(broker)
    sharer.beat()
    sharer.append(1)
    assert sharer.fetch()
    assert sharer.say({0: [(0, 0, [1])]}) == {0: (0, None)}
    monkeypatch.setattr(broker.context.groups, "ask_leader", _nobody)
    monkeypatch.setattr(led_offsets, "_leader", lambda *_: NO_LEADER)
    message = messages.DescribeShareGroupOffsetsRequest
    group = message.DescribeShareGroupOffsetsRequestGroup(group_id="g", topics=None)
    answer = broker.call("DescribeShareGroupOffsets", 1, groups=[group])
    ((told,),) = [topic.partitions for topic in answer.groups[0].topics]
    assert (told.error_code, told.start_offset, told.lag) == (NOT_LEADER, 0, -1)
