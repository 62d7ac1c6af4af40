"""Share groups whose partitions are in several processes."""

from collections.abc import Iterator

import pytest

from broker_lite.coordinator.share_records.states import ShareKey
from broker_lite.server.processes.share_states import decode_keys, encode_keys
from broker_lite.wire import messages
from tests.server.processes.conftest import PROCESSES, Cluster, wait_until
from tests.server.processes.share_member import GROUP, OK, TOPIC, Member

RELEASE = 2


def test_share_partitions_are_told_as_they_are() -> None:
    keys = [ShareKey("g", b"t" * 16, each) for each in (0, 7)]
    keys.append(ShareKey("\u00e4", b"u" * 16, 1))
    assert [*decode_keys(encode_keys(keys))] == keys


@pytest.fixture
def member(started: Cluster) -> Iterator[Member]:
    """A member that reads from the beginning; each partition has ten records."""
    started.broker.create_topic(TOPIC, partitions=PROCESSES)
    for partition in range(PROCESSES):
        for number in range(10):
            started.broker.produce(TOPIC, str(number), partition=partition)
    with Member(started) as member:
        member.configure(share_auto_offset_reset="earliest")
        member.join()
        yield member


def kill(started: Cluster, node_id: int) -> None:
    """End a process, and wait until its broker is back."""
    killed = started.processes()[node_id]
    killed.kill()
    wait_until(lambda: started.processes().get(node_id) not in (None, killed))
    wait_until(lambda: _leads(started, node_id))


def _leads(started: Cluster, node_id: int) -> bool:
    asked = messages.MetadataRequest.MetadataRequestTopic(name=TOPIC)
    with Member(started) as looking:
        (topic,) = looking.coordinator.call("Metadata", 12, topics=[asked]).topics
    return any(each.leader_id == node_id for each in topic.partitions)


def test_k28_records_of_all_processes_are_shared(member: Member) -> None:
    for partition in range(PROCESSES):
        assert member.fetch(partition) == [(0, 9, 1)]
        assert member.say(partition, 0, 3) == OK
        assert member.say(partition, 4, 4, RELEASE) == OK
        assert member.fetch(partition) == [(4, 4, 2)]
    # as in Kafka, the start that is kept is the one before the last change
    assert set(member.describe().values()) == {(OK, 4, 6)}


def test_k20_k28_a_killed_process_goes_on_with_what_is_kept(
    started: Cluster, member: Member
) -> None:
    partition = member.partition_of(2)
    assert member.fetch(partition) == [(0, 9, 1)]
    assert member.say(partition, 0, 3) == OK
    assert member.say(partition, 4, 5, RELEASE) == OK
    assert member.fetch(partition) == [(4, 5, 2)]
    kill(started, 2)
    member.leave_sessions()
    # the release was kept, what was acquired after it was not
    assert member.fetch(partition) == [(4, 5, 2), (6, 9, 1)]
    assert member.say(partition, 4, 9) == OK
    assert member.fetch(partition) == []


def test_k28_a_clean_stop_of_a_process_keeps_what_its_sessions_release(
    started: Cluster, member: Member
) -> None:
    partition = member.partition_of(3)
    assert member.fetch(partition) == [(0, 9, 1)]
    stopped = started.processes()[3]
    stopped.terminate()
    wait_until(lambda: started.processes().get(3) not in (None, stopped))
    wait_until(lambda: _leads(started, 3))
    member.leave_sessions()
    assert member.fetch(partition) == [(0, 9, 2)]


def test_k26_what_is_in_flight_ends_with_the_connection(member: Member) -> None:
    partition = member.partition_of(2)
    assert member.fetch(partition) == [(0, 9, 1)]
    member.leave_sessions()
    assert wait_until(lambda: member.fetch(partition, 100)) == [(0, 9, 2)]


def test_k28_leaders_hear_of_starts_that_are_moved(member: Member) -> None:
    partition = member.partition_of(2)
    assert member.fetch(partition) == [(0, 9, 1)]
    assert member.say(partition, 0, 9) == OK
    member.beat(-1)
    assert member.alter(partition, 7) == OK
    assert member.describe()[partition] == (OK, 7, 3)
    member.join()
    assert wait_until(lambda: member.fetch(partition, 100)) == [(7, 9, 1)]
    assert member.say(partition, 7, 9) == OK


def test_k28_leaders_hear_of_deleted_groups(member: Member) -> None:
    partition = member.partition_of(2)
    assert member.fetch(partition) == [(0, 9, 1)]
    member.beat(-1)
    (deleted,) = member.coordinator.call("DeleteGroups", 2, groups_names=[GROUP]).results
    assert deleted.error_code == OK
    wait_until(lambda: member.say(partition, 0, 9) != OK)
    assert member.fetch(partition) == []
    member.join()
    assert wait_until(lambda: member.fetch(partition, 100)) == [(0, 9, 1)]
    assert member.say(partition, 0, 9) == OK


def test_k04_a_deleted_topic_is_forgotten(member: Member) -> None:
    partition = member.partition_of(3)
    assert member.fetch(partition) == [(0, 9, 1)]
    (deleted,) = member.coordinator.call(
        "DeleteTopics", 5, topic_names=[TOPIC], timeout_ms=1000
    ).responses
    assert deleted.error_code == OK
    wait_until(lambda: member.fetch(partition) == 100)


def test_k41_the_lag_of_a_partition_whose_process_is_away(started: Cluster, member: Member) -> None:
    partition = member.partition_of(2)
    assert member.fetch(partition) == [(0, 9, 1)]
    assert member.say(partition, 0, 9) == OK
    started.processes()[2].suspend()
    started.processes()[2].kill()
    wait_until(lambda: member.describe()[partition][0] != OK)
    wait_until(lambda: member.describe()[partition] == (OK, 0, 0))


def test_g91_new_configs_reach_the_leaders(member: Member) -> None:
    partition = member.partition_of(2)
    assert member.fetch(partition) == [(0, 9, 1)]
    member.configure(share_delivery_count_limit="2")
    assert member.say(partition, 0, 9, RELEASE) == OK
    assert member.fetch(partition) == [(0, 9, 2)]
    assert member.say(partition, 0, 9, RELEASE) == OK
    assert member.fetch(partition) == []
    assert member.fetch(partition) == []
