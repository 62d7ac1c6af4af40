"""The brokers of the cluster: their states, a rolling restart, a return of all."""

from typing import Literal

import msgspec

from broker_lite.control.cluster.electing import preferred_elections
from broker_lite.server.life import Life
from broker_lite.server.nodes import NodeState
from broker_lite.server.upkeep.leaders import elect
from broker_lite.testbench.alone import check_is_alone
from broker_lite.testbench.control.resource import Call, Done, Resource
from broker_lite.testbench.errors import ControlError

_NOT_FOUND = 404


class BrokerView(msgspec.Struct, kw_only=True):
    """A broker as it is now.

    Attributes:
        id: its node id.
        state: up, hung or down.
        fenced: whether the cluster has taken it out: clients do not see it, and it leads nothing.
        rack: that clients are told.
        connections: how many clients are connected to it.
    """

    id: int
    state: str
    fenced: bool
    rack: str | None
    connections: int


class BrokerChange(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What becomes of a broker; one member.

    Attributes:
        state: "up" brings it back; "stopped" shuts it down, so that others take over what it leads;
            "down" lets it crash; "hung" lets it accept clients, but read and answer nothing.
        metadata: "frozen" lets it tell clients about leaders as they are now, until "live".
    """

    state: Literal["up", "stopped", "down", "hung"] | None = None
    metadata: Literal["frozen", "live"] | None = None


async def list_brokers(call: Call) -> list[BrokerView]:
    """List the brokers of the cluster."""
    return _views(call.bench.life)


async def get_broker(call: Call) -> BrokerView:
    """Tell the state of a broker."""
    node_id = call.number("broker")
    for view in _views(call.bench.life):
        if view.id == node_id:
            return view
    raise ControlError(_NOT_FOUND, f"there is no broker {node_id}")


async def change_broker(call: Call) -> BrokerView:
    """Let a broker crash, stop, hang or come back; returns when clients see it."""
    change, life, node_id = call.body, call.bench.life, call.number("broker")
    assert isinstance(change, BrokerChange)
    check_is_alone(life, "change the state of a broker")
    if change.metadata is not None:
        life.nodes.check_is_up(node_id)
        freeze = life.cluster.freeze_metadata
        (freeze if change.metadata == "frozen" else life.cluster.thaw_metadata)(node_id)
    match change.state:
        case "up":
            await life.nodes.bring_up(node_id)
            life.cluster.thaw_metadata(node_id)
        case "stopped":
            await life.nodes.stop(node_id)
        case "down":
            await life.nodes.kill(node_id)
        case "hung":
            await life.nodes.hang(node_id)
        case None:
            if change.metadata is None:
                raise ControlError(400, "give the state or the metadata of the broker")
    await life.replicas.settle_in_turns()
    return await get_broker(call)


async def roll(call: Call) -> Done:
    """Restart the brokers that are up, one after the other, each by a controlled shutdown."""
    life = call.bench.life
    check_is_alone(life, "restart the brokers")
    async with life.nodes.rolling:
        for node_id in life.nodes.states:
            if life.nodes.states[node_id] is NodeState.UP:
                await life.nodes.stop(node_id)
                await life.nodes.bring_up(node_id)
                await elect(life.cluster, preferred_elections, None)
    await life.replicas.settle_in_turns()
    return Done()


async def heal(call: Call) -> Done:
    """Bring every broker back, with all records, and let preferred replicas lead again.

    A broker that runs, but was unregistered, is started again: it takes part from then on.
    """
    life = call.bench.life
    for view in _views(life):
        if view.fenced and life.nodes.states[view.id] is NodeState.UP:
            await life.nodes.stop(view.id)
        if life.nodes.states[view.id] is not NodeState.UP:
            await life.nodes.bring_up(view.id)
        life.cluster.thaw_metadata(view.id)
    life.replicas.return_all()
    await life.replicas.settle_in_turns()
    await elect(life.cluster, preferred_elections, None)
    await life.replicas.settle_in_turns()
    return Done()


def _views(life: Life) -> list[BrokerView]:
    registered = life.cluster.brokers.by_id
    return [
        BrokerView(
            id=node_id,
            state=state.value,
            fenced=node_id not in registered or registered[node_id].is_fenced,
            rack=life.cluster.rack_of(node_id),
            connections=life.nodes.connection_count(node_id),
        )
        for node_id, state in life.nodes.states.items()
    ]


RESOURCES = (
    Resource("GET", "/v1/brokers", list_brokers, answer=list[BrokerView]),
    Resource("GET", "/v1/brokers/{broker}", get_broker, answer=BrokerView),
    Resource("PATCH", "/v1/brokers/{broker}", change_broker, answer=BrokerView, body=BrokerChange),
    Resource("POST", "/v1/cluster/roll", roll),
    Resource("POST", "/v1/cluster/heal", heal),
)
