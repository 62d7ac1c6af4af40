"""The older protocol of groups; what both protocols do is in test_group_member.py."""

from broker_lite.client import Client
from broker_lite.client.admin.group_admin import describe_group
from broker_lite.client.topic_partitions import find_topics
from broker_lite.wire import messages
from tests.client.group_support import all_of, drive, make_topic, new_member


def test_a_member_as_the_broker_sees_it(bootstrap: str, topic: str) -> None:
    with Client(bootstrap) as client:
        make_topic(client, topic, 2)
        member = new_member(client, topic, topic, group_protocol="classic", group_instance_id="i")
        drive([member], lambda: member.assignment == all_of(topic, 2))
        group = describe_group(client, topic)
        (seen,) = group.members
        assert (group.assignor, seen.instance_id) == ("range", "i")
        assert (seen.assignment, seen.target) == ({topic: [0, 1]}, None)
        member.close()
        assert len(describe_group(client, topic).members) == 1  # its place is kept


def test_more_partitions(bootstrap: str, topic: str) -> None:
    with Client(bootstrap) as client:
        make_topic(client, topic, 1)
        member = new_member(client, topic, topic, group_protocol="classic")
        drive([member], lambda: member.assignment == all_of(topic, 1))
        request = messages.CreatePartitionsRequest
        more = request.CreatePartitionsTopic(name=topic, count=3, assignments=None)
        client.request(request(topics=[more], timeout_ms=30_000))
        member.subscribe(find_topics(client, [topic]))
        drive([member], lambda: member.assignment == all_of(topic, 3))
        member.close()


def test_an_older_broker(old_bootstrap: str, topic: str) -> None:
    with Client(old_bootstrap) as client:
        make_topic(client, topic, 2)
        member = new_member(client, topic, topic)
        drive([member], lambda: member.assignment == all_of(topic, 2))
        member.close()
        assert describe_group(client, topic).members == []


def test_who_was_thrown_out_comes_back(bootstrap: str, topic: str) -> None:
    with Client(bootstrap) as client, Client(bootstrap) as other:
        make_topic(client, topic, 1)
        member = new_member(client, topic, topic, group_protocol="classic")
        drive([member], lambda: member.assignment == all_of(topic, 1))
        (seen,) = describe_group(other, topic).members
        gone = messages.LeaveGroupRequest.MemberIdentity(member_id=seen.member_id)
        request = messages.LeaveGroupRequest(group_id=topic, members=[gone])
        assert other.request(request).error_code == 0
        drive([member], lambda: member.assignment == frozenset())
        drive([member], lambda: member.assignment == all_of(topic, 1))
        member.close()
