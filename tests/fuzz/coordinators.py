"""Wrong requests of groups and transactions at a live broker.

    python -m tests.fuzz.coordinators --seed 1 --frames 100000

The frames of tests.fuzz.coordinator_frames come as those of tests.fuzz.live do, in bursts, beside
well-behaved members and a well-behaved transactional producer, whose answers must not change. After
each burst a new member can join each attacked group within the timeouts that the attackers were
allowed, in both protocols, and every transaction ends. At last the broker stops within a second,
and a restart reads all state without an error and answers the same.
"""

import asyncio
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

from broker_lite.wire import messages
from tests.bench.group_frames import subscription
from tests.fuzz.calm_coordinators import CalmCoordinators
from tests.fuzz.coordinator_frames import (
    GROUPS,
    SESSION_MS_MAX,
    TRANSACTION_MS_MAX,
    CoordinatorFrames,
)
from tests.fuzz.frames import TOPIC
from tests.fuzz.live import (
    Attack,
    Findings,
    calmly,
    check_afterwards,
    open_sockets,
    send_all,
    stop,
)
from tests.fuzz.read_committed import read_committed
from tests.fuzz.well_behaved import WellBehaved
from tests.support.broker_process import KEEP, BrokerProcess
from tests.support.command import seeded_main
from tests.support.raw_client import RawClient

BURST: Final = 10_000
# what an attacker may hold for so long: a session, and then a rebalance that waits for another one
PATIENCE_S: Final = 4 * SESSION_MS_MAX / 1000
SETTINGS: Final = (
    KEEP,
    "auto.create.topics.enable=false",
    "connections.max.idle.ms=12000",
    "group.min.session.timeout.ms=1",
    f"group.max.session.timeout.ms={SESSION_MS_MAX}",
    "group.consumer.min.session.timeout.ms=1",
    f"group.consumer.session.timeout.ms={SESSION_MS_MAX}",
    "group.consumer.min.heartbeat.interval.ms=1",
    "group.consumer.heartbeat.interval.ms=100",
    f"transaction.max.timeout.ms={TRANSACTION_MS_MAX}",
)
_OPEN_STATES: Final = ("Ongoing", "PrepareCommit", "PrepareAbort")


class _Everyone:
    """All well-behaved clients."""

    def __init__(self, plain: WellBehaved, coordinators: CalmCoordinators) -> None:
        self._clients = (plain, coordinators)

    def check(self) -> str | None:
        return next(filter(None, (client.check() for client in self._clients)), None)

    def check_all(self) -> str | None:
        return next(filter(None, (client.check_all() for client in self._clients)), None)


def join_classic(client: RawClient, group_id: str) -> str | None:
    """Join a group and leave it, below MEMBER_ID_REQUIRED; return what was wrong."""
    kind = messages.JoinGroupRequest.JoinGroupRequestProtocol
    joined = client.call(
        "JoinGroup",
        3,
        group_id=group_id,
        session_timeout_ms=SESSION_MS_MAX,
        rebalance_timeout_ms=SESSION_MS_MAX,
        member_id="",
        protocol_type="consumer",
        protocols=[kind(name="range", metadata=subscription([TOPIC]))],
    )
    if joined.error_code:
        return f"JoinGroup of {group_id!r} answered {joined}"
    member = {"group_id": group_id, "member_id": joined.member_id}
    given = messages.SyncGroupRequest.SyncGroupRequestAssignment(
        member_id=joined.member_id, assignment=b"mine"
    )
    generation = {"generation_id": joined.generation_id}
    synced = client.call("SyncGroup", 3, assignments=[given], **member, **generation)
    beat = client.call("Heartbeat", 3, **member, **generation)
    left = client.call("LeaveGroup", 2, **member)
    if codes := [each.error_code for each in (synced, beat, left) if each.error_code]:
        return f"a new member of {group_id!r} was answered {codes}"
    return None


def join_consumer(client: RawClient, group_id: str) -> str | None:
    """Join as a member of the newer protocol, and leave; return what was wrong."""
    member = {"group_id": group_id, "member_id": "new"}
    joined = client.call(
        "ConsumerGroupHeartbeat",
        1,
        member_epoch=0,
        rebalance_timeout_ms=SESSION_MS_MAX,
        subscribed_topic_names=[TOPIC],
        topic_partitions=[],
        **member,
    )
    if joined.error_code:
        return f"ConsumerGroupHeartbeat of {group_id!r} answered {joined}"
    beat = client.call("ConsumerGroupHeartbeat", 1, member_epoch=joined.member_epoch, **member)
    left = client.call("ConsumerGroupHeartbeat", 1, member_epoch=-1, **member)
    if codes := [each.error_code for each in (beat, left) if each.error_code]:
        return f"a new member of {group_id!r} was answered {codes}"
    return None


def within_patience(ask: Callable[[], str | None]) -> str | None:
    """Ask again until nothing is wrong, as long as attackers may hold something up."""
    deadline = time.monotonic() + PATIENCE_S
    while (fault := ask()) is not None and time.monotonic() < deadline:
        time.sleep(0.1)
    return fault


def open_transactions(client: RawClient) -> str | None:
    """Whether a transaction is open, by the list and by the partitions of the attacked topic."""
    listed = client.call("ListTransactions", 0, state_filters=list(_OPEN_STATES))
    if listed.transaction_states:
        return f"open transactions: {listed.transaction_states}"
    for partition in range(2):
        read = read_committed(client, TOPIC, partition)
        if read.last_stable_offset != read.high_watermark:
            kind = messages.DescribeProducersRequest.TopicRequest
            topics = [kind(name=TOPIC, partition_indexes=[partition])]
            producers = client.call("DescribeProducers", 0, topics=topics)
            return f"{TOPIC}-{partition} is stable to {read[1:]} only: {producers}"
    return None


def members_left(client: RawClient) -> str | None:
    """Whether others than the well-behaved are members of anything."""
    listed = client.call("ListGroups", 5, states_filter=[], types_filter=[])
    busy = [
        group
        for group in listed.groups
        if group.group_state not in {"Empty", "Dead"} and not group.group_id.startswith("calm")
    ]
    return f"groups with members: {busy}" if busy else None


def check_groups(port: int) -> list[str]:
    """Join every attacked group, wait for the ends of all transactions; return what was wrong."""
    faults: list[str | None] = []
    with RawClient("127.0.0.1", port, timeout_s=2 * PATIENCE_S) as client:
        for join in (join_classic, join_consumer):
            joins = [partial(join, client, group_id) for group_id in GROUPS]
            faults += [within_patience(each) for each in joins]
        faults.append(within_patience(lambda: open_transactions(client)))
        faults.append(within_patience(lambda: members_left(client)))
    return [fault for fault in faults if fault is not None]


def snapshot(client: RawClient) -> dict[str, Any]:
    """What all groups and transactions are now; names without members and offsets left out."""
    found: dict[str, Any] = {}
    listed = client.call("ListGroups", 5, states_filter=[], types_filter=[])
    for group in listed.groups:
        offsets = client.call("OffsetFetch", 7, group_id=group.group_id, topics=None)
        if offsets.topics or group.group_state not in {"Empty", "Dead"}:
            found[f"group {group.group_id}"] = (group, _sorted(offsets))
    for producer in client.call("ListTransactions", 0, state_filters=[]).transaction_states:
        ids = [producer.transactional_id]
        state = client.call("DescribeTransactions", 0, transactional_ids=ids)
        found[f"transaction {producer.transactional_id}"] = (producer, state)
    for partition in range(2):
        found[f"{TOPIC}-{partition}"] = read_committed(client, TOPIC, partition)
    return found


def _sorted(offsets: Any) -> Any:
    offsets.topics.sort(key=lambda topic: topic.name)
    for topic in offsets.topics:
        topic.partitions.sort(key=lambda partition: partition.partition_index)
    return offsets


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What a restart has changed."""
    return [
        f"{name}\n  before the restart {before.get(name)}\n  after it {after.get(name)}"
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]


def run(seed: int, frames: int, folder: Path) -> Findings:
    """Send the frames of a seed to a broker of its own."""
    before: dict[str, Any] = {}
    with BrokerProcess(folder / "data", settings=SETTINGS) as broker:
        plain = WellBehaved(broker.port, (TOPIC,))
        calm = CalmCoordinators(broker.port)
        generator = CoordinatorFrames(seed, plain.versions(), plain.topic_id(TOPIC))
        everyone = _Everyone(plain, calm)
        sockets = open_sockets(broker.pid)
        attack = Attack(broker.port, seed, 0, generator)
        found = attack.found
        while sum(found.frames.values()) < frames and not found.faults:
            attack.reload(min(BURST, frames - sum(found.frames.values())))
            asyncio.run(send_all(attack, everyone, broker.pid))
            check_afterwards(found, broker, everyone, sockets)
            checking = asyncio.to_thread(check_groups, broker.port)
            found.faults += asyncio.run(calmly(found, everyone, checking))
        with RawClient("127.0.0.1", broker.port) as client:
            before = snapshot(client)
        plain.close()
        calm.close()
        asyncio.run(stop(found, broker, generator))
    with BrokerProcess(folder / "data", settings=SETTINGS) as broker:
        with RawClient("127.0.0.1", broker.port) as client:
            found.faults += differences(before, snapshot(client))
        _check_log(found, broker)
    return found


def _check_log(found: Findings, broker: BrokerProcess) -> None:
    """Only what the attackers' own markers have brought about may be an error."""
    for line in broker.log.splitlines():
        if " ERROR " in line and "marker not written" not in line:
            found.faults.append(line)


def main() -> int:
    """Run from the command line."""
    return seeded_main(run, __doc__, count="frames", default=100_000)


if __name__ == "__main__":
    sys.exit(main())
