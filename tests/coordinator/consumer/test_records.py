"""Records of consumer groups: the bytes that Kafka 4.3.1 writes, and reading any log back.

Also tests: broker_lite.coordinator.consumer.replay.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_lite.coordinator.consumer import records
from broker_lite.coordinator.consumer.group import ResolvedRegex
from broker_lite.coordinator.consumer.member import ClassicMemberData, ConsumerMember, MemberState
from broker_lite.coordinator.group_records import CONSUMER, encode_value, target_epoch_value
from broker_lite.wire import messages
from tests.coordinator.consumer.consumer_driver import Driver, state_of

TOPIC = bytes(range(16))


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        pytest.param(CONSUMER.group_epoch_key("g"), "0003 0001 67", id="group"),
        pytest.param(records.partition_metadata_key("g"), "0004 0001 67", id="topics before 4.1"),
        pytest.param(CONSUMER.member_key("g", "m"), "0005 0001 67 0001 6d", id="member"),
        pytest.param(CONSUMER.target_epoch_key("g"), "0006 0001 67", id="target epoch"),
        pytest.param(CONSUMER.target_key("g", "m"), "0007 0001 67 0001 6d", id="target"),
        pytest.param(CONSUMER.current_key("g", "m"), "0008 0001 67 0001 6d", id="current"),
        pytest.param(records.regex_key("g", "t.*"), "0010 0001 67 0003 742e2a", id="regex"),
        # values: measured with Kafka 4.3.1's dump tool on what these decode to
        pytest.param(records.group_epoch_value(2, 0), "0000 00000002 00", id="no topics, no hash"),
        pytest.param(
            records.group_epoch_value(3, 1),
            "0000 00000003 01 00 08 0000000000000001",
            id="hash is tagged",
        ),
        pytest.param(
            target_epoch_value(2, 5),
            "0000 00000002 01 00 08 0000000000000005",
            id="timestamp is tagged",
        ),
        pytest.param(
            records.target_value({TOPIC: frozenset({1, 0})}),
            f"0000 02 {TOPIC.hex()} 03 00000000 00000001 00 00",
            id="partitions in order",
        ),
        pytest.param(
            records.current_value(
                ConsumerMember(
                    member_id="m",
                    member_epoch=3,
                    previous_member_epoch=2,
                    state=MemberState.UNREVOKED_PARTITIONS,
                    pending_revocation={TOPIC: {4: 2}},
                )
            ),
            f"0000 00000003 00000002 01 01 02 {TOPIC.hex()} 02 00000004 01 00 05 02 00000002 00",
            id="epochs of partitions are tagged",
        ),
        pytest.param(
            records.regex_value(ResolvedRegex(("t",), 7, 9)),
            "0000 02 0274 0000000000000007 0000000000000009 00",
            id="resolved regex",
        ),
    ],
)
def test_bytes(made: bytes, expected: str) -> None:
    """G-77 to G-100: what is in the log."""
    assert made.hex() == expected.replace(" ", "")


def test_a_member_comes_back() -> None:
    """G-106: also with the classic protocol's data."""
    member = ConsumerMember(
        member_id="m",
        instance_id="i",
        rack_id="r",
        client_id="c",
        client_host="/127.0.0.1",
        rebalance_timeout_ms=5,
        topic_names=("a", "b"),
        regex="x.*",
        server_assignor="range",
        classic=ClassicMemberData(session_timeout_ms=7, protocols=(("p", b"\x01"), ("q", b""))),
    )
    assert records.member_of("m", records.member_value(member)) == member


def test_partitions_of_older_kafkas_have_the_members_epoch() -> None:
    """G-63."""
    message = messages.ConsumerGroupCurrentMemberAssignmentValue
    entry = message.TopicPartitions(topic_id=TOPIC, partitions=[0, 1])
    value = message(member_epoch=4, previous_member_epoch=3, assigned_partitions=[entry])
    member = records.current_of("m", encode_value(message, value))
    assert member.assigned == {TOPIC: {0: 4, 1: 4}}


@pytest.mark.parametrize("number", [0, 1, 2, 127, 5])
def test_states(number: int) -> None:
    """G-92: a state that is not known yet is UNKNOWN."""
    message = messages.ConsumerGroupCurrentMemberAssignmentValue
    value = message(
        member_epoch=1,
        previous_member_epoch=0,
        state=number,
        assigned_partitions=[],
        partitions_pending_revocation=[],
    )
    member = records.current_of("m", encode_value(message, value))
    assert member.state == (number if number != 5 else MemberState.UNKNOWN)


def busy_driver() -> Driver:
    driver = Driver(a=3, b=2)
    driver.join("m1", ["a"], subscribed_topic_regex="b|c")
    driver.join("s1", ["a", "b"], instance_id="i1", server_assignor="range")
    driver.beat("m1")
    driver.settle()
    driver.leave("s1", -2, instance_id="i1")
    driver.join("s2", ["b"], instance_id="i1")
    driver.beat("m1", subscribed_topic_regex="")
    driver.settle()
    driver.leave("m1")
    driver.join("m3", ["a"])
    return driver


def test_a_log_that_ends_anywhere() -> None:
    """Read up to any event, the log gives the state of that moment."""
    driver = busy_driver()
    for events in range(len(driver.log) + 1):
        again = Driver(a=3, b=2)
        again.log = driver.log[:events]
        group = again.replayed()
        again.group = group
        group.loaded(0)
        assert set(group.roster.static_members.values()) <= set(group.roster.members)
    assert state_of(driver.replayed()) == state_of(driver.group)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_log_that_was_cleaned(data: st.DataObject) -> None:
    """Compaction may take out any record that a later one of the same key makes void."""
    driver = busy_driver()
    flat = [record for event in driver.log for record in event]
    last = {record.key: index for index, record in enumerate(flat)}
    kept = [
        record
        for index, record in enumerate(flat)
        if index == last[record.key] or data.draw(st.booleans())
    ]
    if data.draw(st.booleans()):  # tombstones go, too
        kept = [record for record in kept if record.value is not None or record.key not in last]
        kept = [record for record in kept if flat[last[record.key]].value is not None]
    driver.log = [kept]
    assert state_of(driver.replayed()) == state_of(driver.group)
