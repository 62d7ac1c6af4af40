"""Clients that live on while the broker under them changes: they see whether anything is lost.

The port stays the same, so each client meets the next broker as it would one that was restarted:
an idempotent producer goes on with its sequences, one with an open transaction ends it, groups go
on at their offsets, and who takes over a transactional id fences the one before.
"""

import time
from collections.abc import Callable
from contextlib import closing
from typing import Final, TypeVar

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

TIMEOUT_S: Final = 40
TOPIC: Final = "orders"
PARTITIONS: Final = 2
CONFIGS: Final = {
    TOPIC: {"segment.ms": "86400000", "retention.ms": "172800000"},
    "latest": {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.9"},
}
GROUP_PROTOCOLS: Final = ("classic", "consumer")
EACH: Final = 6

_NOT_YET: Final = frozenset(
    (
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
        KafkaError._TRANSPORT,
        KafkaError._TIMED_OUT,
    )
)
_Result = TypeVar("_Result")


class Scene:
    """Producers and groups of one cluster, and what they know to be in it.

    Attributes:
        committed: values by partition that a reader of committed records sees, in order.
    """

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self._admin = AdminClient({"bootstrap.servers": bootstrap})
        self.committed: dict[int, list[str]] = {number: [] for number in range(PARTITIONS)}
        self._unread: dict[str, list[str]] = {protocol: [] for protocol in GROUP_PROTOCOLS}
        self._open: list[tuple[int, str]] = []
        self._sequenced = self._producer({"enable.idempotence": True})
        self._lasting = self._producer({"transactional.id": "lasting"})
        self._fenced = self._producer({"transactional.id": "taken over"})

    def begin(self) -> None:
        """Make the topics, and leave one transaction open that ends well, and one that does not."""
        topics = [NewTopic(name, PARTITIONS, 1, config=dict(c)) for name, c in CONFIGS.items()]
        for future in self._admin.create_topics(topics).values():
            future.result(TIMEOUT_S)
        self._lasting.init_transactions(TIMEOUT_S)
        self._fenced.init_transactions(TIMEOUT_S)
        self._work("first")

    def go_on(self, name: str) -> None:
        """Meet the next broker: see that all is as it was, and do the same again."""
        assert self.configs() == CONFIGS
        self._end_what_is_open(name)
        self._take_over()
        self._read_groups(name)
        self._work(name)

    def end(self) -> None:
        """See all of it from the start."""
        self._end_what_is_open("end")
        self._take_over()
        self._read_groups("end")
        count = sum(len(values) for values in self.committed.values())
        assert self._read("all of it", "classic", count) == self.committed

    def configs(self) -> dict[str, dict[str, str]]:
        """What is set on the topics."""
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in CONFIGS]

        def describe() -> dict[str, dict[str, str]]:
            found = self._admin.describe_configs(resources)
            return {
                resource.name: {
                    name: entry.value
                    for name, entry in future.result(TIMEOUT_S).items()
                    if not entry.is_default and entry.source == 1
                }
                for resource, future in found.items()
            }

        return _when_ready(describe)

    def _producer(self, settings: dict[str, str | bool]) -> Producer:
        return Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 0, **settings})

    def _work(self, name: str) -> None:
        self._now_committed(self._send(self._sequenced, f"{name} sequenced"))
        self._lasting.begin_transaction()
        sent = self._send(self._lasting, f"{name} committed")
        self._lasting.commit_transaction(TIMEOUT_S)
        self._now_committed(sent)
        self._lasting.begin_transaction()
        self._send(self._lasting, f"{name} aborted")
        self._lasting.abort_transaction(TIMEOUT_S)
        self._read_groups(name)
        # behind what is open nobody reads, so these come last
        self._lasting.begin_transaction()
        self._open = self._send(self._lasting, f"{name} open")
        self._fenced.begin_transaction()
        self._send(self._fenced, f"{name} lost")

    def _end_what_is_open(self, name: str) -> None:
        more = self._send(self._lasting, f"{name} ends")
        self._lasting.commit_transaction(TIMEOUT_S)
        self._now_committed([*self._open, *more])

    def _take_over(self) -> None:
        heir = self._producer({"transactional.id": "taken over"})
        _when_ready(lambda: heir.init_transactions(TIMEOUT_S))
        self._fenced.produce(TOPIC, "too late", partition=0)
        with pytest.raises(KafkaException) as refused:
            self._fenced.commit_transaction(TIMEOUT_S)
        assert refused.value.args[0].code() in (KafkaError._FENCED, KafkaError.PRODUCER_FENCED)
        self._fenced = heir

    def _send(self, producer: Producer, name: str) -> list[tuple[int, str]]:
        failed: list[object] = []
        sent = [(number % PARTITIONS, f"{name} {number}") for number in range(EACH)]
        for partition, value in sent:
            producer.produce(
                TOPIC,
                value,
                partition=partition,
                on_delivery=lambda error, _: failed.append(error) if error else None,
            )
        assert producer.flush(TIMEOUT_S) == 0
        assert failed == []
        return sent

    def _now_committed(self, sent: list[tuple[int, str]]) -> None:
        for partition, value in sent:
            self.committed[partition].append(value)
        for unread in self._unread.values():
            unread += [value for _, value in sent]

    def _read_groups(self, name: str) -> None:
        for protocol, unread in self._unread.items():
            found = self._read(f"{protocol} group", protocol, len(unread))
            values = sorted(value for values in found.values() for value in values)
            assert values == sorted(unread), (name, protocol)
            unread.clear()

    def _read(self, group: str, protocol: str, count: int) -> dict[int, list[str]]:
        """What a group has not read yet, by partition; its offsets are committed."""
        found: dict[int, list[str]] = {number: [] for number in range(PARTITIONS)}
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": group,
                "group.protocol": protocol,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        deadline = time.monotonic() + TIMEOUT_S
        with closing(consumer):
            consumer.subscribe([TOPIC])
            while count > 0 and time.monotonic() < deadline:
                message = consumer.poll(1)
                if message is not None and message.error() is None:
                    count -= 1
                    found[message.partition()].append(message.value().decode())
            # nothing is there twice
            message = consumer.poll(0.2)
            if message is not None and message.error() is None:
                found[message.partition()].append(message.value().decode())
            _when_ready(lambda: consumer.commit(asynchronous=False))
        return found


def _when_ready(act: Callable[[], _Result]) -> _Result:
    """Do something that a broker refuses as long as it reads its state logs."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        try:
            return act()
        except KafkaException as error:
            if error.args[0].code() not in _NOT_YET or time.monotonic() > deadline:
                raise
            time.sleep(0.1)
