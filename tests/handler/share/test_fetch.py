"""ShareFetch: records as they are acquired, sessions, waiting.

Also tests: broker_lite.handler.share.readers.
"""

import asyncio
from itertools import pairwise
from typing import Any

import pytest

from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.coordinator.share_records.states import ShareKey
from broker_lite.handler import large
from broker_lite.handler.share import fetch
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.control import EndTransactionMarker
from broker_lite.wire import messages
from tests.handler.share.share_requests import Sharer, acquired, batches_of, begun, run
from tests.support.handler_broker import HandlerBroker, OpenBroker
from tests.support.loop_turns import LoopTurns


@pytest.mark.parametrize("version", [1, 2])
def test_k11_records_are_acquired_once(broker: HandlerBroker, version: int) -> None:
    sharer = begun(broker, 10, 5, 3)
    answer = sharer.fetch(version, count=12)
    assert acquired(answer) == [(0, 14, 1)]
    assert batches_of(answer) == [(0, 9), (10, 14)]
    answer = sharer.fetch(version)
    assert acquired(answer) == [(15, 17, 1)]
    assert batches_of(answer) == [(15, 17)]
    assert sharer.fetch(version) == {}


def test_k33_several_partitions_share_the_limits(broker: HandlerBroker) -> None:
    sharer = Sharer(broker, partitions=3)
    for partition in range(2):
        sharer.append(2, 2, partition=partition)
    sharer.beat()
    answer = sharer.fetch(partitions=range(3), count=3)
    assert [acquired(answer, each) for each in range(3)] == [[(0, 3, 1)], [], []]
    assert sorted(answer) == [0, 1, 2]  # the first answer tells of each
    answer = sharer.fetch(count=3)
    assert sorted(answer) == [1]
    assert acquired(answer, 1) == [(0, 3, 1)]


def test_k33_what_is_added_later_is_told_of_once(broker: HandlerBroker) -> None:
    sharer = Sharer(broker, partitions=2)
    sharer.beat()
    assert sorted(sharer.fetch(partitions=[0])) == [0]
    assert sharer.fetch(count=0, partitions=[1]) == {}
    assert sorted(sharer.fetch()) == [1]
    assert sharer.fetch() == {}


def test_k33_bytes_are_limited(broker: HandlerBroker) -> None:
    sharer = begun(broker, 2, 2, 2)
    assert acquired(sharer.fetch(max_bytes=1)) == [(0, 1, 1)]
    assert sharer.fetch(max_bytes=0) == {}
    assert sharer.fetch(count=0) == {}
    assert acquired(sharer.fetch(count=1, share_acquire_mode=1)) == [(2, 2, 1)]


def test_k30_acknowledgements_come_with_a_fetch(broker: HandlerBroker) -> None:
    sharer = begun(broker, 10)
    sharer.fetch()
    answer = sharer.fetch(said={0: [(0, 4, [1]), (5, 9, [2])]})
    assert answer[0].acknowledge_error_code == 0
    assert acquired(answer) == [(5, 9, 2)]
    answer = sharer.fetch(said={0: [(5, 3, [1])]})
    assert (answer[0].acknowledge_error_code, answer[0].acknowledge_error_message) == (42, None)
    assert (answer[0].error_code, acquired(answer)) == (0, [])
    answer = sharer.fetch(
        said={0: [(5, 9, [4])]}, is_renew_ack=True, min_bytes=0, max_bytes=0, count=0
    )
    assert answer[0].acknowledge_error_code == 0


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        pytest.param({"epoch": 1}, 122, id="K-34 no session"),
        pytest.param({"epoch": -1}, 122, id="K-34 nothing to end"),
        pytest.param({"said": {0: [(0, 1, [1])]}, "epoch": 0}, 42, id="K-34 nothing acquired yet"),
    ],
)
def test_a_session_has_to_begin(broker: HandlerBroker, fields: dict[str, Any], code: int) -> None:
    assert begun(broker, 1).fetch(**fields) == code


def test_k34_epochs_and_renewals(broker: HandlerBroker) -> None:
    sharer = begun(broker, 1)
    sharer.fetch()
    assert sharer.fetch(epoch=5) == 123
    assert sharer.fetch(is_renew_ack=True) == 42
    sharer.member_id = ""
    assert sharer.fetch() == 42


def test_k34_sessions_are_limited(open_broker: OpenBroker) -> None:
    broker = open_broker(group_share_max_share_sessions="1")
    begun(broker, 1).fetch()
    assert Sharer(broker, "n").fetch() == 133


def test_k34_the_partitions_of_sessions_are_limited(open_broker: OpenBroker) -> None:
    broker = open_broker(broker_lite_fetch_sessions_max_bytes="768")  # of three partitions
    sharer = begun(broker, 1)
    assert sharer.fetch(partitions=range(4)) == 133
    assert len(broker.coordinators.groups.shares.sessions.of(1)) == 0
    assert acquired(sharer.fetch(partitions=range(3))) == [(0, 0, 1)]
    assert sharer.fetch(partitions=[3]) == 133


def test_k16_a_session_ends_with_its_epoch_or_its_connection(broker: HandlerBroker) -> None:
    sharer, other = begun(broker, 10), Sharer(broker, "n")
    other.beat()
    sharer.fetch()
    assert acquired(other.fetch()) == []
    assert sharer.fetch(epoch=-1, said={0: [(0, 4, [1])]})[0].acknowledge_error_code == 0
    assert acquired(other.fetch()) == [(5, 9, 2)]
    broker.context.connection_id += 1
    for ended in broker.context.at_close.values():
        ended()
    assert other.fetch() == {}
    broker.context.connection_id -= 1
    for ended in broker.context.at_close.values():
        ended()
    assert other.fetch() == 122
    sharer.epoch = 0
    assert acquired(sharer.fetch()) == [(5, 9, 3)]


def hang_up(broker: HandlerBroker) -> None:
    for ended in broker.context.at_close.values():
        ended()


def test_k26_what_is_in_flight_is_forgotten_with_the_last_session(broker: HandlerBroker) -> None:
    sharer = begun(broker, 5, 5)
    assert acquired(sharer.fetch(batch_size=5)) == [(0, 4, 1), (5, 9, 1)]
    hang_up(broker)
    key = ShareKey("g", sharer.topic_id, 0)
    assert broker.context.groups.shares.partition(key) is None
    sharer.epoch = 0
    assert acquired(sharer.fetch(batch_size=5)) == [(0, 9, 2)]  # as it is kept, in one piece


def test_k26_a_session_elsewhere_keeps_the_group(broker: HandlerBroker) -> None:
    sharer, other = begun(broker, 5), Sharer(broker, "n")
    other.beat()
    other.fetch(count=0)
    broker.context.connection_id += 1
    sharer.fetch()
    hang_up(broker)
    key = ShareKey("g", sharer.topic_id, 0)
    assert broker.context.groups.shares.partition(key) is not None
    broker.context.connection_id -= 1
    hang_up(broker)
    assert broker.context.groups.shares.partition(key) is None


def test_k26_a_start_that_was_not_written_is_found_anew(broker: HandlerBroker) -> None:
    sharer = Sharer(broker, earliest=False)
    sharer.beat()
    assert acquired(sharer.fetch()) == []
    hang_up(broker)
    sharer.append(5)
    sharer.epoch = 0
    assert acquired(sharer.fetch()) == []
    sharer.append(1)
    assert acquired(sharer.fetch()) == [(5, 5, 1)]


def test_k32_errors_of_partitions(broker: HandlerBroker) -> None:
    sharer = begun(broker, 1)
    answer = sharer.fetch(partitions=[0, 7])
    assert (answer[7].error_code, acquired(answer)) == (3, [(0, 0, 1)])
    assert [*sharer.fetch()] == [7]
    message = messages.ShareFetchRequest
    forgotten = message.ForgottenTopic(topic_id=sharer.topic_id, partitions=[7])
    assert sharer.fetch(forgotten_topics_data=[forgotten]) == {}
    sharer.topic_id = b"x" * 16
    assert sharer.fetch(partitions=[0])[0].error_code == 100
    assert sharer.fetch() == {}  # its session has only what may be there some day


def test_k32_another_broker_leads(open_broker: OpenBroker) -> None:
    broker = open_broker(broker_lite_brokers="2", default_replication_factor="1")
    sharer = begun(broker, 1)
    broker.talk_to(2)  # one of both coordinates the group
    sharer.beat()
    leader = broker.cluster.topics["t"].partitions[0].leader
    broker.talk_to(3 - leader)
    answer = sharer.fetch()
    assert answer[0].error_code == 6
    assert answer[0].current_leader.leader_id == leader
    broker.talk_to(leader)
    sharer.epoch = 0
    assert acquired(sharer.fetch()) == [(0, 0, 1)]


def test_k01_share_groups_may_be_off(open_broker: OpenBroker) -> None:
    broker = open_broker(broker_lite_features="share.version=0")
    sharer = Sharer(broker)
    assert sharer.beat().error_code == 35
    assert sharer.fetch() == 35
    assert sharer.say({}) == 35
    described = broker.call("ShareGroupDescribe", 1, group_ids=["g"]).groups
    assert [each.error_code for each in described] == [35]


def test_a_group_that_does_not_exist_gets_nothing(broker: HandlerBroker) -> None:
    sharer = Sharer(broker)
    sharer.append(1)
    assert acquired(sharer.fetch()) == []


def test_k15_locks_end_by_the_brokers_clock(broker: HandlerBroker) -> None:
    sharer, other = begun(broker, 10), Sharer(broker, "n")
    other.beat()
    sharer.fetch()
    assert acquired(other.fetch()) == []
    broker.clock.step(29_999)
    assert acquired(other.fetch()) == []
    broker.clock.step(1)
    assert acquired(other.fetch()) == [(0, 9, 2)]
    assert sharer.say({0: [(0, 9, [1])]})[0][0] == 121


def test_k17_the_log_start_moves(broker: HandlerBroker) -> None:
    sharer = begun(broker, 10, 10)
    sharer.fetch(count=10)
    broker.cluster.log("t", 0).delete_records_before(15)
    assert acquired(sharer.fetch()) == [(15, 19, 1)]


def test_k25_records_that_compaction_has_removed_hold_up_nothing(broker: HandlerBroker) -> None:
    sharer = Sharer(broker)
    log = broker.cluster.log("t", 0)
    for _ in range(3):
        sharer.append(5)
        log.roll(broker.clock.now_ms())
    sharer.beat()
    assert [acquired(sharer.fetch())[0][:2] for _ in range(3)] == [(0, 4), (5, 9), (10, 14)]
    assert sharer.say({0: [(0, 4, [1]), (5, 9, [2]), (10, 14, [1])]}) == {0: (0, None)}
    log.segments.take([each for each in log.segments.all if each.base_offset != 5])
    sharer.append(2)
    assert acquired(sharer.fetch()) == []
    key = ShareKey("g", sharer.topic_id, 0)
    assert broker.context.groups.shares.log.start_and_complete(key) == (5, 10, 0)
    assert acquired(sharer.fetch()) == [(15, 16, 1)]
    assert sharer.say({0: [(15, 16, [1])]}) == {0: (0, None)}
    assert broker.context.groups.shares.log.start_and_complete(key) == (15, 2, 0)


def test_k19_committed_records_only(broker: HandlerBroker) -> None:
    sharer = begun(broker, 2, **{"share.isolation.level": "read_committed"})
    log = broker.cluster.log("t", 0)
    now_ms = broker.clock.now_ms()
    for producer_id, is_commit in ((1, False), (2, True)):
        builder = BatchBuilder(
            producer_id=producer_id, producer_epoch=0, base_sequence=0, is_transactional=True
        )
        builder.append(now_ms, None, b"x")
        log.append_batch(builder.build(), now_ms=now_ms)
        if producer_id == 2:
            assert acquired(sharer.fetch()) == [(0, 1, 1), (3, 3, 1)]
        log.append_control(producer_id, 0, EndTransactionMarker(is_commit, 0), now_ms=now_ms)
    assert acquired(sharer.fetch()) == [(4, 5, 1)]
    uncommitted = Sharer(broker, group="h")
    uncommitted.beat()
    assert acquired(uncommitted.fetch()) == [(0, 5, 1)]


def test_k35_aborted_records_are_an_answer(broker: HandlerBroker) -> None:
    sharer = begun(broker, **{"share.isolation.level": "read_committed"})
    log, now_ms = broker.cluster.log("t", 0), broker.clock.now_ms()
    builder = BatchBuilder(producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True)
    builder.append(now_ms, None, b"x")
    log.append_batch(builder.build(), now_ms=now_ms)
    log.append_control(1, 0, EndTransactionMarker(False, 0), now_ms=now_ms)

    async def scene() -> None:
        wish = {"count": 1, "batch_size": 1, "max_wait_ms": 60_000}
        assert acquired(await sharer.fetch_later(**wish)) == []
        assert acquired(await sharer.fetch_later(**wish)) == [(1, 1, 1)]

    run(scene())


def test_k35_a_fetch_waits_for_records_and_for_released_ones(broker: HandlerBroker) -> None:
    sharer, other = begun(broker, 3), Sharer(broker, "n")
    other.beat()

    async def scene() -> None:
        assert acquired(await sharer.fetch_later(max_wait_ms=60_000)) == [(0, 2, 1)]
        waiting = asyncio.create_task(other.fetch_later(max_wait_ms=60_000))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not waiting.done()
        await sharer.fetch_later(said={0: [(0, 1, [1]), (2, 2, [2])]}, count=0)
        assert acquired(await waiting) == [(2, 2, 2)]
        # the time that it waited, which was short, and not that of the machine
        assert 0 < broker.context.nothing_to_give.seconds() < 10
        waiting = asyncio.create_task(other.fetch_later(max_wait_ms=60_000))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        sharer.append(4)
        assert acquired(await waiting) == [(3, 6, 1)]
        assert await other.fetch_later(max_wait_ms=1) == {}

    run(scene())


def test_k35_a_lock_that_ends_wakes_who_waits(broker: HandlerBroker) -> None:
    sharer, other = begun(broker, 3), Sharer(broker, "n")
    other.beat()

    async def scene() -> None:
        await sharer.fetch_later()
        waiting = asyncio.create_task(other.fetch_later(max_wait_ms=60_000))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        broker.clock.step(30_000)
        broker.coordinators.groups.on_time()
        assert acquired(await waiting) == [(0, 2, 2)]

    run(scene())


def test_synthetic_records_are_not_acquired(broker: HandlerBroker) -> None:
    plan = NewTopic("t", 1, configs=(("broker.lite.load.mode", "synthetic"),))
    broker.cluster.create_topics([broker.cluster.plan_topic(plan)])
    sharer = Sharer(broker)
    sharer.beat()
    assert acquired(sharer.fetch()) == []


def test_k22_the_coordinator_of_a_share_partition(broker: HandlerBroker) -> None:
    keys = [f"g:h:{'A' * 22}:0", "g", f":{'A' * 22}:0", "a:b:c"]
    found = broker.call("FindCoordinator", 6, key_type=2, coordinator_keys=keys).coordinators
    assert [each.error_code for each in found] == [0, 42, 42, 42]
    assert "__share_group_state" in broker.cluster.topics
    (old,) = broker.call("FindCoordinator", 5, key_type=2, coordinator_keys=keys[:1]).coordinators
    assert old.error_code == 42


def test_members_take_turns_over_many_records(broker: HandlerBroker) -> None:
    sharers = [begun(broker, *[7] * 30), *(Sharer(broker, each) for each in "no")]
    seen: list[int] = []
    for sharer in sharers:
        sharer.beat()
        sharer.fetch(count=0)
    for _ in range(40):
        for sharer in sharers:
            for first, last, _ in acquired(sharer.fetch(count=5)):
                seen += range(first, last + 1)
                assert sharer.say({0: [(first, last, [1])]}) == {0: (0, None)}
    assert sorted(seen) == list(range(210))
    assert all(one < other for one, other in pairwise(sorted(seen)))


@pytest.mark.as_written
def test_k35_others_have_their_turn(broker: HandlerBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Very many partitions are looked at in slices: here of one partition."""
    monkeypatch.setattr(large, "TURN_S", 0.0)
    monkeypatch.setattr(fetch, "_SHORT_PARTITIONS_MAX", 3)
    sharer = Sharer(broker, partitions=20)
    for partition in range(20):
        sharer.append(2, partition=partition)
    sharer.beat()

    async def scene() -> None:
        async with LoopTurns() as turns:
            answer = await sharer.fetch_later(partitions=range(20), max_wait_ms=60_000)
        assert [acquired(answer, each) for each in range(20)] == [[(0, 1, 1)]] * 20
        assert turns.count >= 60
        said = {each: [(0, 1, [1])] for each in range(20)}
        async with LoopTurns() as turns:
            answer = await sharer.fetch_later(said=said, count=0)
        assert [each.acknowledge_error_code for each in answer.values()] == [0] * 20
        assert turns.count >= 20

    run(scene())
