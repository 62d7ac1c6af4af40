"""Which member can be asked for which partitions."""

from typing import Any

import pytest

from broker_lite.coordinator.streams import endpoints
from tests.coordinator.streams.streams_driver import PLAIN, Driver, Request, subtopology, topology

HERE = Request.Endpoint(host="here", port=1)


def told(answer: Any) -> list[tuple[str, list[Any], list[Any]]] | None:
    if answer.partitions_by_user_endpoint is None:
        return None
    return [
        (
            each.user_endpoint.host,
            [(topic.topic, topic.partitions) for topic in each.active_partitions],
            [(topic.topic, topic.partitions) for topic in each.standby_partitions],
        )
        for each in answer.partitions_by_user_endpoint
    ]


def test_members_with_an_endpoint_are_told_to_all() -> None:
    """U-11: the first heartbeat of a group tells epoch 0, whatever it was."""
    driver = Driver(t=2)
    answer = driver.join("a", user_endpoint=HERE)
    assert (answer.endpoint_information_epoch, told(answer)) == (
        0,
        [("here", [("t", [0, 1])], [])],
    )
    assert told(driver.follow("a")) is None
    answer = driver.join("b")
    assert (answer.endpoint_information_epoch, told(answer)) == (0, None)
    answer = driver.follow("a")
    assert (answer.endpoint_information_epoch, told(answer)) == (1, [("here", [("t", [0])], [])])
    answer = driver.beat("b", 3, endpoint_information_epoch=1)
    assert told(answer) is None


def test_a_small_topic_has_the_first_tasks() -> None:
    """U-11: as in Kafka, even if the member has other tasks."""
    driver = Driver(t=3, u=1)
    both = topology(subtopology("0", "t", "u"))
    answer = driver.join("a", both, user_endpoint=HERE)
    assert told(answer) == [("here", [("t", [0, 1, 2]), ("u", [0])], [])]


def test_topics_that_are_missing() -> None:
    """U-11: Kafka refuses such a heartbeat."""
    driver = Driver()
    answer = driver.join("a", PLAIN, user_endpoint=HERE)
    assert (answer.error_code, told(answer)) == (0, [("here", [], [])])


def test_an_answer_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """U-11: broker-lite's own bound; an endpoint counts as four, a topic, and each partition."""
    driver = Driver(t=4, u=4)
    both = topology(subtopology("0", "t", "u"))
    driver.join("a", both, user_endpoint=HERE)
    driver.join("b", both, user_endpoint=Request.Endpoint(host="there", port=2))
    driver.settle("a", "b")
    for most, hosts in ((20, ["here", "there"]), (19, ["here"]), (10, ["here"]), (9, [])):
        monkeypatch.setattr(endpoints, "ELEMENTS_MAX", most)
        found = endpoints.partitions_by_endpoint(driver.group)
        assert [each.user_endpoint.host for each in found] == hosts


def test_a_member_with_too_much_leaves_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """U-11."""
    driver = Driver(t=3)
    driver.join("a", user_endpoint=HERE)
    driver.join("b", user_endpoint=Request.Endpoint(host="there", port=2))
    driver.settle("a", "b")
    counts = {key: len(driver.has(key)["0"]) for key in "ab"}
    assert sorted(counts.values()) == [1, 2]
    monkeypatch.setattr(endpoints, "ELEMENTS_MAX", 4 + 2)
    (found,) = endpoints.partitions_by_endpoint(driver.group)
    assert found.user_endpoint.host == ("here" if counts["a"] == 1 else "there")


def test_members_without_tasks_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """U-11: each of them takes time, and a group may have thousands."""
    driver = Driver()
    for key in "abc":
        driver.join(key, user_endpoint=Request.Endpoint(host=key, port=1))
    monkeypatch.setattr(endpoints, "ELEMENTS_MAX", 2 * 4)
    assert told(driver.beat("c", 4, endpoint_information_epoch=-2)) == [
        ("a", [], []),
        ("b", [], []),
    ]


def test_the_hosts_of_an_answer_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """U-11: a host may have 32,767 bytes, so those of 2,000 members would be 60 MB."""
    driver = Driver()
    driver.join("a", user_endpoint=Request.Endpoint(host="there", port=2))
    driver.join("b", user_endpoint=HERE)
    for most, hosts in ((9, ["there", "here"]), (8, ["there"]), (4, ["here"]), (3, [])):
        monkeypatch.setattr(endpoints, "HOST_CHARACTERS_MAX", most)
        found = endpoints.partitions_by_endpoint(driver.group)
        assert [each.user_endpoint.host for each in found] == hosts
