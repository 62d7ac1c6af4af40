from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_lite.control import metadata_records as kinds
from broker_lite.control.metadata_records import MetadataRecord, decode, encode, make
from broker_lite.wire import DecodeError

# values of records as a Kafka 4.3.1 wrote them, taken with its dump tool from its metadata log
KAFKA = {
    "metadata.version": "010c00116d657461646174612e76657273696f6e001e00",
}


def test_a_frame_is_version_key_version_message() -> None:
    record = make(kinds.FEATURE_LEVEL, name="metadata.version", feature_level=30)
    assert encode(record).hex() == KAFKA["metadata.version"]
    assert decode(bytes.fromhex(KAFKA["metadata.version"])) == record


@pytest.mark.parametrize(
    "record",
    [
        make(kinds.TOPIC, name="t", topic_id=b"i" * 16),
        make(kinds.CONFIG, resource_type=2, resource_name="t", name="retention.ms", value=None),
        make(kinds.REMOVE_TOPIC, topic_id=b"i" * 16),
        make(kinds.PRODUCER_IDS, broker_id=1, broker_epoch=2, next_producer_id=1000),
        make(kinds.PARTITION, partition_id=3, topic_id=b"i" * 16, replicas=[1], isr=[1], leader=1),
        make(kinds.BROKER_REGISTRATION_CHANGE, broker_id=1, broker_epoch=2, fenced=-1),
        make(kinds.REGISTER_BROKER, broker_id=1, incarnation_id=b"j" * 16, broker_epoch=7),
    ],
    ids=lambda record: type(record.value).__name__,
)
def test_what_is_encoded_is_decoded(record: MetadataRecord) -> None:
    assert decode(encode(record)) == record


@pytest.mark.parametrize("value", [b"", b"\x01\x0c", b"\x02\x0c\x00", b"\x01\x7f\x00\x00"])
def test_no_frame_or_an_unknown_type(value: bytes) -> None:
    with pytest.raises(DecodeError):
        decode(value)


@given(st.integers(0, 64), st.binary(max_size=3))
@settings(max_examples=100)
def test_any_bytes_are_a_record_or_a_decode_error(cut: int, rest: bytes) -> None:
    whole = encode(make(kinds.TOPIC, name="topic", topic_id=b"i" * 16))
    with suppress(DecodeError):
        decode(whole[:cut] + rest)
