"""What members do whatever the protocol; each has a connection of its own, as two consumers."""

import pytest

from broker_lite.client import Client, Refused
from broker_lite.client.partition_offsets import fetch_committed
from broker_lite.testing import Broker
from tests.client.group_support import all_of, drive, make_topic, new_member

PROTOCOLS = ("classic", "consumer")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_two_members_share_and_what_one_read_the_other_goes_on_with(
    bootstrap: str, topic: str, protocol: str
) -> None:
    with Client(bootstrap) as client, Client(bootstrap) as other_client:
        make_topic(client, topic, 4)
        member = new_member(client, topic, topic, group_protocol=protocol)
        drive([member], lambda: member.assignment == all_of(topic, 4))
        assert member.start_positions() == dict.fromkeys(all_of(topic, 4))
        member.consumed.update(dict.fromkeys(member.assignment, 7))
        assert set(member.start_positions().values()) == {7}
        other = new_member(other_client, topic, topic, group_protocol=protocol)
        both = (member, other)
        drive(both, lambda: [len(each.assignment) for each in both] == [2, 2])
        assert member.assignment | other.assignment == all_of(topic, 4)
        assert other.start_positions() == dict.fromkeys(other.assignment, 7)
        member.close()
        drive([other], lambda: other.assignment == all_of(topic, 4))
        assert set(other.start_positions().values()) == {7}
        other.close()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_who_does_not_commit(bootstrap: str, topic: str, protocol: str) -> None:
    with Client(bootstrap) as client:
        make_topic(client, topic, 1)
        never = {"enable_auto_commit": "false"}
        member = new_member(client, topic, topic, group_protocol=protocol, **never)
        drive([member], lambda: member.assignment == all_of(topic, 1))
        member.consumed[topic, 0] = 5
        member.close()
        assert fetch_committed(client.connection(client.coordinator(topic)), topic) == {}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_commits_now_and_then(bootstrap: str, topic: str, protocol: str) -> None:
    with Client(bootstrap) as client:
        make_topic(client, topic, 1)
        member = new_member(
            client, topic, topic, group_protocol=protocol, auto_commit_interval_ms="1"
        )
        drive([member], lambda: member.assignment == all_of(topic, 1))
        member.consumed[topic, 0] = 5
        connection = client.connection(client.coordinator(topic))
        drive([member], lambda: bool(fetch_committed(connection, topic)))
        assert fetch_committed(connection, topic)[topic, 0].offset == 5
        member.close()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_group_that_is_gone_is_joined_anew(protocol: str) -> None:
    with Broker(topics=["t:2"]) as broker, Client(broker.bootstrap) as client:
        member = new_member(client, "g", "t", group_protocol=protocol, auto_commit_interval_ms="1")
        drive([member], lambda: member.assignment == all_of("t", 2))
        broker.reset()
        member.consumed["t", 0] = 5
        drive([member], lambda: not member.assignment)
        drive([member], lambda: member.assignment == all_of("t", 2))
        assert member.start_positions() == dict.fromkeys(all_of("t", 2))
        member.close()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_group_that_refuses(bootstrap: str, topic: str, protocol: str) -> None:
    with Client(bootstrap) as client:
        make_topic(client, topic, 1)
        member = new_member(client, "", topic, group_protocol=protocol)
        with pytest.raises(Refused, match=r"INVALID_GROUP_ID|INVALID_REQUEST"):
            drive([member], lambda: False)
