"""Messages are decoded as far as they were kept.

Also tests: broker_lite.testbench.journal.plans.
"""

import random
from typing import Any

import pytest

from broker_lite.testbench.journal import decode as decoding
from broker_lite.testbench.journal.batches import NotKept
from broker_lite.testbench.journal.decode import decode
from broker_lite.testbench.journal.plans import plan
from broker_lite.wire import messages
from broker_lite.wire.structs import Struct
from tests.wire.samples import Sampler, message_versions

VERSIONS = [
    (name, version)
    for name, version in message_versions()
    if name.endswith(("Request", "Response"))
]
BY_NAME: dict[str, list[int]] = {}
for _name, _version in VERSIONS:
    BY_NAME.setdefault(_name, []).append(_version)


def same(left: object, right: object, name: str, version: int, struct: str) -> None:
    """Both have the same value in each field of the version."""
    found = plan(name, version)
    assert found is not None
    for field in found.structs[struct].plain:
        one, other = getattr(left, field.attribute), getattr(right, field.attribute)
        if field.is_struct and one is not None:
            pairs = zip(one, other, strict=True) if field.is_array else [(one, other)]
            for each in pairs:
                same(*each, name, version, field.element_type)
        elif field.element_type == "records" and one is not None:
            assert bytes(one) == bytes(other)
        elif field.element_type != "float64":
            assert one == other


@pytest.mark.parametrize("name", BY_NAME)
def test_a_whole_message_is_decoded_as_the_codec_does(name: str) -> None:
    kind = messages.message(name)
    for version in BY_NAME[name]:
        for seed in range(3):
            data = Sampler(name, version, seed).encoded()
            found = decode(kind, version, b"head" + data, 4)
            assert found is not None
            assert found.missing == ""
            # the same by the other decoder, which is asked if the end is said to be missing
            other = decode(kind, version, b"head" + data, 4, is_cut=True)
            assert other is not None
            assert other.missing == ""
            same(found.struct, other.struct, name, version, name)


@pytest.mark.parametrize("name", BY_NAME)
def test_hostile_bytes_never_raise(name: str) -> None:
    kind = messages.message(name)
    chance = random.Random(name)
    for version in BY_NAME[name]:
        data = Sampler(name, version, 7).encoded()
        for _ in range(8):
            cut = data[: chance.randint(0, len(data))]
            assert decode(kind, version, cut, is_cut=True) is not None
            changed = bytearray(cut)
            if changed:
                changed[chance.randrange(len(changed))] = chance.choice((0, 1, 0x7F, 0x80, 0xFF))
            assert decode(kind, version, bytes(changed)) is not None
            noise = chance.randbytes(60)
            assert decode(kind, version, noise, gaps=[(3, 5)], is_cut=True) is not None


def test_an_unknown_version() -> None:
    assert decode(messages.HeartbeatRequest, 99, b"") is None
    assert plan("HeartbeatRequest", 99) is None


def test_what_was_read_before_the_cut_is_kept() -> None:
    kind = messages.CreateTopicsRequest
    topics = [kind.CreatableTopic(name=f"topic {number}") for number in range(10)]
    data = kind.encode(kind(topics=topics, timeout_ms=1), 7)
    found: Any = decode(kind, 7, data[:60], is_cut=True)
    assert [topic.name for topic in found.struct.topics[:3]] == ["topic 0", "topic 1", "topic 2"]
    assert len(found.struct.topics) < 10
    assert found.missing == "the rest was not kept"
    assert not hasattr(found.struct, "timeout_ms")


def fetch_answer(version: int) -> tuple[Struct, bytes]:
    kind = messages.FetchResponse
    partitions = [
        kind.PartitionData(partition_index=number, records=bytes([65 + number]) * 50 * number)
        for number in range(4)
    ]
    topic = kind.FetchableTopicResponse(topic="t", topic_id=b"i" * 16, partitions=partitions)
    body = kind(responses=[topic])
    return body, kind.encode(body, version)


@pytest.mark.parametrize("version", [4, 11, 12, 18])
def test_records_that_left_from_a_file_are_told_by_their_size(version: int) -> None:
    _, data = fetch_answer(version)
    gaps = []
    for number in (2, 3):
        records = bytes([65 + number]) * 50 * number
        start = data.index(records)
        data = data.replace(records, b"")
        gaps.append((start, len(records)))
    found: Any = decode(messages.FetchResponse, version, data, gaps=gaps)
    assert found.missing == ""
    partitions = found.struct.responses[0].partitions
    assert [each.records for each in partitions] == [b"", b"B" * 50, NotKept(100), NotKept(150)]


def test_records_at_the_cut() -> None:
    _, data = fetch_answer(12)
    at = data.index(b"C" * 100) + 10
    found: Any = decode(messages.FetchResponse, 12, data[:at], is_cut=True)
    partitions = found.struct.responses[0].partitions
    assert [each.records for each in partitions[1:]] == [b"B" * 50, NotKept(100)]


@pytest.mark.parametrize("cut", [False, True])
def test_a_long_message_is_decoded_in_part(cut: bool) -> None:
    kind = messages.MetadataRequest
    topics = [kind.MetadataRequestTopic(name=f"topic {number}") for number in range(40_000)]
    data = kind.encode(kind(topics=topics), 8)
    found: Any = decode(kind, 8, data, is_cut=cut)
    assert found.missing == (
        "the rest was not kept" if cut else "Topics: 40000 are more than one request may have"
    )
    assert len(found.struct.topics) == decoding.FIELDS_MAX // 2


def test_a_long_message_of_few_elements_is_decoded_as_a_whole() -> None:
    kind = messages.FetchResponse
    partition = kind.PartitionData(records=bytes(1_000_000))
    body = kind(responses=[kind.FetchableTopicResponse(topic="t", partitions=[partition])])
    found: Any = decode(kind, 12, kind.encode(body, 12))
    assert found.missing == ""
    assert len(found.struct.responses[0].partitions[0].records) == 1_000_000


def test_many_numbers_are_many_fields() -> None:
    kind = messages.AlterPartitionReassignmentsRequest
    partition = kind.ReassignablePartition(replicas=list(range(100_000)))
    body = kind(topics=[kind.ReassignableTopic(name="t", partitions=[partition])])
    found: Any = decode(kind, 0, kind.encode(body, 0))
    assert "100000 are more than one request may have" in found.missing
    found = decode(kind, 0, kind.encode(body, 0), gaps=[(1, 1)])
    assert found.missing == "it has too many fields to be decoded as a whole"


def test_elements_of_no_bytes_end() -> None:
    # a flexible struct has at least a byte, so only a version that is not flexible can have these
    kind = messages.HeartbeatRequest
    found = decode(kind, 4, b"\xff" * 40)
    assert found is not None
    assert found.missing
