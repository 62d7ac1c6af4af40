"""Every decoder of batches, files and settings, given valid input with edited bytes: P-08, R-84.

The messages of the wire are fuzzed in tests/wire (test_generate_decode, test_produce and
test_headers), the record scan in tests/record/loops/test_scan, leader epochs and producer snapshots
in tests/log, files as a whole in test_damaged_files.
"""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from broker_lite.control.metadata.metadata_records import FEATURE_LEVEL, decode, encode, make
from broker_lite.errors import BrokerError, SettingsError
from broker_lite.log.files.checkpoints import (
    CorruptCheckpoint,
    MetaProperties,
    format_meta_properties,
    format_offsets,
    format_partition_metadata,
    parse_meta_properties,
    parse_offsets,
    parse_partition_metadata,
)
from broker_lite.log.validate.produced_batch import validate_records
from broker_lite.log.validate.validated import ValidationConfig
from broker_lite.protocol.framing import ProtocolError, RequestFraming
from broker_lite.record.batch import RecordBatch, walk
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.codecs.compression import Codec, compress, decompress
from broker_lite.record.control import decode_control_key, decode_end_transaction
from broker_lite.record.records import iterate_records
from broker_lite.settings import load_settings
from broker_lite.wire.primitives import DecodeError
from tests.fuzz.edits import edited, with_checksum

ROUNDS = 300
OUTPUT_BYTES_MAX = 100_000
BATCH_BYTES_MIN = 61


class Target(NamedTuple):
    """A decoder, what it takes, and what it may raise."""

    decode: Callable[[bytes], object]
    valid: bytes
    errors: tuple[type[Exception], ...]


def batch(codec: int = 0) -> bytes:
    builder = BatchBuilder(codec=codec)
    for number in range(3):
        builder.append(1_700_000_000_000, b"key", b"\0\0\0\0" * number, [(b"h", None)])
    return bytes(builder.build())


def read_batches(data: bytes) -> None:
    for position, size_bytes, magic in walk(memoryview(data)):
        if magic == 2 and size_bytes >= BATCH_BYTES_MIN:
            list(iterate_records(RecordBatch(memoryview(data), position, size_bytes)))


def validate(data: bytes) -> None:
    config = ValidationConfig(topic="t", codec=Codec.GZIP, decompressed_bytes_max=OUTPUT_BYTES_MAX)
    validate_records(memoryview(bytearray(data)), config, now_ms=1_700_000_000_000)


def receive_byte_by_byte(data: bytes) -> None:
    connection = RequestFraming(1000, {3: 9}, control_bytes_max=100)
    for number in range(len(data)):
        connection.get_buffer()[:1] = data[number : number + 1]
        connection.bytes_received(1)
        connection.next_request()


def bounded(codec: Codec) -> Callable[[bytes], None]:
    def check(data: bytes) -> None:
        result = decompress(codec, data, output_bytes_max=OUTPUT_BYTES_MAX)
        assert len(result.data) <= OUTPUT_BYTES_MAX

    return check


def text(parse: Callable[[str], object]) -> Callable[[bytes], object]:
    return lambda data: parse(data.decode("utf-8", "replace"))


def environment(data: bytes) -> None:
    value = data.decode("utf-8", "replace").replace("\0", "")
    load_settings(env={"KAFKA_NUM_PARTITIONS": value, "KAFKA_LOG_RETENTION_MS": value})


FRAME = struct.pack(">ihhih", 12, 3, 9, 7, 1) + b"c\0"
TARGETS = {
    "P-01 frames": Target(receive_byte_by_byte, FRAME + FRAME, (ProtocolError, DecodeError)),
    "R-10 batch": Target(read_batches, batch(), (BrokerError,)),
    "R-40 control key": Target(decode_control_key, b"\0\0\0\1", (BrokerError,)),
    "R-43 marker": Target(decode_end_transaction, bytes(6), (BrokerError,)),
    "metadata record": Target(
        decode, encode(make(FEATURE_LEVEL, name="x", feature_level=1)), (DecodeError,)
    ),
    "S-70 offsets": Target(
        text(parse_offsets),
        format_offsets({("t", 0): 5, ("u", 1): 7}).encode(),
        (CorruptCheckpoint,),
    ),
    "S-75 partition": Target(
        text(parse_partition_metadata),
        format_partition_metadata(bytes(range(16))).encode(),
        (CorruptCheckpoint,),
    ),
    "S-76 meta.properties": Target(
        text(parse_meta_properties),
        format_meta_properties(
            MetaProperties(cluster_id="c" * 22, node_id=1, directory_id="d" * 22)
        ).encode(),
        (CorruptCheckpoint,),
    ),
    "environment": Target(environment, b"120", (SettingsError,)),
    **{
        f"R-84 {codec.name}": Target(bounded(codec), compress(codec, bytes(3000) + b"end"), ())
        for codec in Codec
    },
}


@pytest.mark.parametrize("name", TARGETS)
def test_a_value_or_a_documented_error(name: str) -> None:
    target = TARGETS[name]
    target.decode(target.valid)
    for data in edited(target.valid, seed=1, rounds=ROUNDS):
        try:
            target.decode(data)
        except target.errors:
            continue


@pytest.mark.parametrize("codec", list(Codec), ids=lambda codec: f"V-20 {codec.name}")
def test_a_batch_with_a_right_checksum_is_validated_or_refused(codec: Codec) -> None:
    for data in edited(batch(codec), seed=2, rounds=ROUNDS):
        for each in (data, with_checksum(data)):
            try:
                validate(each)
            except BrokerError:
                continue


@pytest.mark.parametrize(
    ("name", "valid"),
    [
        ("server.properties", b"node.id=3\nlisteners=A://b:1,\\\n C://d:2\nx=\\u00e4\n"),
        ("broker.toml", b'node.id = 3\n[log]\nsegment.bytes = 1048576\nflush.ms = "5"\n'),
    ],
    ids=["properties", "toml"],
)
def test_a_settings_file_is_read_or_refused(tmp_path: Path, name: str, valid: bytes) -> None:
    path = tmp_path / name
    for data in edited(valid, seed=3, rounds=ROUNDS):
        path.write_bytes(data)
        try:
            load_settings(config_file=path, env={})
        except SettingsError:
            continue
