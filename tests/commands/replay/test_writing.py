"""Writes records when they are due, by a clock that only moves when it is waited for."""

import signal
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import cast

import pytest

from broker_lite.client import Client
from broker_lite.client.producing.producer import Producer
from broker_lite.client.producing.producer_config import ProducerConfig
from broker_lite.client.producing.transactional_producer import GroupOffsets, TransactionalProducer
from broker_lite.commands.replay.merging import Due, Run
from broker_lite.commands.replay.pace import Pace
from broker_lite.commands.replay.positions import Positions
from broker_lite.commands.replay.writing import TICK_S, Timer, Writer
from broker_lite.commands.shared.stop_signals import StopSignals
from broker_lite.record.records import Record
from broker_lite.testing import Broker

Headers = Iterable[tuple[bytes, bytes | None]]


class FakeClock:
    def __init__(self) -> None:
        self.now = 1000.0
        self.waits: list[float] = []
        self.signal_after: int | None = None

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        if len(self.waits) == self.signal_after:
            signal.raise_signal(signal.SIGINT)
        self.now += seconds

    @property
    def timer(self) -> Timer:
        return Timer(lambda: self.now, self.wait)


class FakeProducer(TransactionalProducer):
    """Notes when records are sent, and what is committed after which of them."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.waiting: list[tuple[int, int]] = []
        self.sent: list[tuple[float, int, int]] = []
        self.committed: list[tuple[int, Mapping[tuple[str, int], int]]] = []

    @property
    def open_records(self) -> int:
        return len(self.waiting)

    def append(
        self,
        key: bytes | None,
        value: bytes | None,
        headers: Headers = (),
        *,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> int | None:
        assert (key, value, headers) == (b"k", b"v", ((b"h", None),))
        assert partition is not None
        assert timestamp_ms is not None
        self.waiting.append((partition, timestamp_ms))
        return partition

    def settle(self) -> None:
        pass

    def flush(self) -> None:
        now = round(self.clock.now - 1000, 6)
        self.sent += [(now, partition, timestamp) for partition, timestamp in self.waiting]
        self.waiting.clear()

    def commit(self, positions: GroupOffsets | None = None) -> None:
        assert positions is not None
        self.committed.append((len(self.sent), positions.offsets))


def run(partition: int, first_offset: int, *times: int) -> Run:
    records = [
        Due(time, Record(first_offset + index, time, b"k", b"v", ((b"h", None),), -1, 6, 0, 0, 0))
        for index, time in enumerate(times)
    ]
    return Run(("t", partition), records)


@contextmanager
def writing(
    pace: Pace, clock: FakeClock, positions: Positions | None = None
) -> Iterator[tuple[Writer, FakeProducer, StopSignals]]:
    producer = FakeProducer(clock)
    writer = Writer(
        cast("Client", None),
        cast("Mapping[str, Producer]", {"t": producer}),
        pace,
        positions,
        on_progress=lambda _: None,
        timer=clock.timer,
    )
    with StopSignals() as signals:
        yield writer, producer, signals


@pytest.mark.parametrize(
    ("rate", "factor"), [("original", 1.0), ("2x", 0.5), ("0.5x", 2.0), ("max", 0.0)]
)
def test_records_are_sent_at_their_gaps(rate: str, factor: float) -> None:
    clock = FakeClock()
    with writing(Pace(rate), clock) as (writer, producer, signals):
        writer.write([run(0, 0, 0, 500), run(1, 0, 700), run(0, 2, 2000)], signals)
        writer.finish({})
    assert [(partition, time) for _, partition, time in producer.sent] == [
        (0, 0),
        (0, 500),
        (1, 700),
        (0, 2000),
    ]
    assert [at for at, _, _ in producer.sent] == pytest.approx(
        [time / 1000 * factor for _, _, time in producer.sent]
    )
    assert writer.written_records == 4
    assert writer.late_s == pytest.approx(0)


def test_a_rate_sends_what_is_due_in_one_tick_together() -> None:
    clock = FakeClock()
    with writing(Pace("10000/s"), clock) as (writer, producer, signals):
        writer.write([run(0, 0, *range(1000))], signals)
        writer.finish({})
    assert len(producer.sent) == 1000
    assert min(clock.waits) >= TICK_S - 1e-6
    assert clock.now - 1000 == pytest.approx(0.1, abs=0.01)
    for number, (at, _, _) in enumerate(producer.sent):
        assert at >= number / 10_000 - 1e-6  # never early
        assert at <= number / 10_000 + 2 * TICK_S + 1e-6
    assert writer.late_s <= TICK_S + 1e-6


def test_positions_are_committed_behind_what_was_sent() -> None:
    clock = FakeClock()
    positions = Positions("id", "text")
    with writing(Pace("original"), clock, positions) as (writer, producer, signals):
        writer.write([run(0, 7, 0, 10), run(1, 3, 5000)], signals)
        writer.finish({("t", 1): 9})
    assert producer.committed == [
        (2, {("t", 0): 9}),  # before the long gap
        (3, {("t", 1): 4}),  # a second has passed
        (3, {("t", 1): 9}),
    ]


def test_a_long_stretch_without_gaps_is_committed_now_and_then() -> None:
    clock = FakeClock()
    positions = Positions("id", "text")

    def runs() -> Iterator[Run]:
        for number in range(30):
            clock.now += 0.1
            yield run(0, number, number)

    with writing(Pace("max"), clock, positions) as (writer, producer, signals):
        writer.write(runs(), signals)
        assert [sent for sent, _ in producer.committed] == [10, 20, 30]
        writer.finish({})
    assert producer.committed[-1] == (30, {("t", 0): 30})


def test_a_signal_stops_it_where_it_waits() -> None:
    clock = FakeClock()
    clock.signal_after = 3
    positions = Positions("id", "text")
    with writing(Pace("original"), clock, positions) as (writer, producer, signals):
        writer.write([run(0, 0, 0, 1000, 2000, 3000)], signals)
        assert isinstance(writer.stopped_by, KeyboardInterrupt)
        writer.finish({})
    assert [time for _, _, time in producer.sent] == [0, 1000]
    assert producer.committed[-1] == (2, {("t", 0): 2})


def test_a_signal_between_runs_stops_it() -> None:
    clock = FakeClock()

    def runs() -> Iterator[Run]:
        yield run(0, 0, 0)
        clock.now += 1
        signal.raise_signal(signal.SIGINT)
        yield run(0, 1, 1)
        raise AssertionError("it has to stop")

    with writing(Pace("max"), clock) as (writer, producer, signals):
        writer.write(runs(), signals)
        writer.finish({})
    assert len(producer.sent) == 2
    assert isinstance(writer.stopped_by, KeyboardInterrupt)


def test_the_broker_sees_the_gaps_of_the_records(tmp_path: Path) -> None:
    """Its clock moves only when the replay waits, and it stamps what arrives."""
    times = [0, 0, 70, 1000, 1001, 61_000]
    runs = [run(index % 2, index // 2, time) for index, time in enumerate(times)]
    clock = FakeClock()
    with Broker(data_dir=tmp_path / "data") as broker, Client(broker.bootstrap) as client:
        broker.freeze()
        broker.create_topic("t", 2, {"message.timestamp.type": "LogAppendTime"})

        def wait(seconds: float) -> None:
            clock.wait(seconds)
            broker.advance(timedelta(seconds=seconds))

        producer = Producer(client, "t", ProducerConfig(), on_failure=pytest.fail)
        timer = Timer(lambda: clock.now, wait)
        arguments = client, {"t": producer}, Pace("original"), None
        writer = Writer(*arguments, on_progress=lambda _: None, timer=timer)
        with StopSignals() as signals:
            writer.write(runs, signals)
            writer.finish({})
        found = sorted(each.timestamp_ms for each in broker.records("t"))
    assert [each - found[0] for each in found] == [0, 0, 70, 1000, 1002, 61_000]


def test_a_slow_rate_without_long_gaps_is_committed_now_and_then() -> None:
    clock = FakeClock()
    positions = Positions("id", "text")
    with writing(Pace("20/s"), clock, positions) as (writer, producer, signals):
        writer.write([run(0, 0, *range(100))], signals)
        writer.finish({})
    counts = [sent for sent, _ in producer.committed]
    assert max(after - before for before, after in pairwise([0, *counts])) <= 22
