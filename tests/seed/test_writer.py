import logging
from collections.abc import Callable

import pytest

from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.errors import KafkaStorageError, SettingsError
from broker_lite.record.murmur2 import partition_of_key
from broker_lite.seed.fields import SeedRecord
from broker_lite.seed.marker import Marker
from broker_lite.seed.writer import BATCH_BYTES_MAX, BATCH_RECORDS_MAX, SeedWriter
from tests.seed.seeding import NOW_MS, Seeding, Stored
from tests.support.small_disk import files_end_at

OpenSeeding = Callable[..., Seeding]


def writer_of(seeding: Seeding) -> SeedWriter:
    cluster = seeding.cluster
    return SeedWriter(cluster, seeding.clock, Marker(cluster.logs.data_dir), _error)


def _error(reason: str, line: int) -> SettingsError:
    return SettingsError(f"{line}: {reason}")


def create(seeding: Seeding, name: str, partitions: int = 1, **configs: str) -> None:
    pairs = [(key.replace("_", "."), value) for key, value in configs.items()]
    new = NewTopic(name, partitions, configs=pairs)
    seeding.cluster.create_topics([seeding.cluster.plan_topic(new)])


def record(line: int = 1, topic: str = "t", **fields: object) -> SeedRecord:
    given = {"partition": None, "key": None, "value": b"v", "headers": (), "timestamp_ms": None}
    return SeedRecord(line, topic, **{**given, **fields})  # type: ignore[arg-type]


def write(seeding: Seeding, *records: SeedRecord) -> SeedWriter:
    writer = writer_of(seeding)
    for one in records:
        writer.add(one)
    writer.flush()
    return writer


def test_everything_of_a_record_is_stored(seeding: Seeding) -> None:
    headers = ((b"h", b"1"), (b"h", None))
    writer = write(
        seeding,
        record(key=b"k", headers=headers, timestamp_ms=5),
        record(value=None),
        record(topic="u"),
    )
    assert seeding.records("t") == [Stored(b"k", b"v", 5, headers), Stored(None, None, NOW_MS)]
    assert seeding.records("u") == [Stored(None, b"v")]
    assert (writer.record_count, writer.topic_count) == (3, 2)


def test_partitions_are_named_or_follow_from_the_key_or_take_turns(seeding: Seeding) -> None:
    create(seeding, "t", 5)
    write(
        seeding,
        record(partition=4, key=b"named"),
        *(record(key=key) for key in (b"a", b"b", b"", b"a")),
        *(record(value=b"%d" % number) for number in range(6)),
    )
    for partition in range(5):
        expected = [b"named"] * (partition == 4)
        expected += [
            key for key in (b"a", b"b", b"", b"a") if partition_of_key(key, 5) == partition
        ]
        found = seeding.records("t", partition)
        assert [one.key for one in found if one.key is not None] == expected
        turns = [b"%d" % number for number in (partition, partition + 5) if number < 6]
        assert [one.value for one in found if one.key is None] == turns


def test_batches_are_limited_in_records_and_bytes(seeding: Seeding) -> None:
    write(
        seeding,
        *(record(number) for number in range(2 * BATCH_RECORDS_MAX + 1)),
        *(record(topic="large", value=bytes(BATCH_BYTES_MAX // 2)) for _ in range(3)),
    )
    counts = [batch.record_count for batch in seeding.batches("t")]
    assert counts == [BATCH_RECORDS_MAX, BATCH_RECORDS_MAX, 1]
    assert [batch.record_count for batch in seeding.batches("large")] == [1, 1, 1]


def test_batches_keep_to_the_limits_of_their_topic(seeding: Seeding) -> None:
    create(seeding, "t", max_message_bytes="200")
    headers = ((b"name", b"value"),)
    write(seeding, *(record(number, key=b"k" * 20, headers=headers) for number in range(9)))
    batches = seeding.batches("t")
    assert sum(batch.record_count for batch in batches) == 9
    assert max(batch.size_bytes for batch in batches) <= 200
    assert len(batches) < 9


def test_what_waits_is_limited(seeding: Seeding) -> None:
    create(seeding, "t", 100)
    writer = writer_of(seeding)
    for partition in range(100):
        writer.add(record(partition=partition, value=bytes(200_000)))
    ends = [seeding.cluster.log("t", partition).log_end_offset for partition in range(100)]
    assert sum(ends) > 80


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd", "uncompressed", "producer"])
def test_v_40_records_are_stored_as_the_topic_says(codec: str, seeding: Seeding) -> None:
    create(seeding, "t", compression_type=codec)
    write(seeding, *(record(number, key=b"k") for number in range(50)))
    (batch,) = seeding.batches("t")
    names = {0: ("uncompressed", "producer"), 1: ("gzip",), 2: ("snappy",), 3: ("lz4",)}
    assert codec in names.get(batch.codec, ("zstd",))
    assert seeding.records("t") == [Stored(b"k", b"v")] * 50


def test_v_35_the_time_of_the_append_where_the_topic_wants_it(seeding: Seeding) -> None:
    create(seeding, "t", message_timestamp_type="LogAppendTime")
    write(seeding, record(timestamp_ms=5))
    assert seeding.records("t") == [Stored(None, b"v", NOW_MS)]


def test_topics_with_records_get_no_more(
    seeding: Seeding, caplog: pytest.LogCaptureFixture
) -> None:
    create(seeding, "t", 3)
    write(seeding, record(partition=2))
    with caplog.at_level(logging.INFO, "broker_lite.seed"):
        writer = write(seeding, record(partition=0), record(), record(topic="u"))
    assert [len(seeding.records("t", partition)) for partition in range(3)] == [0, 0, 1]
    assert (writer.record_count, writer.topic_count) == (1, 1)
    message = "topic not seeded, it already has records topic=t"
    assert [one.getMessage() for one in caplog.records] == [message]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"topic": "a,b"}, "topic a,b: Topic name is invalid: 'a,b' contains one or more"),
        ({"topic": ""}, "topic : Topic name is invalid: the empty string is not allowed"),
        ({"topic": "__consumer_offsets"}, "topic __consumer_offsets is internal, only the broker"),
        ({"partition": 2}, "partition: topic t has 2 of them, 2 is too high"),
        ({"topic": "compacted"}, "Compacted topic cannot accept message without key in topic"),
        (
            {"timestamp_ms": NOW_MS + 3_600_001},
            f"Timestamp {NOW_MS + 3_600_001} of message with offset 1 is out of range.",
        ),
        ({"value": bytes(1_048_588)}, "topic t: MESSAGE_TOO_LARGE"),
        ({"topic": "small"}, "topic small: RECORD_LIST_TOO_LARGE"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_record_that_is_refused_is_named(
    fields: dict[str, object], reason: str, seeding: Seeding
) -> None:
    create(seeding, "t", 2)
    create(seeding, "compacted", cleanup_policy="compact")
    create(seeding, "small", internal_segment_bytes="10")
    with pytest.raises(SettingsError) as caught:
        write(seeding, record(7, partition=0), record(8, **{"partition": 0, **fields}))
    assert str(caught.value).startswith(f"8: {reason}")


def test_v_72_a_full_disk_is_no_fault_of_a_line(seeding: Seeding) -> None:
    writer = writer_of(seeding)
    writer.add(record())
    with files_end_at(10):
        with pytest.raises(KafkaStorageError):
            writer.flush()
        with pytest.raises(KafkaStorageError):
            writer.add(record(topic="u"))


def test_topics_are_not_created_against_the_setting(open_seeding: OpenSeeding) -> None:
    seeding = open_seeding(auto_create_topics_enable="false")
    with pytest.raises(SettingsError) as caught:
        write(seeding, record(3))
    expected = "3: there is no topic t, and auto.create.topics.enable is false"
    assert str(caught.value) == expected


def test_topics_are_noted_before_they_are_written_to(seeding: Seeding) -> None:
    write(seeding, record(), record(topic="u"), record())
    assert Marker(seeding.cluster.logs.data_dir).topics() == ["t", "u"]


def test_records_that_are_no_seed_go_to_any_topic(seeding: Seeding) -> None:
    write(seeding, record())
    writer = SeedWriter(seeding.cluster, seeding.clock, None, _error)
    writer.add(record(value=b"more"))
    writer.flush()
    assert [each.value for each in seeding.records("t")] == [b"v", b"more"]
