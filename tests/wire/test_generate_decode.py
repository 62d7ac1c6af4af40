"""What the decoders do with bytes that are not a message."""

import random
import tracemalloc
from typing import Any

import pytest

from broker_lite.wire import DecodeError, messages
from tests.wire.samples import SmallSampler, message_versions

VERSIONS = message_versions()


def test_every_prefix_ends_too_early_p08_p179() -> None:
    for name, version in VERSIONS:
        message = messages.message(name)
        body = SmallSampler(name, version, 0).encoded()
        view = memoryview(body)
        for length in range(len(body)):
            with pytest.raises(DecodeError):
                message.decode(view[:length], version)


def test_edited_bytes_p08_p179() -> None:
    """Whole messages with one or two edited bytes: a value or a DecodeError, nothing else."""
    edits = random.Random(20)
    for name, version in VERSIONS:
        message = messages.message(name)
        body = SmallSampler(name, version, 1).encoded()
        for _ in range(20):
            edited = bytearray(body)
            for _ in range(edits.randint(1, 2)):
                if edited:
                    edited[edits.randrange(len(edited))] = edits.choice((0, 1, 127, 128, 255))
            decode_or_refuse(message, memoryview(edited), version)


def decode_or_refuse(message: messages.MessageType, data: memoryview, version: int) -> None:
    try:
        value, end = message.decode(data, version)
    except DecodeError:
        return
    assert 0 <= end <= len(data)
    assert type(value).__name__ == message.name


@pytest.mark.parametrize("seed", range(3))
def test_random_bytes_p08(seed: int) -> None:
    noise = random.Random(seed)
    for name, version in VERSIONS:
        size = noise.randrange(60)
        data = bytes(noise.choice((0, 0, 1, 2, 255, noise.randrange(256))) for _ in range(size))
        decode_or_refuse(messages.message(name), memoryview(data), version)


def metadata_request(hex_body: str, version: int) -> Any:
    return messages.MetadataRequest.decode(bytes.fromhex(hex_body), version)[0]


@pytest.mark.parametrize(
    ("body", "version"),
    [
        pytest.param("00000002 000174", 1, id="P-34 count + 1"),
        pytest.param("7fffffff 000174", 1, id="P-34 largest count"),
        pytest.param("ffffffff", 0, id="P-27 null array where not allowed"),
        pytest.param("00000001 ffff", 1, id="P-23 null string where not allowed"),
        pytest.param("00000001 0002 74", 1, id="P-34 string length + 1"),
        pytest.param("00000001 7fff 74", 1, id="P-34 largest string length"),
        pytest.param("03 0274 00 01 00 00 00", 9, id="P-34 compact count + 1"),
        pytest.param("ffffffff07 0274 00 01 00 00 00", 9, id="P-34 largest compact count"),
        pytest.param("02 00 00 01 00 00 00", 9, id="P-24 compact null where not allowed"),
        pytest.param("02 0a74 00 01 00 00 00", 9, id="P-34 compact length past the end"),
        pytest.param("02 ffffffff0f 74 00", 9, id="P-22 length of 2^32 - 1"),
        pytest.param("02 808080808000 74", 9, id="P-22 six bytes"),
        pytest.param("02 818002" + "61" * 32768 + "00 01 00 00 00", 9, id="P-24 over 32767"),
        pytest.param("01 01 00 00 01", 9, id="P-29 tag missing"),
        pytest.param("01 01 00 00 01 05 02 ab", 9, id="P-34 tag size past the end"),
    ],
)
def test_length_out_of_range(body: str, version: int) -> None:
    with pytest.raises(DecodeError):
        metadata_request(body, version)


@pytest.mark.parametrize(
    ("body", "version", "names"),
    [
        pytest.param("00000001 0001 74", 1, ["t"], id="P-23"),
        pytest.param("00000001 0000", 1, [""], id="P-23 empty"),
        pytest.param("00000000", 0, [], id="P-27 empty"),
        pytest.param("ffffffff", 1, None, id="P-27 null"),
        pytest.param("fffffffe", 1, None, id="P-27 any negative count is null, as in Kafka"),
        pytest.param("00 01 00 00 00", 9, None, id="P-27 compact null"),
        pytest.param("ffffffff0f 01 00 00 00", 9, None, id="P-27 a negative compact count"),
        pytest.param("02 0274 00 01 00 00 00", 9, ["t"], id="P-24"),
        pytest.param("02 828000 74 00 01 00 00 00", 9, ["t"], id="P-22 a long form of 2"),
        pytest.param("02 808002" + "61" * 32767 + "00 01 00 00 00", 9, ["a" * 32767], id="P-24"),
        pytest.param("00000001 0002 fffe", 1, ["\ufffd\ufffd"], id="P-14"),
    ],
)
def test_length_in_range(body: str, version: int, names: list[str] | None) -> None:
    topics = metadata_request(body, version).topics
    assert (topics if topics is None else [topic.name for topic in topics]) == names


def test_bool_is_anything_but_zero_p20() -> None:
    assert metadata_request("00000000 07", 4).allow_auto_topic_creation is True
    assert metadata_request("00000000 00", 4).allow_auto_topic_creation is False


def test_absent_field_has_the_default_p33() -> None:
    assert metadata_request("00000000", 1).allow_auto_topic_creation is True


def test_unknown_tags_are_kept_in_any_order_p30_p179() -> None:
    message = messages.MetadataRequest
    body = bytes.fromhex("01 01 00 00 03 07 01ab 05 00 05 02cdef")
    value, end = message.decode(body, 9)
    assert end == len(body)
    assert value.unknown_tags == [(7, b"\xab"), (5, b""), (5, b"\xcd\xef")]
    value.unknown_tags.pop()
    assert message.encode(value, 9).hex() == "010100000205000701ab"


@pytest.mark.parametrize(("name", "version"), [("MetadataRequest", 9), ("FetchRequest", 12)])
def test_no_more_than_16_tagged_fields_in_one_place_p34(name: str, version: int) -> None:
    """Also where some are known; 1,000,000 of two bytes each took 2 s without a pause."""
    message = messages.message(name)

    def decode(count: int) -> list[None]:
        tags = [(100 + number, b"") for number in range(count)]
        body = message.encode(message(unknown_tags=tags), version)
        message.decode(body, version)
        return list(message.decode_slices(body, version, 0, 100))

    assert decode(16)
    with pytest.raises(DecodeError, match="tagged fields"):
        decode(17)


FETCH_V12 = "ffffffff 000001f4 00000001 00000064 00 00000000 ffffffff 01 01 01"


def test_known_and_unknown_tags_p30() -> None:
    body = bytes.fromhex(FETCH_V12 + "020401aa00020278")
    value, end = messages.FetchRequest.decode(body, 12)
    assert end == len(body)
    assert value.cluster_id == "x"
    assert value.unknown_tags == [(4, b"\xaa")]
    assert messages.FetchRequest.encode(value, 12) == bytes.fromhex(FETCH_V12 + "02000202780401aa")


@pytest.mark.parametrize(
    "tags",
    [
        pytest.param("01 00 01 0278", id="P-30 one byte too few"),
        pytest.param("01 00 03 0278 00", id="P-30 one byte too many"),
        pytest.param("01 00 00 0278", id="P-30 empty"),
        pytest.param("01 00 ffffffff07 0278", id="P-34 size past the end"),
    ],
)
def test_known_tag_must_take_exactly_its_size_p30(tags: str) -> None:
    with pytest.raises(DecodeError):
        messages.FetchRequest.decode(bytes.fromhex(FETCH_V12 + tags), 12)


def test_known_tag_twice_the_last_wins() -> None:
    body = bytes.fromhex(FETCH_V12 + "020002027800020279")
    assert messages.FetchRequest.decode(body, 12)[0].cluster_id == "y"


@pytest.mark.parametrize(
    ("marker", "present"),
    [
        pytest.param("ff", False, id="P-28 null"),
        pytest.param("80", False, id="P-28 any negative marker is null, as in Kafka"),
        pytest.param("01", True, id="P-28 present"),
        pytest.param("00", True, id="P-28 any other marker is present, as in Kafka"),
    ],
)
def test_nullable_struct(marker: str, present: bool) -> None:
    struct = "0274 00000005 00" if present else ""
    body = bytes.fromhex(f"01 00000001 {marker} {struct} 00")
    value, end = messages.DescribeTopicPartitionsRequest.decode(body, 0)
    assert end == len(body)
    assert (value.cursor is not None) is present


def test_records_are_views_bytes_are_copies() -> None:
    body = messages.ProduceRequest.encode(
        messages.ProduceRequest(
            topic_data=[
                messages.ProduceRequest.TopicProduceData(
                    partition_data=[messages.ProduceRequest.PartitionProduceData(records=b"abc")]
                )
            ]
        ),
        9,
    )
    frame = bytearray(body)
    value, _ = messages.ProduceRequest.decode(memoryview(frame), 9)
    records = value.topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    frame[frame.index(b"abc")] = ord("z")
    assert records == b"zbc"
    join = messages.SyncGroupResponse(assignment=b"abc")
    decoded, _ = messages.SyncGroupResponse.decode(
        memoryview(messages.SyncGroupResponse.encode(join, 5)), 5
    )
    assert type(decoded.assignment) is bytes


MALICIOUS = [
    pytest.param("MetadataRequest", 0, "7fffffff", id="P-34 array of 2^31 - 1"),
    pytest.param("MetadataRequest", 9, "ffffffff07", id="P-34 compact array of 2^31 - 1"),
    pytest.param("DescribeLogDirsRequest", 1, "7fffffff", id="P-34 nested arrays"),
    pytest.param("LeaveGroupRequest", 3, "0000 7fffffff", id="P-34 members"),
    pytest.param("MetadataRequest", 9, "01 01 00 00 ffffffff07", id="P-34 2^31 - 1 tags"),
    pytest.param("OffsetDeleteRequest", 0, "0000 00000001 0000 7fffffff", id="P-34 int32 array"),
]


@pytest.mark.parametrize(("name", "version", "body"), MALICIOUS)
def test_nothing_is_allocated_for_a_count_that_cannot_be(
    name: str, version: int, body: str
) -> None:
    data = bytes.fromhex(body) + bytes(64)
    message = messages.message(name)
    decode_or_refuse(message, memoryview(data), version)
    tracemalloc.start()
    try:
        with pytest.raises(DecodeError):
            message.decode(data, version)
        assert tracemalloc.get_traced_memory()[1] < 20_000
    finally:
        tracemalloc.stop()


def test_array_elements_take_at_least_one_byte_p34() -> None:
    """No struct of any version is free, so that a count is bounded by the bytes that are there."""
    for name, version in VERSIONS:
        layout = messages.message(name).layout(version)
        assert layout is not None
        for fields in layout.schema.structs.values():
            for field in fields:
                assert layout.element_size_min(field) >= 1


@pytest.mark.parametrize(
    ("body", "version", "assignment"),
    [
        pytest.param("0000 00000002 abcd", 0, b"\xab\xcd", id="P-25"),
        pytest.param("0000 00000000", 0, b"", id="P-25 empty"),
        pytest.param("0000 00000003 abcd", 0, None, id="P-25 P-34 length + 1"),
        pytest.param("0000 7fffffff abcd", 0, None, id="P-25 P-34 largest length"),
        pytest.param("0000 ffffffff", 0, None, id="P-25 null where not allowed"),
        pytest.param("00000000 0000 03abcd 00", 4, b"\xab\xcd", id="P-26"),
        pytest.param("00000000 0000 01 00", 4, b"", id="P-26 empty"),
        pytest.param("00000000 0000 05abcd 00", 4, None, id="P-26 P-34 length + 1"),
        pytest.param("00000000 0000 00 00", 4, None, id="P-26 null where not allowed"),
    ],
)
def test_bytes(body: str, version: int, assignment: bytes | None) -> None:
    data = bytes.fromhex(body)
    if assignment is None:
        with pytest.raises(DecodeError):
            messages.SyncGroupResponse.decode(data, version)
        return
    value, end = messages.SyncGroupResponse.decode(data, version)
    assert (value.assignment, end) == (assignment, len(data))
    assert messages.SyncGroupResponse.encode(value, version) == data


@pytest.mark.parametrize(
    ("body", "version", "records"),
    [
        pytest.param("ffffffff", 8, None, id="P-25 null records"),
        pytest.param("00000000", 8, b"", id="P-25 empty records"),
        pytest.param("00 00 00 00", 9, None, id="P-26 null records"),
        pytest.param("01 00 00 00", 9, b"", id="P-26 empty records"),
    ],
)
def test_nullable_records(body: str, version: int, records: bytes | None) -> None:
    if version == 8:
        head = "ffff ffff 00000000 00000001 000174 00000001 00000000"
    else:
        head = "00 ffff 00000000 02 0274 02 00000000"
    data = bytes.fromhex(head + body)
    value, end = messages.ProduceRequest.decode(data, version)
    assert end == len(data)
    assert value.topic_data[0].partition_data[0].records == records
    assert messages.ProduceRequest.encode(value, version) == data
