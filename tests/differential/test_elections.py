"""Kafka's own code decides the same elections and places the same partitions: no difference.

The record that Kafka would write is compared byte by byte.
"""

import random
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import pytest

from broker_lite.control.cluster.elections import (
    Election,
    ReplicaMove,
    Terms,
    change,
    change_record,
)
from broker_lite.control.metadata.brokers import BrokerRegistration
from broker_lite.control.metadata.metadata_records import decode, encode
from broker_lite.control.metadata.topic import NO_LEADER, PartitionRegistration
from broker_lite.control.topics.placing import Placer
from broker_lite.errors import InvalidReplicationFactor
from tests.control.registered import broker, directory
from tests.differential.java_program import JavaProgram, java_program
from tests.support.toolchain import require

ELECTIONS = 8_000
PLACEMENTS = 1_500
LEVEL_OF_KAFKA_4_3 = 30
PARTITION = 3
TOPIC_ID = b"i" * 16


@pytest.fixture(scope="module")
def kafka() -> Iterator[JavaProgram]:
    require("java", "mvn")
    with java_program("DecideElections") as program:
        yield program


class Case(NamedTuple):
    """What one election begins with."""

    before: PartitionRegistration
    terms: Terms
    active: Collection[int]
    isr: tuple[int, ...] | None
    move: ReplicaMove | None

    @property
    def question(self) -> str:
        before, terms = self.before, self.terms
        move = self.move or ReplicaMove(())
        words = [
            before.leader,
            before.leader_epoch,
            before.partition_epoch,
            *map(listed, (before.replicas, before.isr, before.eligible, before.last_leader)),
            str(before.is_recovering).lower(),
            "-" if self.isr is None else listed(self.isr, "none"),
            listed(move.replicas),
            terms.election.name,
            terms.min_isr,
            str(terms.tracks_eligible).lower(),
            listed(self.active),
            listed(terms.unclean_shutdown),
            *map(listed, (before.adding, before.removing, move.adding, move.removing)),
        ]
        return " ".join(map(str, ("elect", *words)))


def listed(numbers: Iterable[int], empty: str = "-") -> str:
    return ",".join(map(str, numbers)) or empty


def some(chance: random.Random, ids: Sequence[int], least: int = 0) -> tuple[int, ...]:
    return tuple(chance.sample(ids, chance.randint(min(least, len(ids)), len(ids))))


def case(chance: random.Random) -> Case:
    """Anything that may be in an image, and some things that may not."""
    ids = range(1, chance.randint(2, 6))
    replicas = some(chance, ids, 1)
    isr = some(chance, replicas)
    rest = [one for one in replicas if one not in isr]
    eligible = tuple(sorted(some(chance, rest))) if chance.random() < 0.5 else ()
    last_leader = some(chance, ids)[: chance.choice((0, 1, 1, 2))]
    before = PartitionRegistration(
        chance.choice([NO_LEADER, *(isr or replicas)]),
        chance.randint(0, 9),
        replicas,
        isr,
        eligible,
        last_leader,
        chance.randint(0, 9),
        chance.random() < 0.2,
        *(somewhere(chance, replicas) if chance.random() < 0.4 else ((), ())),
    )
    active = some(chance, ids)
    new_isr = chance.choice((None, isr[:-1], some(chance, replicas), ()))
    new_replicas = some(chance, ids, 1)
    moves = (
        None,
        None,
        ReplicaMove(new_replicas),
        ReplicaMove(new_replicas, *somewhere(chance, new_replicas)),
    )
    terms = Terms(
        may_lead=frozenset(active).__contains__,
        min_isr=chance.randint(1, 3),
        tracks_eligible=chance.random() < 0.7,
        election=chance.choice(list(Election)),
        unclean_shutdown=some(chance, ids)[: chance.choice((0, 0, 1))],
    )
    return Case(before, terms, active, new_isr, chance.choice(moves))


def somewhere(
    chance: random.Random, replicas: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Of some replicas those that are added, and others that are removed."""
    adding = some(chance, replicas)
    return adding, some(chance, [one for one in replicas if one not in adding])


def decided(one: Case) -> str:
    after = change(one.before, one.terms, isr=one.isr, move=one.move)
    if after is one.before:
        return "none"
    assert after.partition_epoch == one.before.partition_epoch + 1
    directories = list(map(directory, after.replicas))
    record = change_record(TOPIC_ID, PARTITION, one.before, after, directories)
    return encode(record, LEVEL_OF_KAFKA_4_3).hex()


def without_repetition(answer: str, before: PartitionRegistration) -> str:
    """Leave out the ISR from a record if it is the one before.

    An unclean election of Kafka's writes it all the same.
    """
    if answer == "none":
        return answer
    record = decode(bytes.fromhex(answer))
    if record.value.isr == list(before.isr):
        record.value.isr = None
    return encode(record, LEVEL_OF_KAFKA_4_3).hex()


@pytest.mark.kafka
def test_elections_are_those_of_kafka(kafka: JavaProgram) -> None:
    """C-10 to C-14, C-43."""
    chance = random.Random(20261201)
    changed = 0
    for _ in range(ELECTIONS):
        one = case(chance)
        answer = without_repetition(kafka.ask(one.question), one.before)
        assert decided(one) == answer, one
        changed += answer != "none"
    assert changed > ELECTIONS // 2


class Constant(random.Random):
    """Draws the same number every time, as far as the bound allows."""

    def __init__(self, drawn: int) -> None:
        super().__init__()
        self._drawn = drawn

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        del stop, step
        return self._drawn % start

    def _randbelow(self, bound: int) -> int:
        return self._drawn % bound


def placed(
    brokers: Sequence[BrokerRegistration], drawn: int, replication_factor: int, count: int
) -> str:
    placer = Placer(brokers, chance=Constant(drawn))
    try:
        placer.check(replication_factor)
    except InvalidReplicationFactor as error:
        return f"refused {error.message}"
    return " ".join(listed(placer.place(replication_factor)) for _ in range(count))


@pytest.mark.kafka
def test_partitions_are_placed_as_by_kafka(kafka: JavaProgram) -> None:
    """C-01, C-02."""
    chance = random.Random(20261202)
    refused = 0
    for _ in range(PLACEMENTS):
        racks = chance.choice(((None,), ("a", "b"), (None, "a"), ("b", "a", "c")))
        fenced = chance.choice((0, 0.2, 0.5))
        brokers = [
            broker(node_id, chance.choice(racks), is_fenced=chance.random() < fenced)
            for node_id in range(1, chance.randint(2, 12))
        ]
        drawn, factor, count = chance.randrange(5_000), chance.randint(1, 5), chance.randint(1, 30)
        words = [f"{one.node_id}/{one.rack or '-'}/{str(one.is_fenced).lower()}" for one in brokers]
        answer = kafka.ask(" ".join(map(str, ("place", drawn, factor, count, *words))))
        assert placed(brokers, drawn, factor, count) == answer, words
        refused += answer.startswith("refused")
    assert PLACEMENTS // 20 < refused < PLACEMENTS // 2
