"""Names of topics stay known when the topics are gone."""

from types import SimpleNamespace
from typing import Any

from broker_lite.testbench.journal.topic_names import REMEMBERED_MAX, TopicNames


def cluster(**names: str) -> Any:
    topics = {each.encode(): SimpleNamespace(name=name) for each, name in names.items()}
    return SimpleNamespace(topics_by_id=topics)


def test_topics_of_the_cluster_and_of_the_one_before() -> None:
    names = TopicNames()
    assert names.get(b"a") is None
    names.change(cluster(a="old", b="same"))
    assert (names.get(b"a"), names.get(b"b"), names.get(b"c")) == ("old", "same", None)
    names.change(cluster(a="new"))
    assert (names.get(b"a"), names.get(b"b")) == ("new", "same")
    names.change(None)
    assert (names.get(b"a"), names.get(b"b")) == ("new", "same")


def test_a_topic_that_is_deleted() -> None:
    names = TopicNames()
    present = cluster(a="gone soon")
    names.change(present)
    names.change(present)
    present.topics_by_id.clear()
    assert names.get(b"a") == "gone soon"


def test_what_is_remembered_is_bounded() -> None:
    names = TopicNames()
    names.change(cluster(**{f"c{number}": "3" for number in range(REMEMBERED_MAX + 1)}))
    names.change(cluster(a="1"))
    assert names.get(b"c0") == "3"
    names.change(None)
    assert (names.get(b"c0"), names.get(b"a")) == (None, "1")
