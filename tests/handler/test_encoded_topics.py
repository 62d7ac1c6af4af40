"""Which encoded topics are found again, and how much memory they take."""

from dataclasses import replace

import pytest

from broker_lite.control.metadata.topic import PartitionRegistration, Topic
from broker_lite.handler.encoded_topics import ENCODED_BYTES_MAX, EncodedTopics

FORM = (12, frozenset({1}))
ROOM_BYTES = 5_000


def topic(name: str = "t", count: int = 1) -> Topic:
    partitions = tuple([PartitionRegistration(1)] * count)
    return Topic(name=name, topic_id=name.encode() * 16, partitions=partitions, overrides={})


def test_a_topic_is_found_as_it_was_kept() -> None:
    kept, one = EncodedTopics(), topic()
    assert kept.find(FORM, one, 7) is None
    kept.keep(FORM, one, 7, b"bytes")
    assert kept.find(FORM, one, 7) == b"bytes"
    assert kept.find(FORM, one, 8) is None
    assert kept.find((13, frozenset({1})), one, 7) is None


def test_a_topic_whose_configs_change_is_the_same() -> None:
    kept, one = EncodedTopics(), topic()
    kept.keep(FORM, one, 7, b"bytes")
    assert kept.find(FORM, replace(one, overrides={"retention.ms": "1"}), 7) == b"bytes"


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"partitions": tuple([PartitionRegistration(1)] * 1)}, id="partitions"),
        pytest.param({"topic_id": b"another id......"}, id="created again"),
    ],
)
def test_a_topic_that_changes_is_encoded_anew(changed: dict[str, object]) -> None:
    """Partitions that are equal may be another object: comparing 10,000 would take too long."""
    kept, one = EncodedTopics(), topic()
    kept.keep(FORM, one, 7, b"bytes")
    other = replace(one, **changed)  # type: ignore[arg-type]
    assert kept.find(FORM, other, 7) is None
    size_bytes = kept.size_bytes
    kept.keep(FORM, other, 7, b"other")
    assert kept.find(FORM, other, 7) == b"other"
    assert kept.find(FORM, one, 7) is None
    assert kept.size_bytes == size_bytes


def test_what_is_kept_has_a_bound() -> None:
    """Also where each topic is asked for in many forms, and topics are there for a moment only."""
    kept = EncodedTopics(ROOM_BYTES)
    for number in range(300):
        one = topic(f"t{number % 100}", number % 7)
        kept.keep((number % 11, number % 3), one, 7, bytes(number))
        assert 0 <= kept.size_bytes <= ROOM_BYTES
        assert kept.find((number % 11, number % 3), one, 7) == bytes(number)


def test_the_forms_used_longest_ago_go_first() -> None:
    kept, one = EncodedTopics(ROOM_BYTES), topic()
    for form in "abc":
        kept.keep(form, one, 7, bytes(1_000))
    kept.keep("a", topic("u"), 7, bytes(1_000))
    assert kept.find("b", one, 7) is None
    assert kept.find("a", one, 7) is not None
    assert kept.find("c", one, 7) is not None


def test_a_form_that_is_found_is_used() -> None:
    kept, one = EncodedTopics(ROOM_BYTES), topic()
    for form in "abc":
        kept.keep(form, one, 7, bytes(1_000))
    assert kept.find("a", one, 7) is not None
    kept.keep("d", one, 7, bytes(1_000))
    assert kept.find("b", one, 7) is None
    assert kept.find("a", one, 7) is not None


def test_one_form_that_is_full_begins_anew() -> None:
    kept = EncodedTopics(ROOM_BYTES)
    some = [topic(f"t{number}") for number in range(4)]
    for each in some:
        kept.keep(FORM, each, 7, bytes(1_000))
    assert [kept.find(FORM, each, 7) is not None for each in some] == [False] * 3 + [True]


def test_what_is_too_large_alone_is_not_kept() -> None:
    kept, one = EncodedTopics(), topic()
    kept.keep(FORM, one, 7, b"bytes")
    kept.keep(FORM, one, 7, bytes(ENCODED_BYTES_MAX))
    assert kept.find(FORM, one, 7) is None
    assert kept.size_bytes == 0
