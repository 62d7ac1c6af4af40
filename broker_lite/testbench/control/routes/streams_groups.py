"""Streams groups: the topology, and which member runs which task."""

from typing import Annotated, Final

import msgspec

from broker_lite.coordinator.streams.group import StreamsGroup
from broker_lite.testbench.control.resource import Call, Resource
from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.group_views import group_of, summary_of
from broker_lite.testbench.streams_views import MEMBERS_MAX, StreamsView, streams_view

_NOT_FOUND: Final = 404
_CONFLICT: Final = 409

MembersLimit = Annotated[int, msgspec.Meta(ge=1, le=MEMBERS_MAX)]


class TasksQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which members are told.

    Attributes:
        after: only members with ids behind this one.
        limit: at most so many.
    """

    after: str = ""
    limit: MembersLimit = MEMBERS_MAX


async def get_tasks(call: Call) -> StreamsView:
    """Tell the topology of a streams group, why it cannot run, and who has which tasks."""
    query, life, group_id = call.query, call.bench.life, call.path["group"]
    assert isinstance(query, TasksQuery)
    group = group_of(life, group_id)
    if group is None:
        raise ControlError(_NOT_FOUND, f"there is no group {group_id!r}")
    if not isinstance(group, StreamsGroup):
        kind = summary_of(life, group).type
        raise ControlError(_CONFLICT, f"group {group_id} is a {kind} group, and no streams group")
    topologies = call.bench.topologies
    return await streams_view(group, topologies, after=query.after, limit=query.limit)


RESOURCES = (
    Resource("GET", "/v1/groups/{group}/tasks", get_tasks, answer=StreamsView, query=TasksQuery),
)
