"""Retention under load: hours of a stepped clock, with producers and consumers at work.

    python -m tests.load.retention --hours 24 --seed 1

Each step of the clock is made while records are written and read. After it, what lies on the disk
is compared with what retention allows (S-50: no more than the limit and one segment), and what is
still to be read with what must not have gone. Readers accept one error, OFFSET_OUT_OF_RANGE, and
only below a log start offset; whatever they get is what was written, and nothing is passed over.
"""

import argparse
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from typing import Final, NamedTuple

from broker_lite.client import Client, check
from broker_lite.client.consuming.fetcher import Fetcher
from broker_lite.client.partition_offsets import EARLIEST, list_offsets
from broker_lite.client.topic_partitions import TopicPartition, find_topics
from broker_lite.record.records import iterate_records
from broker_lite.testing import Broker
from broker_lite.testing.batches import make_batch
from broker_lite.wire import messages

SEGMENT_BYTES: Final = 32_768
BATCH_BYTES_MAX: Final = 12_000
RETENTION_MS: Final = 3_600_000
RETENTION_BYTES: Final = 100_000
PARTITIONS: Final = 3
TOPICS: Final = {
    "by-time": {"retention.ms": RETENTION_MS},
    "by-size": {"retention.ms": -1, "retention.bytes": RETENTION_BYTES},
    "by-both": {"retention.ms": RETENTION_MS, "retention.bytes": RETENTION_BYTES},
    "by-start": {"retention.ms": -1},
}
_TIMEOUT_S: Final = 60.0


class Written(NamedTuple):
    """A batch that was sent."""

    base_offset: int
    size_bytes: int
    timestamp_ms: int


class Outcome(NamedTuple):
    """What a run met."""

    records: int
    written_bytes: int
    kept_bytes: int
    read_records: int
    out_of_range: int


class Run:
    """A broker, and what is known of what was written to it."""

    def __init__(self, broker: Broker, seed: int) -> None:
        self.broker = broker
        self.seed = seed
        self.written: dict[TopicPartition, list[Written]] = {
            (name, partition): [] for name in TOPICS for partition in range(PARTITIONS)
        }
        self.ends = dict.fromkeys(self.written, 0)
        self.deleted_to = dict.fromkeys(self.written, 0)
        self.read_records = 0
        self.out_of_range = 0
        self._stepped_ms = 0
        self._step = 0
        self._busy = 0
        self._is_over = False
        self._turn = threading.Condition()
        self._errors: list[BaseException] = []

    def now_ms(self) -> int:
        """The broker's time."""
        return time.time_ns() // 1_000_000 + self._stepped_ms

    # -- threads

    def run(self, steps: int, step: timedelta) -> Outcome:
        """Let the time pass, step by step.

        Raises:
            AssertionError: something was kept for too long, gone too early, or read wrongly.
        """
        producers = [list(self.written)[index::2] for index in range(2)]
        with Client(self.broker.bootstrap) as client:
            make_topics(client)
        threads = [
            *(self._thread(self._produce, keys, index) for index, keys in enumerate(producers)),
            *(self._thread(read, index) for index, read in enumerate((self._tail, self._lag))),
            self._thread(self._jump, 2),
        ]
        with Client(self.broker.bootstrap) as client, ExitStack() as ending:
            for thread in threads:
                thread.start()
                ending.callback(thread.join, _TIMEOUT_S)
            ending.callback(self._end)
            for _ in range(steps):
                self._one_step(client, step, len(producers))
        if self._errors:
            raise self._errors[0]
        sizes = [each.size_bytes for batches in self.written.values() for each in batches]
        return Outcome(
            sum(self.ends.values()),
            sum(sizes),
            sum(self.on_disk(key) for key in self.written),
            self.read_records,
            self.out_of_range,
        )

    def _thread(self, work: Callable[..., None], *arguments: object) -> threading.Thread:
        def run() -> None:
            try:
                with Client(self.broker.bootstrap) as client:
                    work(client, *arguments)
            except BaseException as error:  # raised by run()
                self._errors.append(error)
                self._end()

        return threading.Thread(target=run)

    def _end(self) -> None:
        with self._turn:
            self._is_over = True
            self._turn.notify_all()

    def _turns(self) -> Iterator[int]:
        """Wait for each step in turn; those that were missed are passed over."""
        seen = 0
        while (seen := self._next_step(seen)) and not self._is_over:
            yield seen

    def _next_step(self, seen: int) -> int:
        with self._turn:
            self._turn.wait_for(lambda: self._is_over or self._step > seen)
            return self._step

    def _one_step(self, client: Client, step: timedelta, producers: int) -> None:
        with self._turn:
            self._step += 1
            self._busy = producers
            self._turn.notify_all()
        self.broker.advance(step)
        self._stepped_ms += step // timedelta(milliseconds=1)
        with self._turn:
            assert self._turn.wait_for(lambda: self._is_over or not self._busy, _TIMEOUT_S)
            assert not self._errors, self._errors
        self._delete_records(client)
        before_ms = self.now_ms()
        self.broker.advance()
        self._check(client, before_ms)

    # -- writing

    def _produce(self, client: Client, keys: list[TopicPartition], index: int) -> None:
        choice = random.Random(f"{self.seed} producer {index}")
        topics = find_topics(client, list(TOPICS))
        for _ in self._turns():
            for key in choice.sample(keys, len(keys)):
                for _ in range(choice.randrange(5)):
                    self._write(client, key, topics[key[0]].topic_id, choice)
            with self._turn:
                self._busy -= 1
                self._turn.notify_all()

    def _write(
        self, client: Client, key: TopicPartition, topic_id: bytes, choice: random.Random
    ) -> None:
        base_offset = self.ends[key]
        count = choice.randrange(1, 9)
        value = choice.randbytes(choice.randrange(BATCH_BYTES_MAX // count))
        values = [b"%d " % (base_offset + delta) + value for delta in range(count)]
        timestamp_ms = self.now_ms()
        batch = make_batch(*values, timestamp_ms=timestamp_ms)
        self.written[key].append(Written(base_offset, len(batch), timestamp_ms))
        request = messages.ProduceRequest
        data = request.PartitionProduceData(index=key[1], records=memoryview(batch))
        topic = request.TopicProduceData(name=key[0], topic_id=topic_id, partition_data=[data])
        answer = client.request(request(acks=-1, timeout_ms=30_000, topic_data=[topic]))
        (result,) = answer.responses[0].partition_responses
        check(f"produce {key}", result.error_code)
        assert result.base_offset == base_offset
        self.ends[key] += count  # now: until it is there, nobody may read from beyond it

    def _delete_records(self, client: Client) -> None:
        """Of one topic, everything below an offset somewhere in the newest segments."""
        choice = random.Random(f"{self.seed} deletion {self._step}")
        key = ("by-start", choice.randrange(PARTITIONS))
        offset = max(self.deleted_to[key], self.ends[key] - choice.randrange(100))
        request = messages.DeleteRecordsRequest
        wanted = request.DeleteRecordsPartition(partition_index=key[1], offset=offset)
        topic = request.DeleteRecordsTopic(name=key[0], partitions=[wanted])
        answer = client.request(request(topics=[topic], timeout_ms=30_000))
        check("deletion", answer.topics[0].partitions[0].error_code)
        assert answer.topics[0].partitions[0].low_watermark == offset
        self.deleted_to[key] = offset

    # -- reading

    def _fetcher(self, client: Client) -> Fetcher:
        fetcher = Fetcher(client, reset=EARLIEST)
        fetcher.assign(dict.fromkeys(self.written, 0))
        return fetcher

    def _tail(self, client: Client, _: int) -> None:
        """Read everything as it comes, waiting for it."""
        fetcher = self._fetcher(client)
        while not self._is_over:
            self._poll(client, fetcher, 0.2)

    def _lag(self, client: Client, _: int) -> None:
        """Read a part of it in each turn, so that retention overtakes."""
        fetcher = self._fetcher(client)
        for step in self._turns():
            if step % 3 == 0:
                self._poll(client, fetcher, 0)

    def _jump(self, client: Client, index: int) -> None:
        """Read anywhere."""
        choice = random.Random(f"{self.seed} reader {index}")
        fetcher = self._fetcher(client)
        for _ in self._turns():
            fetcher.assign({key: choice.randint(0, end) for key, end in self.ends.items()})
            self._poll(client, fetcher, 0)

    def _poll(self, client: Client, fetcher: Fetcher, wait_s: float) -> None:
        before = dict(fetcher.positions)
        batches = fetcher.poll(wait_s)
        expected = {
            key: position if before[key] is None else before[key]
            for key, position in fetcher.positions.items()
        }
        for fetched in batches:
            key = (fetched.topic, fetched.partition)
            if before[key] is None:
                expected[key] = max(expected.get(key) or 0, fetched.position)
                before[key] = fetched.position
            assert fetched.batch.base_offset <= (before[key] or 0) <= fetched.batch.last_offset
            for record in iterate_records(fetched.batch):
                assert record.value is not None
                assert int(record.value.split(b" ", 1)[0]) == record.offset
                self.read_records += 1
            before[key] = fetched.batch.next_offset
        gone = [key for key, position in fetcher.positions.items() if position is None]
        if gone:
            self.out_of_range += len(gone)
            starts = log_starts(client, gone)
            for key in gone:
                assert (before[key] or 0) < starts[key], f"{key} {before[key]} is not gone"

    # -- what has to be

    def on_disk(self, key: TopicPartition) -> int:
        """Bytes of the .log files of a partition."""
        with os.scandir(self.broker.data_dir / f"{key[0]}-{key[1]}") as files:
            return sum(file.stat().st_size for file in files if file.name.endswith(".log"))

    def _check(self, client: Client, before_ms: int) -> None:
        """Compare disk and log start offsets with what retention allows; nobody writes now."""
        starts = log_starts(client, list(self.written))
        after_ms = self.now_ms()
        for key, batches in self.written.items():
            limits = TOPICS[key[0]]
            found = self.on_disk(key)
            kept = bytes_of(batches, lambda each, key=key: each.base_offset >= starts[key])
            most = bytes_of(batches, lambda each, key=key: each.base_offset >= self.deleted_to[key])
            least = most
            if "retention.bytes" in limits:
                most = min(most, RETENTION_BYTES)
                least = min(least, RETENTION_BYTES)
            if limits["retention.ms"] >= 0:
                oldest_ms = before_ms - RETENTION_MS
                most = min(most, bytes_of(batches, lambda e, ms=oldest_ms: e.timestamp_ms >= ms))
                oldest_ms = after_ms - RETENTION_MS
                least = min(least, bytes_of(batches, lambda e, ms=oldest_ms: e.timestamp_ms >= ms))
            assert found <= most + SEGMENT_BYTES, f"{key}: {found} bytes kept, not {most}"
            assert kept >= least - BATCH_BYTES_MAX, f"{key}: {kept} bytes kept, not {least}"


def bytes_of(batches: list[Written], is_meant: Callable[[Written], bool]) -> int:
    """Size of some batches."""
    return sum(each.size_bytes for each in batches if is_meant(each))


def make_topics(client: Client) -> None:
    """Create the topics of a run."""
    request = messages.CreateTopicsRequest
    topics = [
        request.CreatableTopic(
            name=name,
            num_partitions=PARTITIONS,
            replication_factor=-1,
            configs=[
                request.CreatableTopicConfig(name=key, value=str(value))
                for key, value in {**configs, "internal.segment.bytes": SEGMENT_BYTES}.items()
            ],
        )
        for name, configs in TOPICS.items()
    ]
    for answer in client.request(request(topics=topics, timeout_ms=30_000)).topics:
        check(answer.name, answer.error_code, answer.error_message)


def log_starts(client: Client, keys: list[TopicPartition]) -> dict[TopicPartition, int]:
    """Ask for the earliest offsets."""
    topics = find_topics(client, {name for name, _ in keys})
    return list_offsets(client, dict.fromkeys(keys, EARLIEST), topics)


def simulate(hours: float, seed: int, step: timedelta) -> Outcome:
    """Run a broker of its own for some simulated hours."""
    with Broker() as broker:
        return Run(broker, seed).run(round(timedelta(hours=hours) / step), step)


def main() -> None:
    """Run as a command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=24)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--step-minutes", type=float, default=5)
    arguments = parser.parse_args()
    started_s = time.monotonic()
    outcome = simulate(arguments.hours, arguments.seed, timedelta(minutes=arguments.step_minutes))
    print(f"{outcome} in {time.monotonic() - started_s:.0f} s")


if __name__ == "__main__":
    main()
