"""Options of a write: what they mean, and the one line that a wrong one gets."""

import pytest

from broker_lite.pipeline.read.option_values import OptionError
from broker_lite.pipeline.write.options import Compression, TimestampType, WriteOptions
from broker_lite.record.codecs.compression import Codec


def test_the_default_is_what_kafkas_producer_and_broker_do() -> None:
    assert WriteOptions.parse({"path": "logs"}) == WriteOptions(
        path="logs",
        topic=None,
        partitions=None,
        compression=Compression.NONE,
        batch_bytes=16384,
        segment_bytes=1 << 30,
        base_offset=None,
        timestamp_type=TimestampType.CREATE_TIME,
        keep_offsets=False,
        sync=True,
    )


def test_all_options_in_any_case() -> None:
    given = {
        "PATH": "logs",
        "Topic": "a.b_c-1",
        "partitions": "3",
        "compression": "ZSTD",
        "batchbytes": "1m",
        "segmentBytes": "512m",
        "baseOffset": "0",
        "timestampType": "LogAppendTime",
        "sync": "false",
        "keepOffsets": None,
    }
    options = WriteOptions.parse(given)
    assert options == WriteOptions(
        path="logs",
        topic="a.b_c-1",
        partitions=3,
        compression=Compression.ZSTD,
        batch_bytes=1 << 20,
        segment_bytes=1 << 29,
        base_offset=0,
        timestamp_type=TimestampType.LOG_APPEND_TIME,
        sync=False,
        is_compressed_anew=True,
    )
    assert options.compression.codec is Codec.ZSTD
    assert options.is_compressed_anew
    assert WriteOptions.parse({"path": "logs", "keepOffsets": "true"}).keep_offsets


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"path": ""}, "the log directory to write to must be given"),
        ({"topics": "t"}, "option topics: there is none of this name, only topic"),
        ({"keepBatches": "true"}, "option keepBatches='true': batches have offsets"),
        ({"topic": "a/b"}, "option topic='a/b': 1 to 249 letters"),
        ({"topic": ".."}, "option topic='..': 1 to 249 letters"),
        ({"partitions": "0"}, "option partitions='0': a whole number above 0"),
        ({"compression": "br"}, "option compression='br': one of none, gzip, snappy, lz4, zstd"),
        ({"batchBytes": "61"}, "option batchBytes='61': a size from 62"),
        ({"segmentBytes": "2g"}, "option segmentBytes='2g': a size up to 2147483647"),
        ({"baseOffset": "-1"}, "option baseOffset='-1': an offset, 0 or more"),
        ({"timestampType": "now"}, "option timestampType='now': one of createtime, logappendtime"),
        ({"sync": "no"}, "option sync='no': true or false"),
        (
            {"baseOffset": "1", "keepOffsets": "true"},
            "option baseOffset='1': keepOffsets=true already",
        ),
    ],
)
def test_wrong_options_in_one_line(given: dict[str, str], text: str) -> None:
    with pytest.raises(OptionError) as caught:
        WriteOptions.parse({"path": "logs", **given})
    assert str(caught.value).startswith(text) or text in str(caught.value)
    assert "\n" not in str(caught.value)
