import pytest

from broker_lite.client import Client
from broker_lite.client.admin.group_admin import list_groups
from tests.client.group_support import all_of, drive, make_topic, new_member


@pytest.mark.parametrize(
    ("properties", "kind"),
    [({}, "Consumer"), ({"group_protocol": "classic"}, "Classic")],
)
def test_the_newest_protocol_or_the_one_that_is_asked_for(
    bootstrap: str, topic: str, properties: dict[str, str], kind: str
) -> None:
    with Client(bootstrap) as client:
        make_topic(client, topic, 1)
        member = new_member(client, topic, topic, **properties)
        drive([member], lambda: member.assignment == all_of(topic, 1))
        assert [each.kind for each in list_groups(client) if each.group == topic] == [kind]
        member.close()
