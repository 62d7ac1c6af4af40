"""Each poison is what it says, has the same size, and a strict reader refuses what is broken.

Also tests: broker_lite.testbench.faults.poison.batch.
Also tests: broker_lite.testbench.faults.poison.catalogue.
"""

from collections.abc import Callable

import pytest

from broker_lite.errors import BrokerError, CorruptMessage
from broker_lite.record.batch import RecordBatch
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.records import Record, iterate_records
from broker_lite.testbench.faults.poison.batch import Batch, highest, lowest_negative
from broker_lite.testbench.faults.poison.catalogue import POISONS
from broker_lite.testbench.faults.poison.changes import poisoned
from broker_lite.testbench.faults.problems import CannotApply

NOW_MS = 1_700_000_000_000
CODECS = {"plain": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
# of these, the records of a compressed batch would have to be changed
PLAIN_ONLY = frozenset(
    ("offset-gap", "offset-backwards", "duplicate-offsets", "negative-varint", "header-count")
)
DELIVERED = frozenset(
    (
        "flipped-byte",
        "offset-gap",
        "offset-backwards",
        "duplicate-offsets",
        "control-batch",
        "open-transaction",
        "old-timestamp",
        "epoch-backwards",
    )
)
"""What a reader of single batches takes; the rest is for readers that know what came before."""


def batch(count: int = 3, codec: int = 0, base_offset: int = 100, value: bytes = b"v") -> bytes:
    builder = BatchBuilder(codec=codec)
    for number in range(count):
        builder.append(NOW_MS + number, b"k%d" % number, value * 20, [(b"h", b"1")])
    built = bytearray(builder.build())
    view = Batch(built)
    view.set(base_offset=base_offset, leader_epoch=4)
    return bytes(built)


def read(data: bytes) -> list[Record]:
    """What a strict reader delivers of the first batch.

    Raises:
        BrokerError: it refuses the batch.
    """
    first = RecordBatch(memoryview(data), 0, len(data))
    if first.magic != 2 or first.length + 12 > len(data):
        raise CorruptMessage("an unknown format, or a part of a batch")
    first = RecordBatch(memoryview(data), 0, 12 + first.length)
    first.ensure_valid()
    return list(iterate_records(first))


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
@pytest.mark.parametrize("name", POISONS)
def test_each_has_the_same_size_and_is_wrong(name: str, codec: int) -> None:
    right = batch(codec=codec)
    follower = batch(2, base_offset=103)
    if codec and name in PLAIN_ONLY:
        with pytest.raises(CannotApply, match="compressed"):
            poisoned(name, right)
        return
    wrong = poisoned(name, right + follower)
    assert len(wrong) == len(right) + len(follower)
    assert wrong[: len(right)] != right
    assert wrong[len(right) :] == follower
    if codec and name == "flipped-byte":  # codecs with a checksum of their own notice
        assert codec == CODECS["lz4"] or _is_refused(wrong[: len(right)])
    elif name in DELIVERED:
        assert read(wrong[: len(right)])
    else:
        with pytest.raises(BrokerError):
            read(wrong[: len(right)])


def _is_refused(data: bytes) -> bool:
    try:
        read(data)
    except BrokerError:
        return True
    return False


def offsets(name: str, count: int = 3) -> list[int]:
    return [each.offset for each in read(poisoned(name, batch(count)))]


def test_offsets() -> None:
    assert offsets("offset-gap") == [100, 102]
    assert offsets("offset-gap", 2) == [100]
    assert offsets("offset-backwards") == [100, 101, 99]
    assert offsets("offset-backwards", 1) == [99]
    assert offsets("offset-backwards", 200)[-1] < 100
    assert offsets("duplicate-offsets") == [100, 100, 102]
    for name in ("offset-gap", "duplicate-offsets"):
        with pytest.raises(CannotApply, match="it takes two"):
            poisoned(name, batch(1))


@pytest.mark.parametrize("size", [0, 1, 3, 4, 60, 61, 62, 63, 64, 126, 127, 500])
def test_a_gap_leaves_the_other_records_as_they_are(size: int) -> None:
    right = read(batch(4, value=bytes(size)))
    left = read(poisoned("offset-gap", batch(4, value=bytes(size))))
    assert [each.offset for each in left] == [100, 102, 103]
    assert left[1:] == right[2:]
    assert (left[0].key, left[0].value) == (right[0].key, right[0].value)
    assert left[0].headers[:-1] == right[0].headers
    assert left[0].headers[-1][0] in (b"x", b"xx")


HEADERS: dict[str, Callable[[RecordBatch], bool]] = {
    "count-too-high": lambda each: each.record_count == 4,
    "count-too-low": lambda each: each.record_count == 2,
    "length-too-long": lambda each: 12 + each.length > len(each.buffer),
    "length-too-short": lambda each: each.length == 13,
    "unknown-magic": lambda each: each.magic == 9,
    "unknown-codec": lambda each: each.attributes & 7 == 7,
    "control-batch": lambda each: each.attributes & 0x20 != 0,
    "open-transaction": lambda each: each.attributes & 0x10 != 0 and each.producer_id == 1,
    "old-timestamp": lambda each: (each.base_timestamp, each.max_timestamp) == (1, 3),
    "epoch-backwards": lambda each: each.leader_epoch == 3,
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers(name: str) -> None:
    data = poisoned(name, batch())
    assert HEADERS[name](RecordBatch(memoryview(data), 0, len(data)))


def test_one_bit_of_the_first_value_is_flipped() -> None:
    right, wrong = read(batch()), read(poisoned("flipped-byte", batch()))
    assert wrong[0].value == b"v" * 19 + b"w"
    assert wrong[1:] == right[1:]
    key = read(poisoned("flipped-byte", batch(value=b"")))[0].key
    assert key == b"k1"
    builder = BatchBuilder()
    builder.append(NOW_MS, None, None, [])
    with pytest.raises(CannotApply, match="no record has a value"):
        poisoned("flipped-byte", bytes(builder.build()))


def test_what_cannot_be_spoiled() -> None:
    for data in (b"", batch()[:40], batch()[:-1]):
        with pytest.raises(CannotApply):
            poisoned("bad-crc", data)
    old = bytearray(batch())
    Batch(old).set(magic=1)
    with pytest.raises(CannotApply, match="magic 2"):
        poisoned("bad-crc", old)
    none = bytearray(batch())
    Batch(none).set(leader_epoch=-1)
    with pytest.raises(CannotApply, match="no leader epoch"):
        poisoned("epoch-backwards", none)
    torn = bytearray(batch())
    torn[61:] = b"\xff" * (len(torn) - 61)
    with pytest.raises(CannotApply, match="can be read"):
        poisoned("header-count", torn)


def test_varints_of_a_size() -> None:
    assert [lowest_negative(each, 1) for each in (1, 2)] == [b"\x01", b"\x81\x01"]
    assert lowest_negative(1, 2) == b"\x03"
    assert [highest(each) for each in (1, 2)] == [b"\x7e", b"\xfe\x7f"]


def test_each_says_what_a_right_client_does() -> None:
    assert len(POISONS) == 18
    assert all(each.wrong.endswith(".") and each.client.endswith(".") for each in POISONS.values())
