"""The newer protocol of groups; what both protocols do is in test_group_member.py."""

from broker_lite.client import Client
from broker_lite.client.admin.group_admin import describe_group
from broker_lite.client.topic_partitions import find_topics
from broker_lite.wire import messages
from tests.client.group_support import all_of, drive, make_topic, new_member


def test_a_member_as_the_broker_sees_it(bootstrap: str, topic: str) -> None:
    with Client(bootstrap) as client:
        make_topic(client, topic, 2)
        member = new_member(client, topic, topic, group_protocol="consumer", group_instance_id="i")
        drive([member], lambda: member.assignment == all_of(topic, 2))
        member.poll(0)  # says what it owns
        (seen,) = describe_group(client, topic).members
        assert (seen.instance_id, seen.assignment) == ("i", {topic: [0, 1]})
        assert seen.target == seen.assignment
        member.close()
        assert [each.epoch for each in describe_group(client, topic).members] == [-2]


def test_another_subscription(bootstrap: str, topic: str) -> None:
    names = [topic, f"{topic}-2"]
    with Client(bootstrap) as client:
        for name in names:
            make_topic(client, name, 1)
        member = new_member(client, topic, topic, group_protocol="consumer")
        drive([member], lambda: member.assignment == {(topic, 0)})
        member.subscribe(find_topics(client, names))
        drive([member], lambda: member.assignment == {(name, 0) for name in names})
        member.close()
        assert describe_group(client, topic).members == []


def test_who_was_thrown_out_comes_back(bootstrap: str, topic: str) -> None:
    with Client(bootstrap) as client, Client(bootstrap) as other:
        make_topic(client, topic, 1)
        member = new_member(client, topic, topic, group_protocol="consumer")
        drive([member], lambda: member.assignment == all_of(topic, 1))
        (seen,) = describe_group(other, topic).members
        leave = messages.ConsumerGroupHeartbeatRequest(
            group_id=topic, member_id=seen.member_id, member_epoch=-1
        )
        assert other.request(leave).error_code == 0
        make_topic(client, f"{topic}-2", 1)
        member.subscribe(find_topics(client, [topic, f"{topic}-2"]))  # a heartbeat is due
        drive([member], lambda: member.assignment == {(topic, 0), (f"{topic}-2", 0)})
        member.close()
