"""Share groups as an administrator sees and changes them.

Also tests: broker_lite.client.admin.listed_groups.
"""

from collections.abc import Iterator

import pytest

from broker_lite.client import Client, Refused
from broker_lite.client.admin.listed_groups import SHARE, STREAMS, list_groups_of_type
from broker_lite.client.admin.share_group_admin import (
    ShareOffset,
    alter_share_offsets,
    delete_share_offsets,
    describe_share_group,
    share_offsets,
)
from broker_lite.errors import ErrorCode
from tests.support.share_members import ShareMembers, id_of


@pytest.fixture
def side(bootstrap: str) -> Iterator[ShareMembers]:
    """A group that has accepted the only record of the topic with its name."""
    port = int(bootstrap.rpartition(":")[2])
    side = ShareMembers(port, "shared", {"share.auto.offset.reset": "earliest"})
    side.join("a")
    side.fetch("a", 10, 10, True)
    side.say("a", [(0, 0, [1])], False)
    yield side
    side.close()


def test_a_share_group(bootstrap: str, side: ShareMembers) -> None:
    with Client(bootstrap) as client:
        group = describe_share_group(client, "shared")
        assert (group.group_state, [each.member_id for each in group.members]) == (
            *("Stable", [id_of("a")]),
        )
        assert ("shared", "Stable") in list_groups_of_type(client, SHARE)
        assert "shared" not in [each.group for each in list_groups_of_type(client, STREAMS)]
        with pytest.raises(Refused, match="NON_EMPTY_GROUP"):
            alter_share_offsets(client, "shared", {("shared", 0): 0})
        side._beat("a", -1)
        alter_share_offsets(client, "shared", {("shared", 0): 1})
        assert share_offsets(client, "shared") == {("shared", 0): ShareOffset(1, 0, 0)}
        with pytest.raises(Refused, match="UNKNOWN_TOPIC_OR_PARTITION"):
            alter_share_offsets(client, "shared", {("shared", 7): 0})
        found = delete_share_offsets(client, "shared", ["shared", "zzz"])
        assert {name: code for name, (code, _) in found.items()} == {
            "shared": 0,
            "zzz": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        }
        assert share_offsets(client, "shared") == {}
        with pytest.raises(Refused, match="GROUP_ID_NOT_FOUND"):
            describe_share_group(client, "nobody")


def test_a_group_that_has_not_read(bootstrap: str) -> None:
    port = int(bootstrap.rpartition(":")[2])
    side = ShareMembers(port, "unread", {"share.auto.offset.reset": "earliest"})
    side.join("a")
    with Client(bootstrap) as client:
        assert share_offsets(client, "unread") == {("unread", 0): ShareOffset(None, None, None)}
    side.close()
