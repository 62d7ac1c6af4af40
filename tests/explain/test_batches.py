"""Batches: every byte is in one field, and the values are those of the log.

Also tests: broker_lite.explain.batch_walk, broker_lite.explain.record_walk,
broker_lite.explain.record_sets.
"""

import gzip
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_lite.errors import BrokerError
from broker_lite.explain import (
    CannotExplain,
    Explanation,
    Field,
    Refused,
    State,
    explain_batch,
)
from broker_lite.handler.produce.check import check_record_set, is_transactional
from broker_lite.log.validate.produced_batch import validate_records
from broker_lite.log.validate.validated import ValidationConfig
from broker_lite.record.batch import ATTRIBUTES_OFFSET, HEADER, Header, RecordBatch
from broker_lite.record.codecs.compression import Codec, compress
from broker_lite.record.control import (
    ControlType,
    EndTransactionMarker,
    control_batch,
    end_transaction_batch,
)
from broker_lite.record.crc import crc32c
from broker_lite.record.legacy.message_builder import encode_message
from broker_lite.record.records import Record, iterate_records
from broker_lite.wire import messages
from tests.explain.fields import (
    CONFIGS,
    EDITS,
    EVERYTHING,
    FEW,
    NOW_MS,
    PLAIN,
    assert_all_whole,
    assert_bytes,
    by_path,
    explained,
    marked,
)
from tests.log.batches import BASE_TIMESTAMP, batch, record, records, sized
from tests.record.support import BATCHES

KEYS = st.one_of(st.none(), st.binary(max_size=5), st.text(max_size=3).map(str.encode))
HEADERS = st.lists(st.tuples(st.binary(max_size=3), KEYS), max_size=2)
CONTENTS = st.lists(st.tuples(KEYS, KEYS, st.integers(-9, 9), HEADERS), min_size=1, max_size=4)
BEGINNINGS = [b"", batch(records(2), count=2)[:70], encode_message(0, 1, 0, 0, b"", b"")]


def headers_of(headers: list[tuple[bytes, bytes | None]]) -> bytes:
    encoded = b"".join(sized(key) + sized(value) for key, value in headers)
    return bytes([len(headers) * 2]) + encoded


def content_of(values: list[Any]) -> bytes:
    return b"".join(
        record(key, value, offset_delta=index, timestamp_delta=delta, headers=headers_of(headers))
        for index, (key, value, delta, headers) in enumerate(values)
    )


def assert_record(fields: dict[str, Field], path: str, wanted: Record) -> None:
    assert fields[f"{path}.timestamp_delta"].value == wanted.timestamp_delta
    assert fields[f"{path}.timestamp_delta"].note.startswith(f"{wanted.timestamp}")
    assert fields[f"{path}.offset_delta"].note == f"offset {wanted.offset}"
    assert_bytes(fields, f"{path}.key", wanted.key)
    assert_bytes(fields, f"{path}.value", wanted.value)
    assert fields[f"{path}.header_count"].value == len(wanted.headers)
    for index, (key, value) in enumerate(wanted.headers):
        assert_bytes(fields, f"{path}.headers[{index}].key", key)
        assert_bytes(fields, f"{path}.headers[{index}].value", value)


@pytest.mark.parametrize("codec", list(Codec))
@settings(max_examples=25, deadline=None)
@given(values=CONTENTS)
def test_values_are_those_of_the_records_r30_r33(codec: Codec, values: list[Any]) -> None:
    plain = content_of(values)
    data = batch(compress(codec, plain), count=len(values), attributes=codec.value)
    for stored in (False, True):
        found = explained(data, stored=stored)
        assert found.refused is None
        fields = by_path(found.fields)
        header = Header._make(HEADER.unpack_from(data))
        told = [fields[f"batches[0].{name}"].value for name in Header._fields]
        assert told == list(header)
        assert len(found.parts) == (codec is not Codec.NONE)
        if codec is not Codec.NONE:
            assert (found.parts[0].codec, found.parts[0].size) == (codec.name.lower(), len(plain))
            fields = by_path(found.parts[0].fields)
        for index, each in enumerate(iterate_records(RecordBatch(memoryview(data), 0, len(data)))):
            assert_record(fields, f"batches[0].records[{index}]", each)


def validator_rule(data: bytes, config: ValidationConfig) -> str | None:
    view = memoryview(bytearray(data))
    try:
        is_transactional([("t", None, [(0, view)])])
        check_record_set(view, 13)
        validate_records(view, config, now_ms=NOW_MS)
    except BrokerError as error:
        return error.why.rule if error.why is not None else "V-06"
    return None


def with_crc(data: bytes, edits: list[tuple[int, int]], first: int) -> bytes:
    """The batch with some bytes behind the checksum changed, and the right checksum."""
    copy = bytearray(data)
    for position, value in edits:
        copy[first + position % (len(copy) - first)] = value
    copy[17:21] = crc32c(copy[ATTRIBUTES_OFFSET:]).to_bytes(4, "big")
    return bytes(copy)


@settings(max_examples=300, deadline=None)
@given(
    values=CONTENTS,
    edits=EDITS,
    codec=st.sampled_from(list(Codec)),
    config=st.one_of(st.just(PLAIN), CONFIGS),
    edit_records=st.booleans(),
)
def test_the_validator_decides(
    values: list[Any],
    edits: list[tuple[int, int]],
    codec: Codec,
    config: ValidationConfig,
    edit_records: bool,
) -> None:
    plain = bytearray(content_of(values))
    if edit_records:
        for position, value in edits:
            plain[position % len(plain)] = value
    data = batch(compress(codec, bytes(plain)), count=len(values), attributes=codec.value)
    if not edit_records:
        data = with_crc(data, edits, ATTRIBUTES_OFFSET)
    rule = validator_rule(data, config)
    found = explained(data, config)
    if rule is None:
        assert found.refused is None
        assert marked(found, State.UNREADABLE) == []
    else:
        assert found.refused is not None
        assert found.refused.rule == rule
        assert_marked(found, found.refused)


def assert_marked(found: Explanation, refused: Refused) -> None:
    """The field is marked; an unreadable one is within the record that the validator names."""
    if refused.path is None:
        assert refused.text.startswith("the rewritten records")
        return
    assert marked(found) == [refused.path]
    if refused.rule == "V-36":
        index = refused.text.partition(" of ")[0].removeprefix("record ")
        prefix = f"batches[0].records[{index}]." if index.isdecimal() else "batches[0].records."
        assert refused.path.startswith(prefix)


@settings(max_examples=300, deadline=None)
@given(
    data=st.binary(min_size=1, max_size=300),
    beginning=st.sampled_from(
        [b"", batch(records(2), count=2)[:70], encode_message(0, 1, 0, 0, b"", b"")]
    ),
    stored=st.booleans(),
)
def test_any_bytes_are_explained(data: bytes, beginning: bytes, stored: bool) -> None:
    given_bytes = beginning + data
    found = explain_batch(given_bytes, now_ms=NOW_MS, stored=stored, limits=FEW)
    assert_all_whole(found, len(given_bytes))
    assert sum(len(part.fields) for part in found.parts) + len(found.fields) <= 110
    assert found.as_json()["kind"] == ("segment" if stored else "batch")


def test_no_bytes() -> None:
    with pytest.raises(CannotExplain, match="there are no bytes"):
        explain_batch(b"")


@pytest.mark.parametrize("vector", BATCHES.values(), ids=BATCHES.keys())
def test_vectors_of_java(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["hex"])
    found = explained(data, stored=True)
    fields = by_path(found.fields)
    if "header" in vector:
        for name, value in vector["header"].items():
            assert fields[f"batches[0].{name}"].value == value


def test_end_markers_are_decoded_r41_r43() -> None:
    marker = EndTransactionMarker(is_commit=True, coordinator_epoch=7)
    data = bytes(end_transaction_batch(5, 1, marker, timestamp=BASE_TIMESTAMP))
    fields = by_path(explained(data, stored=True).fields)
    assert fields["batches[0].records[0].key.type"].note == "COMMIT"
    assert fields["batches[0].records[0].value.coordinator_epoch"].value == 7
    assert fields["batches[0].attributes"].note == "none, CreateTime, transactional, control"


def test_values_of_a_quorum_are_decoded_r45() -> None:
    message = messages.LeaderChangeMessage
    value = message.encode(message(leader_id=3), 0)
    data = bytes(control_batch(ControlType.LEADER_CHANGE, value, timestamp=BASE_TIMESTAMP))
    fields = by_path(explained(data, stored=True).fields)
    assert fields["batches[0].records[0].value.leader_id"].value == 3


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"\0", b"v"),
        (b"\0\0\0\1more", b"\0\0\0\0\0\1more"),
        (b"\0\0\0\1", b"\0"),
        (b"\0\0\0\2", b"\0\0\1"),
        (b"\0\0\0\2", b"\0\x09\1"),
        (b"\0\0\0\x63", b"abc"),
        (None, None),
    ],
)
def test_odd_control_records_are_listed(key: bytes | None, value: bytes | None) -> None:
    data = batch(record(key, value), attributes=0x20)
    assert marked(explained(data, stored=True), State.UNREADABLE) == []


def test_a_batch_of_a_log_is_judged_as_its_readers_do() -> None:
    good = batch(records(1), base_offset=41)
    assert explained(good, stored=True).refused is None
    assert explained(good).refused is not None
    rebased = explained(good, at_offset_0=True)
    assert (rebased.refused, len(rebased.notes)) == (None, 1)
    for data, rule, path in (
        (batch(record(), crc=1), "R-06", "batches[0].crc"),
        (batch(record(length_error=-1)), "R-37", "batches[0].records[0].header_count"),
        (batch(b"garbage", attributes=1), "R-82", "batches[0].records"),
        (batch(record(), attributes=6), "R-75", "batches[0].attributes"),
    ):
        refused = explained(data, stored=True).refused
        assert refused is not None
        assert (refused.rule, refused.path, refused.error) == (rule, path, None)


def test_only_the_bad_one_of_several_batches_is_marked() -> None:
    data = batch(records(1)) + batch(records(1), crc=1) + batch(records(1))
    found = explained(data, stored=True)
    assert marked(found) == ["batches[1].crc"]
    last = by_path(found.fields)["batches[2].records[0].value"]
    assert (last.state, last.offset) == (State.READ, 3 * 70 - 2)


def test_the_rest_of_many_batches_is_one_field() -> None:
    data = batch(records(1)) * 1000
    found = explain_batch(data, stored=True, limits=FEW)
    assert_all_whole(found, len(data))
    assert len(found.fields) <= 55


def test_a_refused_record_of_very_many_fields_is_cut() -> None:
    headers = b"\x80\x80\x01" + b"\0\0" * 8191 + b"\1\0"  # the last key of 8192 is null
    data = batch(records(9) + record(headers=headers), count=10)
    found = explain_batch(data, PLAIN, now_ms=NOW_MS, limits=FEW)
    assert_all_whole(found, len(data))
    assert len(found.fields) < 600
    assert found.refused is not None
    assert found.refused.path == "batches[0].records[9]"


def test_what_is_no_batch_in_a_log_r03() -> None:
    good = batch(records(1))
    for data, path in (
        (good + batch(records(1), magic=7) + good, "batches[1].magic"),
        (good + bytes(40), "messages[1].length"),
        (batch(records(1), length=3) + good, "batches[0].length"),
    ):
        found = explained(data, stored=True)
        assert [(each.rule, each.path) for each in found.refusals] == [("R-03", path)]
    for end in (good[:3], good[:30], good[:65]):
        cut = explained(good + end, stored=True)
        assert (cut.refusals, cut.notes) == ([], ["the last batch is not complete"])


def test_offsets_are_those_of_the_file() -> None:
    data = batch(records(1))
    found = explain_batch(data, stored=True, position=1000, limits=EVERYTHING)
    assert_all_whole(found, len(data), start=1000)


def test_a_batch_that_is_cut_is_listed_as_far_as_it_goes() -> None:
    data = batch(records(2), count=2)
    for length in range(1, len(data)):
        found = explained(data[:length])
        assert found.refused is not None
        assert found.refused.error is not None


def test_a_refused_record_is_listed_even_if_the_list_is_full() -> None:
    plain = records(1000) + record(offset_delta=1000, length_error=-1)
    for content_bytes, attributes in ((plain, 0), (gzip.compress(plain), 1)):
        data = batch(content_bytes, count=1001, attributes=attributes)
        found = explain_batch(data, PLAIN, now_ms=NOW_MS, limits=FEW)
        assert_all_whole(found, len(data))
        if attributes == 0:
            assert marked(found) == ["batches[0].records[1000].header_count"]
            assert marked(found, State.NOT_LISTED) == ["batches[0].records.rest"]
            assert found.notes == ["the list is full; ask for more fields to see the rest"]


def test_decompression_is_bounded_v45() -> None:
    config = ValidationConfig(topic="t", decompressed_bytes_max=2000, after_max_ms=2**63 - 1)
    data = batch(gzip.compress(record(value=bytes(5000))), attributes=1)
    found = explain_batch(data, config, now_ms=NOW_MS)
    assert_all_whole(found, len(data))
    assert found.parts[0].size <= 2000
    assert marked(found) == ["batches[0].records"]
