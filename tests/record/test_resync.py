"""R-01, R-02: where a batch may begin."""

import os

from broker_lite.record.builder import BatchBuilder
from broker_lite.record.resync import GUESS_BYTES, possible_starts


def batch() -> bytes:
    builder = BatchBuilder()
    builder.append(0, None, b"value")
    return bytes(builder.build())


def test_r_02_every_batch_is_among_the_guesses() -> None:
    data = b"x" * 5 + batch() + os.urandom(3000) + batch() + batch()[:GUESS_BYTES]
    size_bytes = len(batch())
    expected = {5, 5 + size_bytes + 3000, 5 + 2 * size_bytes + 3000}
    assert expected <= set(possible_starts(data))


def test_r_02_other_bytes_are_none() -> None:
    assert list(possible_starts(b"")) == []
    assert list(possible_starts(bytes(1000))) == []
    assert list(possible_starts(b"\2" * 1000)) == []
    assert list(possible_starts(batch()[: GUESS_BYTES - 1])) == []
