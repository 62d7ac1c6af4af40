"""The files of a partition by the control API."""

from collections.abc import Iterator
from typing import Any

import pytest

from broker_lite.testing import Broker, BrokerFailed


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(topics=["t:2:segment.bytes=1048576"]) as started:
        yield started


def test_each_file_is_told_with_its_segment(broker: Broker) -> None:
    for _ in range(3):
        broker.produce("t", b"x" * 600_000, partition=1)
    told: Any = broker.control("GET", "/v1/topics/t/1/segments")
    assert told["directory"] == "t-1"
    first, second, third = told["segments"]
    assert [each["base_offset"] for each in told["segments"]] == [0, 1, 2]
    assert [each["is_active"] for each in told["segments"]] == [False, False, True]
    sizes = {each["name"]: each["size_bytes"] for each in first["files"]}
    assert sizes["00000000000000000000.log"] == first["size_bytes"] > 600_000
    assert "00000000000000000000.index" in sizes
    assert {each["name"] for each in told["others"]} >= {"partition.metadata"}
    assert second["size_bytes"] == third["size_bytes"]


def test_an_empty_partition_has_one_segment(broker: Broker) -> None:
    told: Any = broker.control("GET", "/v1/topics/t/0/segments")
    assert [each["size_bytes"] for each in told["segments"]] == [0]


@pytest.mark.parametrize("place", ["t/2", "nothing/0", "t/x"])
def test_what_is_not_there(broker: Broker, place: str) -> None:
    with pytest.raises(
        BrokerFailed, match=r"there is no topic|has no partition|has to be a number"
    ):
        broker.control("GET", f"/v1/topics/{place}/segments")
