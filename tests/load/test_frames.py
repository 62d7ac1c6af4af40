"""Frames beside those that the message types encode."""

import struct

import pytest

from broker_lite.load.frames import ProduceFrames, frame_head
from broker_lite.wire import messages
from tests.load.lanes import TOPIC, produce_answer

VERSIONS = range(3, 13)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("size", [1, 126, 127, 40_000])
def test_the_bytes_around_a_batch(version: int, size: int) -> None:
    frames = ProduceFrames(TOPIC, version=version, acks=-1, timeout_ms=1234)
    around = frames.around(5, size)
    make = messages.ProduceRequest
    partition = make.PartitionProduceData(index=5, records=bytes(size))
    topic = make.TopicProduceData(name=TOPIC, partition_data=[partition])
    value = make(acks=-1, timeout_ms=1234, topic_data=[topic])
    assert around.before + bytes(size) + around.after == make.encode(value, version)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("code", [0, 6, 10])
def test_the_error_code_of_an_answer(version: int, code: int) -> None:
    frames = ProduceFrames(TOPIC, version=version, acks=1, timeout_ms=1)
    assert frames.error_code(produce_answer(code, version=version)) == code


def test_an_answer_that_ends_too_early() -> None:
    frames = ProduceFrames(TOPIC, version=9, acks=1, timeout_ms=1)
    with pytest.raises(struct.error):
        frames.error_code(memoryview(b"\x00\x02"))


@pytest.mark.parametrize(("version", "tags"), [(8, b""), (9, b"\x00")])
def test_the_head_of_a_frame(version: int, tags: bytes) -> None:
    head = frame_head(messages.ProduceRequest, version, 77, "ä".encode(), 1000)
    rest = b"".join((struct.pack(">hhi", 0, version, 77), b"\x00\x02", "ä".encode(), tags))
    assert head == struct.pack(">i", len(rest) + 1000) + rest
