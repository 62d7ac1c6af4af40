"""The broker as a whole: whether it is ready, a reset, its clock."""

from typing import Final, Literal

import msgspec

from broker_lite import __version__
from broker_lite.control.cluster.kept_topics import kept
from broker_lite.server.orders import KeepTopics, Order
from broker_lite.server.upkeep.maintenance import check_retention
from broker_lite.testbench.alone import check_is_alone
from broker_lite.testbench.bounds import AdvanceMs
from broker_lite.testbench.control.resource import Call, Done, Resource
from broker_lite.testbench.errors import ControlError

_UNAVAILABLE: Final = 503


class About(msgspec.Struct, kw_only=True):
    """What answers here.

    Attributes:
        name: broker-lite.
        version: of it.
        cluster_id: of the cluster.
        bootstrap: HOST:PORT of the first listener of each broker, separated by commas.
        resources: each method and path, with what it does.
    """

    name: str
    version: str
    cluster_id: str
    bootstrap: str
    resources: dict[str, str]


class Reset(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What a reset leaves as it is.

    Attributes:
        keep: "topics" keeps the topics, without records, with their ids and configs; the faults and
            the journal go, too, unless they are named.
    """

    keep: list[Literal["topics", "faults", "journal"]] = []


class ClockChange(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """How far the clock goes forward, and whether it goes on by itself.

    Attributes:
        advance_ms: not negative, also of a frozen clock; with 0, only retention runs.
        freeze: true stops the clock, so that only advance_ms moves it; false lets it go on from
            where it stands, as a reset, a restore and a restart do; left out, nothing changes.
    """

    advance_ms: AdvanceMs = 0
    freeze: bool | None = None


class ClockView(msgspec.Struct, kw_only=True):
    """The broker's clock.

    Attributes:
        now_ms: milliseconds since 1970, as its timers see it.
        is_frozen: whether only advance_ms moves it.
    """

    now_ms: int
    is_frozen: bool


async def about(call: Call) -> About:
    """Tell what answers here, and what can be asked for."""
    from broker_lite.testbench.control.table import RESOURCES

    life = call.bench.life
    return About(
        name="broker-lite",
        version=__version__,
        cluster_id=life.cluster.cluster_id,
        bootstrap=life.address,
        resources={f"{each.method} {each.path}": each.summary for each in RESOURCES},
    )


async def ready(call: Call) -> Done:
    """Answer 200 when clients are accepted and the script of the start is in force; 503 before."""
    if not call.bench.is_ready:
        raise ControlError(_UNAVAILABLE, "the broker is not ready")
    return Done()


async def reset(call: Call) -> Done:
    """Remove all data but the topics and records of the start; returns when it is ready again.

    Groups, transactions, users, ACLs, quotas, the configs of brokers and the steps of the clock are
    gone, too, and certificates are those of the start. Topics that are kept have their ids, configs
    and replicas, and are led by the first one.
    """
    wanted, bench = call.body, call.bench
    assert isinstance(wanted, Reset)
    life = bench.life
    bench.clear(faults="faults" not in wanted.keep, journal="journal" not in wanted.keep)
    keeps = "topics" in wanted.keep
    life.order(KeepTopics(kept(life.cluster.topics.values())) if keeps else Order.RESET)
    await bench.next_life()
    return Done()


async def change_clock(call: Call) -> ClockView:
    """Move the broker's clock forward, freeze it, or let it go on.

    It returns when the retention that is due has run.
    """
    change, life = call.body, call.bench.life
    assert isinstance(change, ClockChange)
    if change.freeze:
        check_is_alone(life, "freeze the clock")
        life.clock.freeze()
    if change.advance_ms:
        life.clock.step(change.advance_ms)
    if change.freeze is False:
        life.clock.unfreeze()
    if change.advance_ms or change.freeze is None:
        await check_retention(life.cluster.logs)
    return await now(call)


async def now(call: Call) -> ClockView:
    """Tell the time of the broker's clock."""
    clock = call.bench.life.clock
    return ClockView(now_ms=clock.now_ms(), is_frozen=clock.is_frozen)


RESOURCES = (
    Resource("GET", "/v1", about, answer=About),
    Resource("GET", "/v1/ready", ready),
    Resource("POST", "/v1/reset", reset, body=Reset),
    Resource("GET", "/v1/clock", now, answer=ClockView),
    Resource("POST", "/v1/clock", change_clock, answer=ClockView, body=ClockChange),
)
