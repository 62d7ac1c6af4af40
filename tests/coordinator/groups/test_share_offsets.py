"""AlterShareGroupOffsets and DeleteShareGroupOffsets of many topics, as Kafka 4.3.1 writes them."""

from struct import unpack_from
from typing import Any

from broker_lite.coordinator.group_records import SHARE
from broker_lite.coordinator.share.records import STATE_PARTITIONS, stateful_of
from broker_lite.wire import messages
from tests.coordinator.groups.groups_driver import Driver, id_of

Alter = messages.AlterShareGroupOffsetsRequest
Delete = messages.DeleteShareGroupOffsetsRequest


def alter(driver: Driver, starts: dict[str, dict[int, int]]) -> Any:
    topics = [
        Alter.AlterShareGroupOffsetsRequestTopic(
            topic_name=name,
            partitions=[
                Alter.AlterShareGroupOffsetsRequestPartition(
                    partition_index=index, start_offset=start
                )
                for index, start in some.items()
            ],
        )
        for name, some in starts.items()
    ]
    event = driver.coordinator.share_offsets.alter
    return driver.ask(event, Alter(group_id="g", topics=topics), 0)


def delete(driver: Driver, *names: str) -> Any:
    topics = [Delete.DeleteShareGroupOffsetsRequestTopic(topic_name=each) for each in names]
    event = driver.coordinator.share_offsets.delete
    return driver.ask(event, Delete(group_id="g", topics=topics), 0)


def last_records(driver: Driver) -> dict[int, Any]:
    _, (_, records) = driver.log[-1]
    assert not isinstance(records, bool)
    by_type = {unpack_from(">h", each.key)[0]: each.value for each in records}
    assert len(by_type) == len(records), "a record that another one of the batch replaces"
    return by_type


def test_k40_all_topics_of_a_request_are_in_one_record() -> None:
    driver = Driver()
    answer = alter(driver, {"u": {1: 7, 0: 5}, "t": {2: 9}, "nope": {0: 1}})
    assert [each.topic_name for each in answer.responses] == ["u", "t", "nope"]
    records = last_records(driver)
    assert list(records) == [SHARE.group_epoch, STATE_PARTITIONS]
    stateful = stateful_of(records[STATE_PARTITIONS])
    assert {each.name: each.partitions for each in stateful.values()} == {"t": {2}, "u": {0, 1}}

    alter(driver, {"t": {0: 1}})
    stateful = stateful_of(last_records(driver)[STATE_PARTITIONS])
    assert {each.name: each.partitions for each in stateful.values()} == {"t": {0, 2}, "u": {0, 1}}


def test_k40_a_topic_that_is_named_twice_is_deleted_once() -> None:
    driver = Driver()
    alter(driver, {"t": {0: 1}, "u": {0: 1}})
    answer = delete(driver, "t", "t", "nope")
    assert [each.error_code for each in answer.responses] == [0, 0, 3]
    assert list(stateful_of(last_records(driver)[STATE_PARTITIONS])) == [id_of("u")]
