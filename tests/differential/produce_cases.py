"""Seeded produce requests, valid ones and ones that are broken in every way we could think of.

A case is one request: version, acks, transactional id and the record sets of its partitions. The
same seed gives the same cases; times are relative to `now_ms`, which the caller gives.
"""

import random
from collections.abc import Iterator

from tests.differential.batch_cases import BatchCases
from tests.differential.case import Case
from tests.differential.odd_cases import OddCases
from tests.differential.request_cases import RequestCases
from tests.differential.sequence_cases import SequenceCases


class CaseGenerator:
    """An endless stream of cases from one seed."""

    def __init__(self, seed: int, now_ms: int) -> None:
        self._source = random.Random(seed)
        shared = (self._source, now_ms)
        first_producer_id = 9_000_000 + seed % 1000 * 100
        weighted = (
            *BatchCases(*shared).makers(),
            *OddCases(*shared).makers(),
            *RequestCases(*shared).makers(),
            *SequenceCases(*shared, first_producer_id=first_producer_id).makers(),
        )
        self._makers = [maker for weight, maker in weighted for _ in range(weight)]

    def __iter__(self) -> Iterator[Case]:
        """Yield cases without end."""
        while True:
            yield self._source.choice(self._makers)()
