import pytest

from broker_lite.client import Client, Refused
from broker_lite.client.admin.group_admin import (
    DEAD,
    EMPTY,
    ListedGroup,
    delete_group,
    delete_offsets,
    describe_group,
    list_groups,
)
from broker_lite.client.partition_offsets import commit
from broker_lite.client.topic_partitions import find_topics


@pytest.fixture(params=["now", "older"])
def client(request: pytest.FixtureRequest, bootstrap: str, old_bootstrap: str) -> Client:
    """A client of a broker of today, and of one that does not know the newer protocol."""
    return Client(bootstrap if request.param == "now" else old_bootstrap)


def test_from_a_commit_to_the_end(client: Client, topic: str) -> None:
    with client:
        find_topics(client, [topic], create=True)
        commit(client.connection(client.coordinator(topic)), topic, {(topic, 0): 0})
        (listed,) = [each for each in list_groups(client) if each.group == topic]
        assert listed in (
            ListedGroup(topic, "Classic", EMPTY),
            ListedGroup(topic, "Unknown", EMPTY),
        )
        group = describe_group(client, topic)
        assert (group.group, group.state, group.members) == (topic, EMPTY, [])
        assert (group.epoch, group.target_epoch, group.coordinator_id) == (None, None, 1)
        assert delete_offsets(client, topic, [(topic, 0)]) == {(topic, 0): 0}
        delete_group(client, topic)
        assert topic not in {each.group for each in list_groups(client)}


def test_nobody(bootstrap: str, old_bootstrap: str) -> None:
    with Client(bootstrap) as client:
        with pytest.raises(Refused, match="Group nobody not found"):
            describe_group(client, "nobody")
        with pytest.raises(Refused, match="group nobody: GROUP_ID_NOT_FOUND"):
            delete_group(client, "nobody")
    with Client(old_bootstrap) as client:
        assert describe_group(client, "nobody").state == DEAD
