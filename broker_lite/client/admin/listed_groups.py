"""Lists the groups of one type."""

from typing import Final, NamedTuple

from broker_lite.client.client import Client
from broker_lite.client.errors import check
from broker_lite.wire import messages

SHARE: Final = "Share"
STREAMS: Final = "Streams"


class TypedGroup(NamedTuple):
    """A group; its state is "Unknown" if the broker does not say."""

    group: str
    state: str


def list_groups_of_type(client: Client, kind: str) -> list[TypedGroup]:
    """List the groups of a type of all brokers, sorted by name.

    Raises:
        NotSupported: a broker is too old to know types.
    """
    found = {}
    for node_id in client.nodes():
        answer = client.request(messages.ListGroupsRequest(types_filter=[kind]), node_id=node_id)
        check("groups", answer.error_code)
        for each in answer.groups:
            if (each.group_type or "").capitalize() == kind:
                found[each.group_id] = TypedGroup(each.group_id, each.group_state or "Unknown")
    return [found[name] for name in sorted(found)]
