import json
import logging
from collections.abc import Callable

import pytest

from broker_lite.errors import SettingsError
from broker_lite.seed.marker import Marker
from tests.seed.seeding import Seeding, Stored

OpenSeeding = Callable[..., Seeding]
WriteFile = Callable[[str, str | bytes], str]


def lines_of(count: int) -> str:
    return "".join(
        json.dumps({"topic": f"t{number % 2}", "value": f"{number:09}" * 10}) + "\n"
        for number in range(count)
    )


def unfinished(seeding: Seeding) -> list[str]:
    return Marker(seeding.cluster.logs.data_dir).topics()


def test_without_settings_there_is_nothing(seeding: Seeding) -> None:
    assert seeding.apply()
    assert seeding.topics() == {}


def test_topics_and_then_records(
    open_seeding: OpenSeeding, write_file: WriteFile, caplog: pytest.LogCaptureFixture
) -> None:
    path = write_file("seed.csv", "topic,key,value\na,k,1\nb,,2\n")
    texts = {"broker_lite_topics": "a:1:segment.ms=9", "broker_lite_seed_file": path}
    seeding = open_seeding(**texts)
    with caplog.at_level(logging.INFO, "broker_lite.seed"):
        assert seeding.apply()
    assert seeding.topics() == {"a": 1, "b": 1}
    assert seeding.records("a") == [Stored(b"k", b"1")]
    assert seeding.records("b") == [Stored(None, b"2")]
    last = f"seeded file={path} records=2 topics=2 elapsed_ms=0"
    assert caplog.records[-1].getMessage() == last
    seeding.close()
    again = open_seeding(**texts)
    assert again.apply()
    assert [len(again.records(topic)) for topic in ("a", "b")] == [1, 1]


def test_an_error_leaves_no_records(open_seeding: OpenSeeding, write_file: WriteFile) -> None:
    path = write_file("seed.jsonl", lines_of(5000) + "x\n")
    first = open_seeding(broker_lite_seed_file=path)
    with pytest.raises(SettingsError, match=f"{path}:5001: no JSON"):
        first.apply()
    assert unfinished(first) == ["t0", "t1"]
    assert first.records("t0")
    first.close()
    second = open_seeding()
    assert second.apply()
    assert second.topics() == {"t0": 1, "t1": 1}
    assert second.records("t0") == second.records("t1") == []
    assert unfinished(second) == []


def test_a_stop_in_the_middle_is_made_good_by_the_next_start(
    open_seeding: OpenSeeding, write_file: WriteFile
) -> None:
    path = write_file("seed.jsonl", lines_of(5000))
    first = open_seeding(broker_lite_seed_file=path)
    asked: list[bool] = []

    def is_stopping() -> bool:
        asked.append(True)
        return len(asked) == 7

    assert not first.apply(is_stopping)
    assert 0 < len(first.records("t0")) < 2500
    first.close()
    second = open_seeding(broker_lite_seed_file=path)
    assert second.apply()
    assert [len(second.records(topic)) for topic in ("t0", "t1")] == [2500, 2500]
    values = [one.value for one in second.records("t1")]
    assert values == [(f"{number:09}" * 10).encode() for number in range(1, 5000, 2)]
    assert unfinished(second) == []


def test_a_topic_that_a_client_wrote_to_is_not_touched(
    open_seeding: OpenSeeding, write_file: WriteFile
) -> None:
    path = write_file("seed.jsonl", lines_of(2))
    seeding = open_seeding(broker_lite_seed_file=path)
    assert seeding.apply()
    topic = seeding.cluster.topics["t0"]
    assert seeding.apply()
    assert seeding.cluster.topics["t0"] is topic
    assert len(seeding.records("t0")) == 1
