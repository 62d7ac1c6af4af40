"""Valid batches with up to two edited bytes: a documented error, or a batch that is valid again.

The edits lie before the checksum is written, so that they get past V-20.
"""

from hypothesis import given, settings
from hypothesis import strategies as st

from broker_lite import errors
from broker_lite.errors import BrokerError
from broker_lite.handler.produce.check import check_record_set, is_transactional
from broker_lite.log.validate.produced_batch import validate_records
from broker_lite.log.validate.rejected import RejectedAsInvalid, RejectedByTimestamp
from broker_lite.log.validate.validated import ValidatedRecords, ValidationConfig
from broker_lite.record.batch import ATTRIBUTES_OFFSET
from broker_lite.record.codecs.compression import compress
from broker_lite.record.crc import crc32c
from broker_lite.record.records import iterate_records
from tests.log.batches import batch, record, writable

NOW_MS = 1_795_267_000_000
DOCUMENTED = (
    RejectedAsInvalid,
    RejectedByTimestamp,
    errors.InvalidRecord,
    errors.MessageTooLarge,
    errors.CorruptMessage,
    errors.UnknownServerError,
)
KEYS = st.one_of(st.none(), st.binary(max_size=5))
CONTENTS = st.lists(st.tuples(KEYS, KEYS, st.integers(-9, 9)), min_size=1, max_size=4)
EDITS = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=2)
CONFIGS = st.builds(
    ValidationConfig,
    topic=st.just("t"),
    max_message_bytes=st.sampled_from([90, 10**6]),
    codec=st.sampled_from([None, 0, 1, 2, 3, 4]),
    is_append_time=st.booleans(),
    before_max_ms=st.sampled_from([2**63 - 1, NOW_MS]),
    is_compacted=st.booleans(),
    decompressed_bytes_max=st.just(10**5),
)


def content_of(values: list[tuple[bytes | None, bytes | None, int]]) -> bytes:
    return b"".join(
        record(key, value, offset_delta=index, timestamp_delta=delta)
        for index, (key, value, delta) in enumerate(values)
    )


def edited(data: bytes, edits: list[tuple[int, int]], first: int = 0) -> bytearray:
    copy = bytearray(data)
    for position, value in edits:
        copy[first + position % (len(copy) - first)] = value
    return copy


def check_outcome(data: bytearray, config: ValidationConfig) -> None:
    size_bytes = len(data)
    try:
        validated = validate_records(memoryview(data), config, now_ms=NOW_MS)
    except BrokerError as error:
        assert type(error) in DOCUMENTED  # noqa: PT017 - not the only good outcome
        return
    check_validated(validated, config, size_bytes)


def check_validated(validated: ValidatedRecords, config: ValidationConfig, size_bytes: int) -> None:
    again = validated.batch
    assert again.crc_is_valid()
    assert again.size_bytes == len(validated.buffer)
    assert not validated.buffer.readonly
    assert again.record_count == validated.record_count == again.last_offset_delta + 1
    assert again.max_timestamp == validated.max_timestamp
    assert again.is_log_append_time == config.is_append_time
    if config.codec is None:
        assert len(validated.buffer) <= size_bytes
    else:
        assert again.codec == config.codec
    in_full = again.codec == 0
    assert len(list(iterate_records(again, full_reader=in_full))) == again.record_count


@settings(max_examples=400, deadline=None)
@given(CONTENTS, EDITS, st.integers(0, 4), st.sampled_from([0, 8, 0x10, 0x20, 0x1C0]), CONFIGS)
def test_edited_header_or_records(
    values: list[tuple[bytes | None, bytes | None, int]],
    edits: list[tuple[int, int]],
    codec: int,
    attributes: int,
    config: ValidationConfig,
) -> None:
    data = edited(
        batch(
            compress(codec, content_of(values)),
            count=len(values),
            attributes=codec | attributes,
            producer=(5, 0, 3),
        ),
        edits,
        first=ATTRIBUTES_OFFSET,
    )
    data[17:21] = crc32c(data[ATTRIBUTES_OFFSET:]).to_bytes(4, "big")
    check_outcome(data, config)


@settings(max_examples=250, deadline=None)
@given(CONTENTS, EDITS, st.integers(1, 4), CONFIGS)
def test_edited_records_inside_a_codec(
    values: list[tuple[bytes | None, bytes | None, int]],
    edits: list[tuple[int, int]],
    codec: int,
    config: ValidationConfig,
) -> None:
    content = edited(content_of(values), edits)
    check_outcome(
        bytearray(batch(compress(codec, content), count=len(values), attributes=codec)), config
    )


@settings(max_examples=200, deadline=None)
@given(CONTENTS, EDITS, st.integers(0, 80), st.integers(3, 13))
def test_edited_sets_at_the_request_level(
    values: list[tuple[bytes | None, bytes | None, int]],
    edits: list[tuple[int, int]],
    cut: int,
    version: int,
) -> None:
    """V-06, V-09: what passes the request is one whole batch for the log."""
    data = edited(batch(content_of(values), count=len(values)) + b"\0" * 6, edits)
    records = writable(bytes(data[: max(len(data) - cut, 0)]))
    try:
        is_transactional([("t", None, [(0, records)])])
        check_record_set(records, version)
    except BrokerError as error:
        assert type(error) in (*DOCUMENTED, errors.UnsupportedCompressionType)  # noqa: PT017
        return
    check_outcome(bytearray(records), ValidationConfig(topic="t"))
