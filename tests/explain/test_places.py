"""Each refusal of the validator is at the field that it is about.

Also tests: broker_lite.explain.judging.
"""

import gzip
import zlib
from collections.abc import Mapping
from typing import Any

import pytest

from broker_lite.errors import BrokerError, Why
from broker_lite.explain import Refused, explain_batch
from broker_lite.explain.judging import DEFAULT_CONFIG, Judge, Verdict
from broker_lite.explain.places import Scene, refused_of
from broker_lite.log.validate.validated import ValidationConfig
from broker_lite.record.legacy.message_builder import LegacySetBuilder, encode_message
from tests.explain.fields import EVERYTHING, NOW_MS, assert_all_whole, marked
from tests.log.batches import BASE_TIMESTAMP, batch, record, records

GZIP = 1
TWO = batch(record() + record(key=None, offset_delta=1), count=2)
OLD = encode_message(0, 1, 0, BASE_TIMESTAMP, b"k", b"v")
NO_KEY = encode_message(0, 1, 0, BASE_TIMESTAMP, None, b"v")


def refusal(data: bytes, **config: Any) -> Refused:
    topic = ValidationConfig(topic="t", **config)
    found = explain_batch(data, topic, now_ms=NOW_MS, limits=EVERYTHING)
    assert_all_whole(found, len(data))
    assert found.refused is not None
    assert marked(found) == ([] if found.refused.path is None else [found.refused.path])
    return found.refused


def wrapper(*keys: bytes | None, timestamp: int = BASE_TIMESTAMP) -> bytes:
    builder = LegacySetBuilder(1, codec=GZIP)
    for index, key in enumerate(keys):
        builder.append(index, timestamp, key, b"v")
    return bytes(builder.build())


def with_crc(message: bytes) -> bytes:
    return message[:12] + zlib.crc32(message[16:]).to_bytes(4, "big") + message[16:]


BATCH_CASES: Mapping[str, tuple[bytes, dict[str, Any], str, str, str | None, str]] = {
    "nothing": (b"\0" * 5, {}, "V-09", "base_offset", "8 bytes, and 5 are left", "0000000000"),
    "old magic": (batch(record(), magic=5), {}, "V-06", "magic", "0, 1 or 2", "5"),
    "length": (batch(record(), length=200), {}, "V-09", "length", "at most 58", "200"),
    "length 3": (batch(record(), length=3), {}, "V-06", "length", "at least 14", "3"),
    "short header": (batch(b"", length=40)[:52], {}, "V-21", "length", "at least 49", "40"),
    "second batch": (
        batch(record()) * 2,
        {},
        "V-09",
        "batches[1].base_offset",
        "the end of the records",
        "another batch",
    ),
    "base offset": (batch(record(), base_offset=5), {}, "V-20", "base_offset", "0", "5"),
    "size": (batch(record()), {"max_message_bytes": 69}, "V-20", "length", "at most 57", "58"),
    "checksum": (
        batch(record(), crc=1),
        {},
        "V-20",
        "crc",
        "0xe99b8dd8",
        "0x00000001",
    ),
    "codec": (
        batch(record(), attributes=6),
        {},
        "V-20",
        "attributes",
        "a codec from 0 to 4",
        "codec 6",
    ),
    "count": (batch(records(1), count=0), {}, "V-32", "record_count", "1 or more", "0"),
    "last offset": (
        batch(records(1), last_offset_delta=5),
        {},
        "V-32",
        "last_offset_delta",
        "0",
        "5",
    ),
    "control": (
        batch(record(), attributes=0x20),
        {},
        "V-32",
        "attributes",
        "no control bit",
        "a control batch",
    ),
    "sequence": (
        batch(record(), producer=(5, 2, -1)),
        {},
        "V-32",
        "base_sequence",
        "0 or more, because there is a producer id",
        "-1",
    ),
    "record length": (
        batch(record(length_error=-1)),
        {},
        "V-36",
        "records[0].header_count",
        "a varint that ends before the bytes do",
        "nothing",
    ),
    "record too long": (
        batch(record(length_error=1)),
        {},
        "V-36",
        "records[0].length",
        "0 to 8",
        "9",
    ),
    "more records": (batch(records(2)), {}, "V-36", "records.rest", "1 records", "more bytes"),
    "more records inside": (
        batch(gzip.compress(records(2)), attributes=GZIP),
        {},
        "V-36",
        "records.rest",
        "1 records",
        "more bytes",
    ),
    "gzip garbage": (
        batch(b"garbage", attributes=GZIP),
        {},
        "V-45",
        "records",
        "gzip data of 1 records",
        "a codec error in record 0",
    ),
    "offsets": (
        batch(gzip.compress(record() + record(offset_delta=5)), count=2, attributes=GZIP),
        {},
        "V-42",
        "records[1].offset_delta",
        "1",
        "5",
    ),
    "too many records": (
        batch(records(4), count=4),
        {"batch_records_max": 3},
        "V-45",
        "record_count",
        "at most 3",
        "4",
    ),
    "no key": (
        TWO,
        {"is_compacted": True},
        "V-44",
        "records[1].key_length",
        "a key, because the topic is compacted",
        "null",
    ),
    "no key inside": (
        batch(gzip.compress(record(key=None)), attributes=GZIP),
        {"is_compacted": True},
        "V-44",
        "records[0].key_length",
        "a key, because the topic is compacted",
        "null",
    ),
    "timestamp": (
        batch(record(), timestamp=5),
        {"before_max_ms": 1000, "after_max_ms": 2000},
        "V-44",
        "records[0].timestamp_delta",
        f"{NOW_MS - 1000} to {NOW_MS + 2000}",
        "5 = 1970-01-01T00:00:00.005Z",
    ),
    "append time": (
        batch(record(), attributes=8),
        {"is_append_time": True},
        "V-44",
        "attributes",
        "CreateTime",
        "LogAppendTime",
    ),
    "max timestamp": (
        batch(record(), attributes=8, max_timestamp=5),
        {"before_max_ms": 1000},
        "V-44",
        "max_timestamp",
        f"{NOW_MS - 1000} to {NOW_MS + 3_600_000}",
        "5",
    ),
    "size when rebuilt": (
        batch(gzip.compress(record(value=bytes(500))), attributes=GZIP),
        {"codec": 0, "max_message_bytes": 300},
        "V-50",
        "length",
        "at most 300 bytes with the codec of the topic",
        "571",
    ),
    "negative timestamp": (
        batch(record() + record(timestamp_delta=-9, offset_delta=1), count=2, timestamp=5),
        {"codec": GZIP},
        "V-42",
        "records[1].timestamp_delta",
        "0 or more, or -1",
        "-4",
    ),
    "negative append time": (
        batch(record(), attributes=8, max_timestamp=-4),
        {"codec": GZIP},
        "V-42",
        "max_timestamp",
        "0 or more, or -1",
        "-4",
    ),
    "epoch": (
        batch(record(), producer=(7, -1, 0)),
        {"codec": GZIP},
        "V-42",
        "producer_epoch",
        "0 or more, because there is a producer id",
        "-1",
    ),
    "no producer": (
        batch(record(), attributes=0x10),
        {"codec": GZIP},
        "V-42",
        "producer_id",
        "0 or more, because the batch is transactional",
        "-1",
    ),
    "sequence -2": (
        batch(record(), producer=(-2, 0, -5)),
        {"codec": GZIP},
        "V-42",
        "base_sequence",
        "0 or more, because there is a producer id",
        "-5",
    ),
}


@pytest.mark.parametrize("name", BATCH_CASES)
def test_the_field_of_a_batch_v06_v09_v20_to_v50(name: str) -> None:
    data, config, rule, path, expected, got = BATCH_CASES[name]
    refused = refusal(data, **config)
    whole_path = path if path.startswith("batches") else f"batches[0].{path}"
    assert (refused.rule, refused.path) == (rule, whole_path)
    assert (refused.expected, refused.got) == (expected, got)
    assert refused.code is not None


OLD_CASES: Mapping[str, tuple[bytes, dict[str, Any], str, str | None]] = {
    "checksum": (OLD + OLD[:12] + bytes(4) + OLD[16:], {}, "V-20", "messages[1].crc"),
    "too short": (
        with_crc(OLD[:8] + (13 + 1).to_bytes(4, "big") + OLD[12:26])[:25] + b"\xff",
        {},
        "V-20",
        "messages[0].crc",
    ),
    "size": (OLD + OLD, {"max_message_bytes": 30}, "V-20", "messages[0].length"),
    "two wrappers": (wrapper(b"k") * 2, {}, "V-31", "messages[1].offset"),
    "another magic": (
        OLD + encode_message(0, 0, 0, 0, b"k", b"v"),
        {},
        "V-31",
        "messages[1].magic",
    ),
    "no key": (OLD + NO_KEY, {"is_compacted": True}, "V-33", "messages[1].key_length"),
    "no key inside": (
        wrapper(b"k", None),
        {"is_compacted": True},
        "V-33",
        "messages[0].messages[1].key_length",
    ),
    "timestamp": (
        OLD + encode_message(0, 1, 0, 5, b"k", b"v"),
        {"before_max_ms": 10**9},
        "V-34",
        "messages[1].timestamp",
    ),
    "timestamp inside": (
        wrapper(b"k", timestamp=5),
        {"before_max_ms": 10**9},
        "V-34",
        "messages[0].messages[0].timestamp",
    ),
    "append time": (
        encode_message(0, 1, 8, -1, b"k", b"v"),
        {},
        "V-34",
        "messages[0].attributes",
    ),
    "too many": (wrapper(b"k", b"k"), {"batch_records_max": 1}, "V-45", None),
}


@pytest.mark.parametrize("name", OLD_CASES)
def test_the_field_of_an_old_message_v20_v31_v33_v34(name: str) -> None:
    data, config, rule, path = OLD_CASES[name]
    refused = refusal(data, **config)
    assert (refused.rule, refused.path) == (rule, path)


def test_a_refusal_that_names_no_field_is_told_all_the_same() -> None:
    """It has the rule and the text, as in the broker's log."""
    scene = Scene(memoryview(b""), "", Judge(DEFAULT_CONFIG, NOW_MS), {})
    verdict = Verdict(Why("V-13", "it is {what}", {"what": "wrong"}), BrokerError())
    assert refused_of(verdict, scene) == Refused(
        "UNKNOWN_SERVER_ERROR", -1, "V-13", "it is wrong", None, None, None
    )
    for rule, facts in (
        ("V-31", {"magic": 1}),
        ("V-31", {"batch_count": 0}),
        ("V-20", {"size_bytes": 1, "max_message_bytes": 2}),
        ("V-20", {"magic": 1, "position": 2, "size_bytes": 3}),
        ("V-42", {}),
        ("V-42", {"timestamp": -4}),
        ("V-34", {"record": 0}),
        ("V-33", {"record": 0}),
    ):
        assert refused_of(Verdict(Why(rule, "", facts)), scene).path is None
