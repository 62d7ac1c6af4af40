"""What batches say of themselves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_lite.testbench.journal.batches import (
    BATCHES_MAX,
    NotKept,
    headers_of,
    record_count,
    summaries,
)
from tests.testbench.journal.recorded import batch


def test_a_batch() -> None:
    data = batch(3, producer_id=9, epoch=2, sequence=40, attributes=0x3B)
    assert summaries(data) == {
        "size_bytes": len(data),
        "batches": [
            {
                "magic": 2,
                "base_offset": 0,
                "last_offset": 2,
                "count": 3,
                "size_bytes": len(data),
                "leader_epoch": -1,
                "producer_id": 9,
                "producer_epoch": 2,
                "base_sequence": 40,
                "codec": "lz4",
                "timestamp_type": "LogAppendTime",
                "base_timestamp": 1000,
                "max_timestamp": 2000,
                "transactional": True,
                "control": True,
            }
        ],
    }


@pytest.mark.parametrize(("attributes", "codec"), [(0, "none"), (4, "zstd"), (7, "7")])
def test_codecs(attributes: int, codec: str) -> None:
    [told] = summaries(batch(attributes=attributes))["batches"]
    assert told["codec"] == codec


def test_old_formats() -> None:
    message = (5).to_bytes(8, "big") + (20).to_bytes(4, "big") + bytes(4) + b"\1" + bytes(15)
    assert summaries(message)["batches"] == [{"magic": 1, "offset": 5, "size_bytes": 32}]
    assert record_count(message) == 1
    assert headers_of(message) == []


def test_what_is_no_batch() -> None:
    data = batch(2) + b"\0" * 40
    assert "less than the minimum" in str(summaries(data)["corrupt"])
    assert (len(headers_of(data)), record_count(data)) == (1, 2)


def test_what_was_not_kept() -> None:
    assert summaries(NotKept(500)) == {"size_bytes": 500, "not_kept": True}
    heads = (batch(2)[:61], batch(3)[:61])
    told = summaries(NotKept(500, heads))
    assert (told["size_bytes"], len(told["batches"])) == (500, 2)
    assert record_count(NotKept(500, heads)) == 5


def test_very_many_batches() -> None:
    assert len(headers_of(batch(content=b"") * (BATCHES_MAX + 1))) == BATCHES_MAX


@given(st.binary(max_size=200), st.integers(0, 200))
def test_any_bytes(noise: bytes, at: int) -> None:
    data = bytearray(batch(2) + batch(3))
    data[at : at + len(noise)] = noise
    for content in (noise, bytes(data)):
        summaries(content)
        assert record_count(content) >= 0
        headers_of(memoryview(content))
