"""The batches of a load, and what is in them."""

from itertools import islice, repeat
from pathlib import Path

import pytest

from broker_lite.errors import SettingsError
from broker_lite.load.content import file_values, make_batches, random_values
from broker_lite.record.batch import RecordBatch
from broker_lite.record.codecs.compression import Codec
from broker_lite.record.records import keys_and_values


def values_of(data: bytes) -> list[bytes | None]:
    return [value for _, value in keys_and_values(RecordBatch(data, 0, len(data)))]


@pytest.mark.parametrize("codec", list(Codec))
def test_batches_hold_as_many_records_as_fit(codec: Codec) -> None:
    batches = make_batches(
        random_values(100, 0.3, 1), batch_bytes=16 << 10, codec=codec, timestamp_ms=5
    )
    plain = make_batches(
        random_values(100, 0.3, 1), batch_bytes=16 << 10, codec=Codec.NONE, timestamp_ms=5
    )
    assert [batch.records for batch in batches] == [batch.records for batch in plain]
    assert 16_000 < len(plain[0].data) <= 16 << 10
    assert len(set(batches)) == len(batches) == 64
    assert [len(value or b"") for value in values_of(batches[0].data)] == [100] * plain[0].records
    header = RecordBatch(batches[0].data, 0, len(batches[0].data))
    assert (header.codec, header.max_timestamp) == (codec, 5)


def test_a_large_record_is_a_batch_of_its_own() -> None:
    batches = make_batches(repeat(bytes(1000)), batch_bytes=100, codec=0, timestamp_ms=0)
    assert {batch.records for batch in batches} == {1}


def test_large_batches_are_few() -> None:
    batches = make_batches(repeat(bytes(100_000)), batch_bytes=8 << 20, codec=0, timestamp_ms=0)
    assert [batch.records for batch in batches] == [83, 83]


def test_the_share_of_random_bytes() -> None:
    first, second = islice(random_values(200, 0.25, 1), 2)
    assert len(first) == len(second) == 200
    assert first[:50] != second[:50]
    assert first[50:] == second[50:]
    assert next(random_values(200, 0.25, 1)) == first != next(random_values(200, 0.25, 2))
    assert len(next(random_values(10, 1, 1))) == len(next(random_values(10, 0, 1))) == 10


def test_the_lines_of_a_file_again_and_again(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"one\ntwo\r\n")
    assert list(islice(file_values(path), 5)) == [b"one", b"two", b"one", b"two", b"one"]


def test_a_file_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="No such file"):
        file_values(tmp_path / "missing")
    (tmp_path / "empty").touch()
    with pytest.raises(SettingsError, match="is empty"):
        file_values(tmp_path / "empty")
