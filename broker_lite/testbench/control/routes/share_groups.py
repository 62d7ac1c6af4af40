"""Share groups: which records are in flight, and waits for what members say about them."""

from typing import Annotated, Final

import msgspec

from broker_lite.coordinator.share.group import ShareGroup
from broker_lite.server.life import Life
from broker_lite.testbench.alone import check_is_alone
from broker_lite.testbench.bounds import Limit, TimeoutMs
from broker_lite.testbench.control.resource import Call, Resource
from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.group_views import group_of, summary_of
from broker_lite.testbench.share_views import PARTITIONS, ShareView, nothing_shared, share_view

_NOT_FOUND: Final = 404
_CONFLICT: Final = 409
_WAIT_RUNS: Final = 100
"""A wait answers with so many runs: whoever wants all of them asks for them."""

_WHAT: Final = "what share groups have in flight"

Count = Annotated[int, msgspec.Meta(ge=0)]


class InFlightQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What is told of a share group.

    Attributes:
        topic: only this one.
        limit: how many runs of records at most, of all partitions together.
        partitions: how many partitions at most; the others count in the numbers of the group.
    """

    topic: str | None = None
    limit: Limit = 1000
    partitions: Limit = PARTITIONS


class InFlightWait(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What a share group has to be like; what is left out may be anything.

    Attributes:
        topic: only its records count.
        in_flight: at most so many records are acquired, or will be delivered once more.
        accepted: members have accepted so many records since the broker was started, or more.
        released: the same for records to be delivered again.
        rejected: the same for records never to be delivered again.
        lag: at most so many records are not done; a lag that is not known, as before a member has
            read, will not do.
        timeout_ms: how long to wait.
    """

    topic: str | None = None
    in_flight: Count | None = None
    accepted: Count | None = None
    released: Count | None = None
    rejected: Count | None = None
    lag: Count | None = None
    timeout_ms: TimeoutMs = 30_000


async def get_in_flight(call: Call) -> ShareView:
    """Tell which records of a share group are in flight, in which state, and how far it is."""
    query, life, group_id = call.query, call.bench.life, call.path["group"]
    assert isinstance(query, InFlightQuery)
    check_is_alone(life, _WHAT)
    group = _share_group(life, group_id)
    if group is None:
        raise ControlError(_NOT_FOUND, f"there is no group {group_id!r}")
    return await share_view(
        life, group, topic=query.topic, runs=query.limit, partitions=query.partitions
    )


async def wait_for_in_flight(call: Call) -> ShareView:
    """Wait until members of a share group have accepted records, or nothing is in flight."""
    wanted, bench, group_id = call.body, call.bench, call.path["group"]
    assert isinstance(wanted, InFlightWait)
    check_is_alone(bench.life, _WHAT)
    found = nothing_shared(group_id)

    async def is_met() -> bool:
        nonlocal found
        group = _share_group(bench.life, group_id)
        found = nothing_shared(group_id)
        if group is not None:
            found = await share_view(bench.life, group, topic=wanted.topic, runs=_WAIT_RUNS)
        return group is not None and _is_met(found, wanted)

    async def tell() -> ShareView:
        return found

    what = f"share group {group_id}"
    return await bench.waits.until_all(is_met, tell, wanted.timeout_ms, what)


def _is_met(view: ShareView, wanted: InFlightWait) -> bool:
    return (
        (wanted.in_flight is None or view.in_flight <= wanted.in_flight)
        and view.accepted >= (wanted.accepted or 0)
        and view.released >= (wanted.released or 0)
        and view.rejected >= (wanted.rejected or 0)
        and (wanted.lag is None or (view.lag is not None and view.lag <= wanted.lag))
    )


def _share_group(life: Life, group_id: str) -> ShareGroup | None:
    """Return a share group; None if there is no group.

    Raises:
        ControlError: it is of another type.
        NotCoordinator: its state cannot be read now.
    """
    group = group_of(life, group_id)
    if group is None or isinstance(group, ShareGroup):
        return group
    kind = summary_of(life, group).type
    raise ControlError(_CONFLICT, f"group {group_id} is a {kind} group, and no share group")


RESOURCES = (
    Resource(
        "GET",
        "/v1/groups/{group}/in-flight",
        get_in_flight,
        answer=ShareView,
        query=InFlightQuery,
    ),
    Resource(
        "POST",
        "/v1/groups/{group}/in-flight/wait",
        wait_for_in_flight,
        answer=ShareView,
        body=InFlightWait,
    ),
)
