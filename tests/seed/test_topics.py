import logging
from collections.abc import Callable

import pytest

from broker_lite.errors import SettingsError
from broker_lite.seed.topics import create_topics, read_topics
from tests.seed.seeding import Seeding

OpenSeeding = Callable[..., Seeding]
WriteFile = Callable[[str, str | bytes], str]


def test_topics_of_setting_and_file_are_created(
    open_seeding: OpenSeeding, write_file: WriteFile
) -> None:
    path = write_file("topics.txt", "\ufeffc:2\n")
    seeding = open_seeding(
        broker_lite_topics="a b:3:cleanup.policy=[compact,delete]",
        broker_lite_topics_file=path,
        num_partitions="4",
    )
    create_topics(seeding.cluster, read_topics(seeding.cluster.settings))
    assert seeding.topics() == {"a": 4, "b": 3, "c": 2}
    assert seeding.cluster.topics["b"].overrides == {"cleanup.policy": "compact,delete"}


@pytest.mark.parametrize(
    ("topics", "reason"),
    [
        ("ok a,b", "--set: topic a,b: Topic name is invalid: 'a,b' contains one or more"),
        ("ok :1", "--set: topic : Topic name is invalid: the empty string is not allowed"),
        ("ok a:0", "topic a: Number of partitions was set to an invalid non-positive value."),
        ("ok a:1:x=1", "topic a: Unknown topic config name: x"),
        ("ok a:1:segment.ms=x", "Invalid value x for configuration segment.ms: Not a number"),
        ("ok a:9000 b:9000", "topic b: Excessively large number of partitions per request."),
        ("ok a:1 a:2", "topic a is given twice, see --set"),
        ("ok a.b a_b", "topic a_b and a.b clash, see --set"),
        ("ok __cluster_metadata", "Creation of internal topic __cluster_metadata is prohibited."),
    ],
)
def test_p_102_to_p_105_one_that_cannot_be_stops_them_all(
    topics: str, reason: str, open_seeding: OpenSeeding
) -> None:
    seeding = open_seeding(broker_lite_topics=topics)
    with pytest.raises(SettingsError) as caught:
        create_topics(seeding.cluster, read_topics(seeding.cluster.settings))
    assert reason in str(caught.value)
    assert seeding.topics() == {}


def test_a_line_of_a_file_is_named(open_seeding: OpenSeeding, write_file: WriteFile) -> None:
    path = write_file("topics.txt", "a\n\na\n")
    seeding = open_seeding(broker_lite_topics_file=path)
    with pytest.raises(SettingsError, match=rf"{path}:3: topic a is given twice, see {path}:1"):
        create_topics(seeding.cluster, read_topics(seeding.cluster.settings))


def test_files_that_cannot_be_read(open_seeding: OpenSeeding, write_file: WriteFile) -> None:
    for path, reason in (
        (write_file("bad.txt", b"\xff"), "it is not UTF-8 text"),
        ("/nosuch", "No such file or directory"),
        ("/", "Is a directory"),
    ):
        seeding = open_seeding(broker_lite_topics_file=path)
        with pytest.raises(SettingsError, match=f"{path}: cannot be read: {reason}"):
            read_topics(seeding.cluster.settings)
        seeding.close()


def test_topics_that_are_there_stay_as_they_are(
    open_seeding: OpenSeeding, caplog: pytest.LogCaptureFixture
) -> None:
    first = open_seeding(broker_lite_topics="a:2:segment.ms=5 b")
    create_topics(first.cluster, read_topics(first.cluster.settings))
    first.close()
    topics = "a:3:segment.ms=6,retention.ms=7 b:1 c"
    second = open_seeding(broker_lite_topics=topics)
    with caplog.at_level(logging.INFO, "broker_lite.seed"):
        create_topics(second.cluster, read_topics(second.cluster.settings))
    assert second.topics() == {"a": 2, "b": 1, "c": 1}
    assert second.cluster.topics["a"].overrides == {"segment.ms": "5"}
    assert [record.getMessage() for record in caplog.records] == [
        "topic left as it is topic=a partitions=2 asked=3",
        "topic left as it is topic=a config=segment.ms value=5 asked=6",
        "topic left as it is topic=a config=retention.ms value=default asked=7",
        "topics created count=1",
    ]
