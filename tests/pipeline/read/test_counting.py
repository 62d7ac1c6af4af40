import pytest

from broker_lite.pipeline.read.counting import MEASURES, Counting
from broker_lite.pipeline.read.option_values import OptionError


def test_the_defaults() -> None:
    assert Counting.parse({}) == Counting(by=("topic", "partition"), measures=MEASURES)


def test_what_is_given() -> None:
    given = {
        "countby": "keyHash, timeBucket",
        "MEASURES": "valueBytes",
        "bucketMs": "60000",
        "keyHashes": "16",
    }
    wanted = ("keyHash", "timeBucket"), ("valueBytes",)
    assert Counting.parse(given) == Counting(
        by=wanted[0], measures=wanted[1], bucket_ms=60_000, key_hashes=16
    )


def test_no_groups() -> None:
    assert Counting.parse({"countBy": ""}).by == ()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"measures": "records,minOffset,maxOffset"}, True),
        ({"measures": "records", "countBy": ""}, True),
        ({"measures": "records,keys"}, False),
        ({}, False),
        ({"measures": "records", "countBy": "timeBucket", "bucketMs": "1"}, False),
        ({"measures": "records", "countBy": "keyHash", "keyHashes": "1"}, False),
    ],
)
def test_what_headers_tell(options: dict[str, str], expected: bool) -> None:
    assert Counting.parse(options).is_by_header is expected


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"countBy": "topics"}, "countBy='topics': each at most once of topic, partition,"),
        ({"countBy": "topic,topic"}, "each at most once"),
        ({"measures": "rows"}, "measures='rows': each at most once of records,"),
        ({"measures": ""}, "one is needed"),
        ({"countBy": "timeBucket"}, "bucketMs: needed to group by timeBucket"),
        ({"countBy": "keyHash"}, "keyHashes: needed to group by keyHash"),
        ({"bucketMs": "5"}, "only for a group by timeBucket"),
        ({"countBy": "timeBucket", "bucketMs": "0"}, "bucketMs"),
        ({"countBy": "keyHash", "keyHashes": str((1 << 16) + 1)}, "at most 65536"),
        ({"by": "topic"}, "there is none of this name"),
    ],
)
def test_what_is_refused(options: dict[str, str], text: str) -> None:
    with pytest.raises(OptionError, match=text):
        Counting.parse(options)
