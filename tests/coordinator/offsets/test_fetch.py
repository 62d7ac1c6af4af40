"""OffsetFetch in all its versions."""

import pytest

from broker_lite.coordinator.offsets.fetch import OffsetFetches
from broker_lite.errors import ErrorCode
from broker_lite.wire import messages
from tests.coordinator.groups.groups_driver import Driver, FakeTopic, id_of


@pytest.fixture
def driver() -> Driver:
    driver = Driver()
    driver.commit(5, topics=[("t", (0, 1))], metadata="m")
    return driver


@pytest.mark.parametrize("version", range(1, 10))
def test_g67_unknown_partitions_are_no_error(driver: Driver, version: int) -> None:
    found = driver.fetch(("t", 0), ("t", 9), ("x", 0), version=version)
    assert found == {("t", 0): 5, ("t", 9): -1, ("x", 0): -1}


@pytest.mark.parametrize("version", [1, 5, 9, 10])
def test_g67_missing_group(driver: Driver, version: int) -> None:
    assert driver.fetch(("t", 0), group_id="x", version=version) == {("t", 0): -1}


@pytest.mark.parametrize("version", range(2, 11))
def test_g67_everything(driver: Driver, version: int) -> None:
    assert driver.fetch(version=version) == {("t", 0): 5, ("t", 1): 5}
    assert driver.fetch(group_id="x", version=version) == {}


def test_g66_epoch_and_metadata_are_those_of_the_commit(driver: Driver) -> None:
    message = messages.OffsetFetchRequest
    request = message(groups=[message.OffsetFetchRequestGroup(group_id="g", topics=None)])
    first, _ = driver.coordinator.fetches.fetch(request, 8).groups[0].topics[0].partitions
    assert (first.committed_leader_epoch, first.metadata) == (3, "m")


def test_g67_several_groups(driver: Driver) -> None:
    driver.commit(6, group_id="h")
    message = messages.OffsetFetchRequest
    groups = [message.OffsetFetchRequestGroup(group_id=one, topics=None) for one in "hgx"]
    response = driver.coordinator.fetches.fetch(message(groups=groups), 8)
    assert [(one.group_id, len(one.topics)) for one in response.groups] == [
        ("h", 1),
        ("g", 1),
        ("x", 0),
    ]


def test_g68_by_id(driver: Driver) -> None:
    found = driver.fetch(("x", 1), ("t", 0), ("t", 9), version=10)
    assert found == {("t", 0): 5, ("t", 9): -1, ("x", 1): ErrorCode.UNKNOWN_TOPIC_ID}
    assert list(found)[-1] == ("x", 1)


def test_g68_topics_that_are_gone_are_left_out(driver: Driver) -> None:
    driver.commit(6, topics=[("u", (0,))])
    del driver.topics.topics["u"]
    assert driver.fetch(version=10) == {("t", 0): 5, ("t", 1): 5}
    assert driver.fetch(version=9)["u", 0] == 6


def test_g68_an_offset_of_another_topic_of_the_name_is_none(driver: Driver) -> None:
    driver.commit_in_transaction(7, topics=[("t", (2,))])
    driver.end(committed=True)
    driver.topics.topics["t"] = FakeTopic("t", id_of("new"))
    message = messages.OffsetFetchRequest
    topic = message.OffsetFetchRequestTopics(topic_id=id_of("new"), partition_indexes=[0, 2])
    request = message(groups=[message.OffsetFetchRequestGroup(group_id="g", topics=[topic])])
    partitions = driver.coordinator.fetches.fetch(request, 10).groups[0].topics[0].partitions
    assert [one.committed_offset for one in partitions] == [-1, 7]
    assert driver.fetch(("t", 0), version=9) == {("t", 0): 5}


def test_g69_members_of_a_consumer_group(driver: Driver) -> None:
    epoch = driver.consumer_heartbeat().member_epoch
    assert driver.fetch(("t", 0), member_id="m", member_epoch=epoch) == {("t", 0): 5}
    assert driver.fetch(("t", 0)) == {("t", 0): 5}
    for member_id, member_epoch, expected in (
        ("m", epoch + 1, ErrorCode.STALE_MEMBER_EPOCH),
        ("z", epoch, ErrorCode.UNKNOWN_MEMBER_ID),
        ("", -1, ErrorCode.UNKNOWN_MEMBER_ID),
    ):
        found = driver.fetch(("t", 0), member_id=member_id, member_epoch=member_epoch)
        assert found == expected


def test_g69_classic_groups_ask_for_no_member(driver: Driver) -> None:
    assert driver.fetch(("t", 0), member_id="z", member_epoch=4) == {("t", 0): 5}


@pytest.mark.parametrize("version", [7, 8, 9, 10])
def test_g70_pending_offsets_are_unstable(driver: Driver, version: int) -> None:
    driver.commit_in_transaction(9, topics=[("t", (1, 2))])
    everything = driver.fetch(("t", 0), ("t", 1), ("t", 2), version=version, stable=True)
    assert everything == {("t", 0): 5, ("t", 1): 88, ("t", 2): 88}
    assert driver.fetch(version=version, stable=True) == {("t", 0): 5, ("t", 1): 88}
    assert driver.fetch(version=version) == {("t", 0): 5, ("t", 1): 5}


@pytest.mark.parametrize("version", range(1, 11))
def test_g71_errors_of_a_whole_group(version: int) -> None:
    message = messages.OffsetFetchRequest
    if version < 8:
        topic = message.OffsetFetchRequestTopic(name="t", partition_indexes=[4])
        request = message(group_id="g", topics=[topic])
    else:
        request = message(groups=[message.OffsetFetchRequestGroup(group_id="g", topics=None)])
    error_code = ErrorCode.NOT_COORDINATOR
    response = OffsetFetches.refuse(request, version, error_code)
    messages.OffsetFetchResponse.encode(response, version)
    if version == 1:
        assert response.topics[0].partitions[0].error_code == error_code
    elif version < 8:
        assert (response.error_code, response.topics) == (error_code, [])
    else:
        assert (response.groups[0].error_code, response.groups[0].topics) == (error_code, [])
