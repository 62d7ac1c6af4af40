"""Groups: members, offsets and lag; waits; rebalances, kicks and new offsets."""

from typing import Final, Literal

import msgspec

from broker_lite.coordinator.registry import Group
from broker_lite.errors import ErrorCode
from broker_lite.server.life import Life
from broker_lite.testbench.bounds import Limit, TimeoutMs
from broker_lite.testbench.control.resource import Call, Done, Resource
from broker_lite.testbench.coordinated import check_all_coordinated
from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.group_kicks import put_out
from broker_lite.testbench.group_offsets import commit_offsets
from broker_lite.testbench.group_views import (
    GroupSummary,
    GroupView,
    group_of,
    members_of,
    summary_of,
    view_of,
)
from broker_lite.wire import messages

_BAD_REQUEST: Final = 400
_NOT_FOUND: Final = 404
_CONFLICT: Final = 409

State = Literal[
    "Empty",
    "PreparingRebalance",
    "CompletingRebalance",
    "Stable",
    "NotReady",
    "Assigning",
    "Reconciling",
    "Dead",
]


class GroupPage(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which groups are listed.

    Attributes:
        after: only ids behind this one.
        limit: at most so many.
    """

    after: str = ""
    limit: Limit = 1000


class GroupWait(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What a group has to be like; what is left out may be anything.

    Attributes:
        state: in Kafka's words; Dead for a group that is not there.
        members: how many it has.
        assigned: how many partitions its members have together.
        lag: at most so many records are left, of all its partitions together; a lag that is not
            known, as before anything is assigned or committed, will not do.
        timeout_ms: how long to wait.
    """

    state: State | None = None
    members: int | None = None
    assigned: int | None = None
    lag: int | None = None
    timeout_ms: TimeoutMs = 30_000


async def list_groups(call: Call) -> list[GroupSummary]:
    """List the groups, in the order of their ids."""
    page, life = call.query, call.bench.life
    assert isinstance(page, GroupPage)
    service = life.coordinators.groups
    if not service.topic.exists:
        return []
    check_all_coordinated(service.topic)
    for node_id in life.cluster.node_ids:
        service.check_all_loaded(node_id)
    groups = service.coordinator.registry.groups
    ids = [group_id for group_id in sorted(groups) if group_id > page.after][: page.limit]
    return [summary_of(life, groups[group_id]) for group_id in ids]


async def get_group(call: Call) -> GroupView:
    """Tell the members, assignments, committed offsets and lag of a group."""
    life, group_id = call.bench.life, call.path["group"]
    _known(life, group_id)
    return await view_of(life, group_id)


async def delete_group(call: Call) -> Done:
    """Delete a group without members, with its offsets, as DeleteGroups does."""
    life, group_id = call.bench.life, call.path["group"]
    _known(life, group_id)
    request = messages.DeleteGroupsRequest(groups_names=[group_id])
    (result,) = life.coordinators.groups.delete_groups(request).results
    if result.error_code:
        raise ControlError(_CONFLICT, f"group {group_id}: {ErrorCode(result.error_code).name}")
    return Done()


async def wait_for_group(call: Call) -> GroupView:
    """Wait until a group is in a state, has so many members or partitions, or has caught up."""
    wanted, bench, group_id = call.body, call.bench, call.path["group"]
    assert isinstance(wanted, GroupWait)
    found: GroupView | None = None

    async def is_met() -> bool:
        nonlocal found
        found = None  # what was there before is not told if a look fails
        found = await view_of(bench.life, group_id)
        return _is_met(found, wanted)

    async def tell() -> GroupView:
        return await view_of(bench.life, group_id) if found is None else found

    return await bench.waits.until_all(is_met, tell, wanted.timeout_ms, f"group {group_id}")


def _is_met(view: GroupView, wanted: GroupWait) -> bool:
    return (
        wanted.state in (None, view.state)
        and wanted.members in (None, len(view.members))
        and wanted.assigned in (None, view.assigned)
        and (wanted.lag is None or (view.lag is not None and view.lag <= wanted.lag))
    )


async def rebalance(call: Call) -> GroupView:
    """Let a group rebalance although nothing has changed; returns when that has begun."""
    life, group_id = call.bench.life, call.path["group"]
    _known(life, group_id)
    if not life.coordinators.groups.rebalance(group_id):
        raise ControlError(_CONFLICT, f"group {group_id} has no members")
    return await view_of(life, group_id)


async def kick(call: Call) -> GroupView:
    """Remove a member by its member id or instance id; its client is told, and may join again."""
    life, group_id, name = call.bench.life, call.path["group"], call.path["member"]
    members = members_of(_known(life, group_id))
    for member in members:
        if name in (member.id, member.instance_id):
            break
    else:
        ids = ", ".join(each.id for each in members) or "no members"
        text = f"group {group_id} has no member {name!r}; there are {ids}"
        raise ControlError(_NOT_FOUND, text)
    code = await put_out(life, group_id, member.id, member.instance_id)
    if code:
        raise ControlError(_CONFLICT, f"member {name} of group {group_id}: {code.name}")
    return await view_of(life, group_id)


async def set_offsets(call: Call) -> GroupView:
    """Commit offsets for a group without members: topic, then partition, then offset."""
    given, life, group_id = call.body, call.bench.life, call.path["group"]
    assert isinstance(given, dict)
    await commit_offsets(life, group_id, given)
    return await view_of(life, group_id)


def _known(life: Life, group_id: str) -> Group:
    """Return a group.

    Raises:
        ControlError: there is none.
        NotCoordinator: its state cannot be read now.
    """
    group = group_of(life, group_id)
    if group is None:
        raise ControlError(_NOT_FOUND, f"there is no group {group_id!r}")
    return group


RESOURCES = (
    Resource("GET", "/v1/groups", list_groups, answer=list[GroupSummary], query=GroupPage),
    Resource("GET", "/v1/groups/{group}", get_group, answer=GroupView),
    Resource("DELETE", "/v1/groups/{group}", delete_group),
    Resource("POST", "/v1/groups/{group}/wait", wait_for_group, answer=GroupView, body=GroupWait),
    Resource("POST", "/v1/groups/{group}/rebalance", rebalance, answer=GroupView),
    Resource("DELETE", "/v1/groups/{group}/members/{member}", kick, answer=GroupView),
    Resource(
        "PUT",
        "/v1/groups/{group}/offsets",
        set_offsets,
        answer=GroupView,
        body=dict[str, dict[int, int]],
    ),
)
