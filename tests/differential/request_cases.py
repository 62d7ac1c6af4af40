"""Requests: versions, several partitions, what is unknown, internal topics and transactions."""

import random
from dataclasses import replace
from typing import Final

from tests.differential.batches import NONE
from tests.differential.case import (
    OFFSETS,
    PARTITION_COUNTS,
    TRANSACTIONS,
    WIDE,
    Case,
    CaseMaker,
    Maker,
)

# Kafka does not answer these, which takes the time limit each.
SILENT_CASES_MAX: Final = 3


class RequestCases(CaseMaker):
    """What is about the request rather than about a batch."""

    def __init__(self, source: random.Random, now_ms: int) -> None:
        super().__init__(source, now_ms)
        self._silent_cases = 0

    def makers(self) -> list[tuple[int, Maker]]:
        """What makes a case each, and how often in relation to the others."""
        return [
            (6, self._versions),
            (6, self._request),
            (1, self._null_records),
            (3, self._internal),
            (3, self._transaction),
            (4, self._several_partitions),
            (2, self._unknown_id),
        ]

    def _versions(self) -> Case:
        batch = self.batch()
        return self.case("versions", batch.encode(), version=self.source.randrange(3, 14))

    def _request(self) -> Case:
        source = self.source
        good, bad = self.batch(codec=NONE).encode(), self.batch(codec=NONE, keys=True)
        broken = replace(bad, crc=1).encode()
        topics = self.topics(3)
        two = ((topics[0], 0, good), (topics[1], 0, broken), (topics[2], 0, bad.encode()))
        version = source.choice((7, 8, 9, 11, 12, 13))
        kind, changes = source.choice(
            (
                ("several", {"partitions": two}),
                (
                    "several-bad-header",
                    {"partitions": (*two, (topics[0], 7, good[:8] + bytes(20)))},
                ),
                ("same-twice", {"partitions": ((topics[0], 0, broken), (topics[0], 0, good))}),
                ("same-twice-bad", {"partitions": ((topics[0], 0, good), (topics[0], 0, broken))}),
                ("unknown-partition", {"partitions": ((topics[0], 3, good), (topics[1], 0, good))}),
                ("unknown-topic", {"partitions": (("nowhere", 0, good), (topics[1], 0, good))}),
                ("negative-partition", {"partitions": ((topics[0], -1, good),)}),
                ("acks", {"acks": source.choice((2, -2, 127)), "partitions": two}),
                ("acks-bad", {"acks": 2, "partitions": (("nowhere", 0, good),)}),
                ("acks-0", {"acks": 0, "partitions": ((topics[0], 0, good),)}),
                (
                    "acks-0-bad",
                    {"acks": 0, "partitions": ((topics[0], 0, good), (topics[1], 0, broken))},
                ),
                ("nothing", {"partitions": ()}),
                ("illegal-name", {"partitions": (("no/such", 0, good),)}),
            )
        )
        return Case(kind=f"request-{kind}", version=version, **changes)

    def _null_records(self) -> Case:
        """V-02."""
        if self._silent_cases >= SILENT_CASES_MAX:
            return self.case("null-records-elsewhere", None, topic="nowhere")
        self._silent_cases += 1
        return self.case("null-records", None)

    def _internal(self) -> Case:
        """V-12."""
        source = self.source
        topic, client_id = source.choice(
            (
                *((OFFSETS, "__admin_client"), (OFFSETS, "__admin_clients")),
                *((OFFSETS, "raw-client"), (TRANSACTIONS, "raw-client")),
                ("__share_group_state", "__admin_client"),
            )
        )
        data = self.batch(keys=True).encode()
        acks = source.choice((1, 1, -1, 2))
        return self.case("internal", data, topic=topic, client_id=client_id, acks=acks)

    def _transaction(self) -> Case:
        """V-07, V-10, V-60: no transactional id is known to either broker."""
        source = self.source
        batch = replace(
            self.batch(codec=NONE, keys=True),
            attributes=source.choice((0x10, 0x10, 0)),
            producer_id=source.choice((-1, 7_000_000, 7_000_001)),
            producer_epoch=source.choice((-1, 0, 1)),
            base_sequence=source.choice((-1, 0, 5)),
        )
        other = replace(batch, producer_id=source.choice((7_000_000, 7_000_001)))
        topics = self.topics(2)
        case = self.case("transaction", batch.encode(), transactional_id=source.choice(("t", "u")))
        if source.random() < 0.5:
            return case
        both = ((topics[0], 0, batch.encode()), (topics[1], 0, other.encode()))
        return replace(case, kind="transaction-two", partitions=both)

    def _several_partitions(self) -> Case:
        source = self.source
        count = PARTITION_COUNTS[WIDE]
        indexes = [source.randrange(count) for _ in range(source.randrange(2, 6))]
        partitions = [(WIDE, index, self.batch().encode()) for index in indexes]
        if source.random() < 0.3:
            partitions.append((WIDE, source.choice((-1, count)), self.batch().encode()))
        if source.random() < 0.3:
            broken = replace(self.batch(), crc=1).encode()
            partitions.insert(source.randrange(len(partitions)), (self.topic(), 0, broken))
        case = self.case("several-partitions", None, acks=source.choice((1, -1)))
        return replace(case, partitions=tuple(partitions))

    def _unknown_id(self) -> Case:
        """V-08; the empty name is the zero id."""
        good = self.batch().encode()
        unknown = self.source.choice(("", "nowhere", "elsewhere"))
        bad = self.source.choice((good, good[:40], None))
        partitions = ((unknown, 0, bad), (unknown, 1, good), (self.topic(), 0, good))
        return Case(
            kind="unknown-id",
            version=self.source.choice((12, 13, 13, 13)),
            partitions=partitions[: self.source.choice((1, 2, 3))],
        )
