from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_lite.control.metadata import metadata_records as kinds
from broker_lite.control.metadata.metadata_records import (
    MetadataRecord,
    PartitionRecords,
    Placement,
    decode,
    encode,
    encode_change,
    make,
)
from broker_lite.wire import DecodeError, EncodeError
from tests.control.registered import placement

# values of records as a Kafka 4.3.1 wrote them, taken with its dump tool from its metadata log
KAFKA = {
    "metadata.version": "010c00116d657461646174612e76657273696f6e001e00",
    "config": "0104000401146d696e2e696e73796e632e7265706c69636173023100",
    "topic": "010200135f5f636f6e73756d65725f6f666673657473a3e709141f944754a72f266077ceab2100",
    "partition": (
        "01030200000000a3e709141f944754a72f266077ceab2102000000010200000001010100000001000000000000"
        "000002cbd419df1d272d4cb64d2c1c8a42d5dd00"
    ),
    "broker": (
        "01000400000001002f63bd3533674a5d8c8f7d46c5080566000000000000000c020a504c41494e544558540a31"
        "32372e302e302e314af8000000080e6b726166742e76657273696f6e00000001000e67726f75702e7665727369"
        "6f6e00000001001073747265616d732e76657273696f6e0000000100147472616e73616374696f6e2e76657273"
        "696f6e000000020021656c696769626c652e6c65616465722e7265706c696361732e76657273696f6e00000001"
        "00116d657461646174612e76657273696f6e0007001e000e73686172652e76657273696f6e0000000100000100"
        "01001102cbd419df1d272d4cb64d2c1c8a42d5dd"
    ),
    "unfenced": "01110000000001000000000000000c010001ff",
    "quota": "010e000205757365720275001370726f64756365725f627974655f72617465408f4000000000000000",
    "credential": (
        "010b000275010573616c7421e5f154c55d000f6eb15a4a09260edb5d5adfb02d7ca0effdb5ea09c7d3c9b53d21"
        "1c4b5802f3b04ee6d6d368c92fee4c1049636db3a6b17850b86afd785a8948ed0000100000"
    ),
    "no credential": "01160002750100",
}


def test_a_frame_is_version_key_version_message() -> None:
    record = make(kinds.FEATURE_LEVEL, name="metadata.version", feature_level=30)
    assert encode(record).hex() == KAFKA["metadata.version"]
    assert decode(bytes.fromhex(KAFKA["metadata.version"])) == record


@pytest.mark.parametrize("value", KAFKA.values(), ids=KAFKA)
def test_at_the_level_of_kafka_4_3_they_are_written_as_by_it(value: str) -> None:
    assert encode(decode(bytes.fromhex(value)), 30).hex() == value


@pytest.mark.parametrize(
    ("level", "versions"),
    [
        (7, (3, 1)),
        (17, (3, 1)),
        (22, (3, 1)),
        (23, (3, 2)),
        (29, (3, 2)),
        (30, (4, 2)),
        (33, (4, 2)),
    ],
)
def test_an_older_directory_gets_the_records_of_its_level(
    level: int, versions: tuple[int, int]
) -> None:
    broker = make(kinds.REGISTER_BROKER, broker_id=1, incarnation_id=b"j" * 16, broker_epoch=7)
    partition = make(kinds.PARTITION, topic_id=b"i" * 16, replicas=[1], isr=[1], leader=1)
    assert (encode(broker, level)[2], encode(partition, level)[2]) == versions


@pytest.mark.parametrize(
    "record",
    [
        make(kinds.TOPIC, name="t", topic_id=b"i" * 16),
        make(kinds.CONFIG, resource_type=2, resource_name="t", name="retention.ms", value=None),
        make(kinds.REMOVE_TOPIC, topic_id=b"i" * 16),
        make(kinds.PRODUCER_IDS, broker_id=1, broker_epoch=2, next_producer_id=1000),
        make(kinds.PARTITION, partition_id=3, topic_id=b"i" * 16, replicas=[1], isr=[1], leader=1),
        make(kinds.BROKER_REGISTRATION_CHANGE, broker_id=1, broker_epoch=2, fenced=-1),
        make(kinds.BROKER_REGISTRATION_CHANGE, broker_id=1, in_controlled_shutdown=1),
        make(kinds.BROKER_REGISTRATION_CHANGE, broker_id=1, log_dirs=[b"d" * 16]),
        make(kinds.UNREGISTER_BROKER, broker_id=1, broker_epoch=2),
        make(kinds.PARTITION_CHANGE, partition_id=3, topic_id=b"i" * 16, leader=-1),
        make(
            kinds.PARTITION_CHANGE,
            topic_id=b"i" * 16,
            isr=[],
            replicas=[2, 1],
            directories=[b"d" * 16, b"e" * 16],
            leader_recovery_state=1,
        ),
        make(kinds.FEATURE_LEVEL, name="group.version", feature_level=1),
        make(kinds.CLIENT_QUOTA, key="producer_byte_rate", value=0.5),
        make(kinds.ACCESS_CONTROL_ENTRY, id=b"i" * 16, resource_type=2, resource_name="t"),
        make(kinds.REMOVE_ACCESS_CONTROL_ENTRY, id=b"i" * 16),
        make(kinds.USER_SCRAM_CREDENTIAL, name="u", mechanism=1, iterations=4096),
        make(kinds.REMOVE_USER_SCRAM_CREDENTIAL, name="u", mechanism=2),
        make(kinds.REGISTER_BROKER, broker_id=1, incarnation_id=b"j" * 16, broker_epoch=7),
    ],
    ids=lambda record: type(record.value).__name__,
)
def test_what_is_encoded_is_decoded(record: MetadataRecord) -> None:
    assert decode(encode(record)) == record


@pytest.mark.parametrize("level", [17, 30])
def test_the_records_of_many_partitions_are_encoded_as_each_of_them(level: int) -> None:
    places = [placement(1), placement(2, 1), placement(3, 1, 2, isr=[2])]
    records = PartitionRecords(b"i" * 16, 5, [places[index % 3] for index in range(295)])
    each = list(records.each())
    assert [record.value.partition_id for record in each] == list(range(5, 300))
    assert [record.value.leader for record in each[:3]] == [1, 2, 2]
    assert encode_change(records, level) == [encode(record, level) for record in each]


def test_a_new_partition_is_written_as_kafka_writes_it() -> None:
    kafka = decode(bytes.fromhex(KAFKA["partition"])).value
    place = Placement(tuple(kafka.replicas), tuple(kafka.isr), tuple(kafka.directories))
    (value,) = encode_change(PartitionRecords(kafka.topic_id, 0, [place]), 30)
    assert value.hex() == KAFKA["partition"]


def test_eligible_leaders_are_written_from_the_level_on_that_has_them() -> None:
    record = make(
        kinds.PARTITION_CHANGE,
        topic_id=b"i" * 16,
        isr=[],
        eligible_leader_replicas=[2],
        last_known_elr=[1],
    )
    assert decode(encode(record, 23)) == record
    with pytest.raises(EncodeError):
        encode(record, 22)


@pytest.mark.parametrize(
    "kind",
    [
        kinds.REGISTER_BROKER,
        kinds.UNREGISTER_BROKER,
        kinds.TOPIC,
        kinds.PARTITION,
        kinds.CONFIG,
        kinds.PARTITION_CHANGE,
        kinds.REMOVE_TOPIC,
        kinds.USER_SCRAM_CREDENTIAL,
        kinds.FEATURE_LEVEL,
        kinds.CLIENT_QUOTA,
        kinds.PRODUCER_IDS,
        kinds.BROKER_REGISTRATION_CHANGE,
        kinds.ACCESS_CONTROL_ENTRY,
        kinds.REMOVE_ACCESS_CONTROL_ENTRY,
        kinds.REMOVE_USER_SCRAM_CREDENTIAL,
    ],
)
def test_every_kind_that_is_written_has_a_version_at_every_level(kind: int) -> None:
    for level in range(7, 34):
        record = make(kind)
        assert decode(encode(record, level)) == record


def test_a_single_record_is_encoded_by_itself() -> None:
    record = make(kinds.TOPIC, name="t", topic_id=b"i" * 16)
    assert encode_change(record) == [encode(record)]


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
