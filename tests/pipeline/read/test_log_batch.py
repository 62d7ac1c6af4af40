"""R-65: where a batch begins."""

from broker_lite.pipeline.read.log_batch import first_offset_of
from broker_lite.record.batch import RecordBatch
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.legacy.messages import LegacyMessage
from tests.pipeline.support import legacy_message


def test_a_batch_says_it() -> None:
    builder = BatchBuilder()
    builder.append(0, None, b"v")
    data = bytes(builder.build())
    assert first_offset_of(RecordBatch(memoryview(data), 0, len(data)), 9) == 0


def test_r_65_a_message_begins_behind_the_one_in_front() -> None:
    data = legacy_message(7, None, b"v")
    message = LegacyMessage(memoryview(data), 0, len(data))
    assert first_offset_of(message, 3) == 3
    assert first_offset_of(message, 9) == 7
