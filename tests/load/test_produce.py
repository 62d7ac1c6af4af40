"""Lanes of a producer, without connections: order, retries, and what a stall does to latencies.

Also tests: broker_lite.load.lane, broker_lite.load.partition_queue.
"""

from collections import deque
from collections.abc import Sequence

import pytest

from broker_lite.errors import ErrorCode
from broker_lite.load.lane import RETRY_AFTER_NS, Request
from broker_lite.load.produce import ProduceLane, ProduceWork
from broker_lite.load.recorder import Recorder
from broker_lite.load.stamped import Batch, Producer
from broker_lite.record.batch import parse_header
from broker_lite.record.builder import BatchBuilder
from broker_lite.wire import DecodeError
from tests.load.lanes import MS, SECOND, Spoken, produce_answer, produce_work, recorder

STALL_BEGINS_NS = 3 * SECOND
STALL_ENDS_NS = 4 * SECOND


def lanes_of(work: object, count: int, *, version: int = 9) -> list[ProduceLane]:
    lanes = [work.make_lane() for _ in range(count)]  # type: ignore[attr-defined]
    for lane in lanes:
        lane.speak_to(Spoken(version))
    return lanes


def partition_of(request: Request) -> int:
    """The partition that a frame names: the last four bytes before the length of 7."""
    return int.from_bytes(bytes(request.parts[0])[-5:-1], "big")


def p99_s_with_a_stall(per_second: float | None, in_flight_max: int) -> float:
    """Ten seconds against a broker that takes 1 ms, but answers nothing for one second."""
    counts = recorder()
    work = produce_work(counts, per_second=per_second)
    (lane,) = lanes_of(work, 1)
    work.assign([[0]])
    on_the_way: deque[tuple[int, Request]] = deque()
    for now_ns in range(SECOND, 11 * SECOND, MS // 2):
        while on_the_way and on_the_way[0][0] <= now_ns:
            lane.on_answer(on_the_way.popleft()[1], produce_answer(), now_ns)
        while len(on_the_way) < in_flight_max and (lane.next_due_ns() or 0) <= now_ns:
            answer_ns = now_ns + MS
            if STALL_BEGINS_NS <= answer_ns < STALL_ENDS_NS:
                answer_ns = STALL_ENDS_NS
            on_the_way.append((answer_ns, lane.take(now_ns, 1)))
    counts.finish(11 * SECOND)
    work.end(11 * SECOND)
    return counts.measured.latencies_ns.percentile(0.99) / SECOND


def test_a_stall_shows_in_an_open_loop() -> None:
    assert 0.88 < p99_s_with_a_stall(per_second=200, in_flight_max=5) <= 1.04


def test_a_closed_loop_hides_it() -> None:
    assert p99_s_with_a_stall(per_second=None, in_flight_max=5) < 0.01


def test_requests_are_sent_in_the_order_in_which_they_are_due() -> None:
    work = produce_work(recorder(), per_second=10, partitions=5)
    first, second = lanes_of(work, 2)
    work.assign([[0, 3], [1, 2, 4]])
    taken = [first.take(10 * SECOND, 1) for _ in range(4)]
    assert [partition_of(request) for request in taken] == [0, 3, 0, 3]
    assert [request.due_ns - SECOND for request in taken] == [
        n * SECOND // 10 for n in (0, 3, 5, 8)
    ]
    assert second.next_due_ns() == SECOND + SECOND // 10
    assert [partition_of(second.take(10 * SECOND, 1)) for _ in range(4)] == [1, 2, 4, 1]


def test_a_closed_loop_is_due_when_it_is_taken() -> None:
    work = produce_work(recorder())
    (lane,) = lanes_of(work, 1)
    assert lane.next_due_ns() is None
    work.assign([[0]])
    assert lane.next_due_ns() == 0
    assert lane.take(5 * SECOND, 1).due_ns == 5 * SECOND


def test_a_frame_is_complete() -> None:
    work = produce_work(recorder())
    (lane,) = lanes_of(work, 1)
    work.assign([[0]])
    request = lane.take(0, 99)
    frame = b"".join(request.parts)
    assert len(frame) == request.size_bytes == int.from_bytes(frame[:4], "big") + 4
    assert frame[4:12] == b"\x00\x00\x00\x09\x00\x00\x00\x63"
    assert b"batch-1" in frame


def test_each_partition_gets_all_batches() -> None:
    work = produce_work(recorder(), partitions=2)
    assert {work.batch_of(number).data for number in (0, 2)} == {b"batch-1", b"batch-2"}


def test_an_answer_counts_from_when_the_request_was_due() -> None:
    counts = recorder()
    work = produce_work(counts, per_second=10)
    (lane,) = lanes_of(work, 1)
    work.assign([[0]])
    lane.on_answer(lane.take(9 * SECOND, 1), produce_answer(), 9 * SECOND)
    counts.finish(10 * SECOND)
    assert counts.measured.latencies_ns.max == 8 * SECOND
    assert (counts.measured.records, counts.measured.bytes) == (10, 7)


def test_an_error_that_may_pass_is_sent_again_after_a_pause() -> None:
    counts = recorder()
    work = produce_work(counts, per_second=1)
    (lane,) = lanes_of(work, 1)
    work.assign([[0]])
    request = lane.take(SECOND, 1)
    now_ns = SECOND + MS
    lane.on_answer(request, produce_answer(ErrorCode.NOT_LEADER_OR_FOLLOWER), now_ns)
    assert work.is_stale
    assert lane.next_due_ns() == now_ns + RETRY_AFTER_NS
    again = lane.take(now_ns + RETRY_AFTER_NS, 2)
    assert (again.due_ns, again.number) == (request.due_ns, request.number)
    assert counts.errors == {"NOT_LEADER_OR_FOLLOWER": 1}
    assert counts.retries == counts.errors


def test_what_is_refused_is_not_sent_again() -> None:
    counts = recorder()
    work = produce_work(counts, per_second=1)
    (lane,) = lanes_of(work, 1)
    work.assign([[0]])
    lane.on_answer(lane.take(SECOND, 1), produce_answer(ErrorCode.MESSAGE_TOO_LARGE), SECOND)
    assert lane.next_due_ns() == 2 * SECOND
    assert counts.errors == {"MESSAGE_TOO_LARGE": 1}
    assert (counts.refused, counts.retries, work.is_stale) == (1, {}, False)


def test_a_retry_goes_to_the_lane_that_has_the_partition_now() -> None:
    work = produce_work(recorder(), per_second=1, partitions=2)
    first, second = lanes_of(work, 2)
    work.assign([[0], [1]])
    lost = first.take(SECOND, 1)
    first.on_lost([lost], 2 * SECOND)
    work.assign([[], [1]])  # partition 0 has no leader
    assert first.next_due_ns() is None
    work.assign([[], [0, 1]])
    assert second.take(3 * SECOND, 1).number == lost.number
    assert [second.take(9 * SECOND, 1).number for _ in range(3)] == [1, 2, 3]


def test_a_request_that_is_lost_after_its_partition_moved() -> None:
    work = produce_work(recorder(), per_second=1, partitions=2)
    first, second = lanes_of(work, 2)
    work.assign([[0], [1]])
    lost = first.take(SECOND, 1)
    work.assign([[1], [0]])
    first.on_lost([lost], 2 * SECOND)
    assert second.take(3 * SECOND, 1).number == lost.number


def test_what_never_left_counts_until_the_end() -> None:
    counts = recorder()
    work = produce_work(counts, per_second=2, partitions=3)
    first, second = lanes_of(work, 2)
    work.assign([[0], [1]])  # partition 2 has no leader
    first.on_lost([first.take(SECOND, 1)], SECOND)
    counts.finish(4 * SECOND)
    work.end(4 * SECOND)
    # 0 is to be sent again, 1 to 5 never left: six requests were due in three seconds
    assert counts.unsent == counts.measured.latencies_ns.count == 6
    assert counts.measured.latencies_ns.max == 3 * SECOND
    work.assign([[0, 1], []])
    assert second.next_due_ns() is None


def test_without_acks_a_request_counts_when_it_has_left() -> None:
    counts = recorder()
    work = produce_work(counts, acks=0)
    (lane,) = lanes_of(work, 1)
    work.assign([[0]])
    assert not lane.is_answered
    lane.on_sent(lane.take(SECOND, 1), SECOND + MS)
    assert counts.accepted_records == 10


def test_an_answer_that_cannot_be_read() -> None:
    work = produce_work(recorder())
    (lane,) = lanes_of(work, 1)
    work.assign([[0]])
    with pytest.raises(DecodeError, match="too early"):
        lane.on_answer(lane.take(SECOND, 1), memoryview(b"\x00"), SECOND)


def test_a_broker_with_other_versions() -> None:
    work = produce_work(recorder())
    (lane,) = lanes_of(work, 1, version=8)
    work.assign([[0]])
    assert bytes(lane.take(SECOND, 1).parts[0])[6:8] == b"\x00\x08"
    lane.speak_to(Spoken(30))
    assert bytes(lane.take(SECOND, 1).parts[0])[6:8] == b"\x00\x0c"


def test_a_producer_asks_for_no_offsets() -> None:
    work = produce_work(recorder())
    work.set_starts({})
    assert work.missing() == ()


def test_a_broker_that_only_refuses_fills_no_memory() -> None:
    counts = recorder()
    work = produce_work(counts)
    (lane,) = lanes_of(work, 1)
    work.assign([[0]])
    refusal = produce_answer(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    on_the_way = [lane.take(SECOND, 1) for _ in range(3)]
    for request in on_the_way:
        lane.on_answer(request, refusal, SECOND)
        assert lane.next_due_ns() != 0  # nothing new before these are sent again
    at_ns = SECOND + RETRY_AFTER_NS
    assert lane.next_due_ns() == at_ns
    assert [lane.take(at_ns, 1).number for _ in range(4)] == [0, 1, 2, 3]
    assert counts.retries == {"NOT_LEADER_OR_FOLLOWER": 3}


def test_other_partitions_go_on_while_one_waits() -> None:
    work = produce_work(recorder(), partitions=2)
    (lane,) = lanes_of(work, 1)
    work.assign([[0, 1]])
    lane.on_answer(lane.take(SECOND, 1), produce_answer(ErrorCode.REQUEST_TIMED_OUT), SECOND)
    assert [lane.take(SECOND, 1).number for _ in range(3)] == [1, 3, 5]
    at_ns = SECOND + RETRY_AFTER_NS
    assert [lane.take(at_ns, 1).number for _ in range(3)] == [0, 2, 4]


@pytest.mark.parametrize("version", [3, 9])
def test_a_broker_that_throttles(version: int) -> None:
    counts = recorder()
    work = produce_work(counts)
    (lane,) = lanes_of(work, 1, version=version)
    work.assign([[0]])
    answer = produce_answer(version=version, throttle_ms=250)
    lane.on_answer(lane.take(SECOND, 1), answer, SECOND)
    assert lane.next_due_ns() == SECOND + 250 * MS
    assert (counts.throttles, counts.throttled_ms) == (1, 250)
    assert counts.accepted_records == 10


def test_an_answer_with_tags() -> None:
    counts = recorder()
    work = produce_work(counts)
    (lane,) = lanes_of(work, 1)
    work.assign([[0]])
    answer = bytes(produce_answer(throttle_ms=250))[:-1] + b"\x01\x05\x01\x07"
    lane.on_answer(lane.take(SECOND, 1), memoryview(answer), SECOND)
    assert counts.throttled_ms == 250


def sequences_of(requests: Sequence[Request]) -> list[int]:
    return [request.sequence for request in requests]


def test_sequences_are_counted_for_each_partition() -> None:
    work = idempotent_work(recorder(), partitions=2)
    (lane,) = lanes_of(work, 1)
    work.assign([[0, 1]])
    assert sequences_of([lane.take(SECOND, 1) for _ in range(4)]) == [0, 0, 10, 10]
    frame = b"".join(lane.take(SECOND, 1).parts)
    batch = parse_header(frame[-len(work.batches[0].data) - 3 : -3])
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (77, 0, 20)


def test_what_is_sent_again_keeps_its_sequence() -> None:
    counts = recorder()
    work = idempotent_work(counts)
    (lane,) = lanes_of(work, 1)
    work.assign([[0]])
    on_the_way = [lane.take(SECOND, 1) for _ in range(3)]
    lane.on_lost(on_the_way, SECOND)
    again = [lane.take(SECOND, 1) for _ in range(4)]
    assert sequences_of(again) == [0, 10, 20, 30]
    lane.on_answer(again[0], produce_answer(ErrorCode.DUPLICATE_SEQUENCE_NUMBER), SECOND)
    assert counts.accepted_records == 10
    assert not counts.errors


def test_those_behind_a_failed_request_follow_it_again() -> None:
    work = idempotent_work(recorder())
    (lane,) = lanes_of(work, 1)
    work.assign([[0]])
    first, second, third = (lane.take(SECOND, 1) for _ in range(3))
    lane.on_answer(first, produce_answer(ErrorCode.NOT_ENOUGH_REPLICAS), SECOND)
    for request in (second, third):
        assert lane.next_due_ns() is None
        lane.on_answer(request, produce_answer(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER), SECOND)
    again = [lane.take(SECOND + RETRY_AFTER_NS, 1) for _ in range(4)]
    assert sequences_of(again) == [0, 10, 20, 30]
    assert {work.queue_of(0).producer} == {Producer(77, 0)}


def test_the_next_one_has_the_sequence_of_a_refused_one() -> None:
    work = idempotent_work(recorder())
    (lane,) = lanes_of(work, 1)
    work.assign([[0]])
    first, second = (lane.take(SECOND, 1) for _ in range(2))
    lane.on_answer(first, produce_answer(ErrorCode.MESSAGE_TOO_LARGE), SECOND)
    lane.on_answer(second, produce_answer(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER), SECOND)
    again = [lane.take(SECOND + RETRY_AFTER_NS, 1) for _ in range(2)]
    assert [request.number for request in again] == [1, 2]
    assert sequences_of(again) == [0, 10]
    assert work.queue_of(0).producer == Producer(77, 0)


@pytest.mark.parametrize(
    "code", [ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID]
)
def test_a_broker_that_has_forgotten_the_producer(code: ErrorCode) -> None:
    work = idempotent_work(recorder())
    (lane,) = lanes_of(work, 1)
    work.assign([[0]])
    lane.on_answer(lane.take(SECOND, 1), produce_answer(), SECOND)
    on_the_way = [lane.take(SECOND, 1) for _ in range(2)]
    for request in on_the_way:
        lane.on_answer(request, produce_answer(code), SECOND)
    again = [lane.take(SECOND + RETRY_AFTER_NS, 1) for _ in range(2)]
    assert sequences_of(again) == [0, 10]
    assert work.queue_of(0).producer == Producer(77, 1)


def idempotent_work(counts: Recorder, *, partitions: int = 1) -> ProduceWork:
    builder = BatchBuilder()
    for _ in range(10):
        builder.append(0, None, b"value")
    return produce_work(
        counts,
        partitions=partitions,
        producer=Producer(77, 0),
        batches=[Batch(builder.build(), 10)],
    )
