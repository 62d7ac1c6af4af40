import pytest

from broker_lite.control.metadata.topic_names import (
    METADATA_TOPIC_ID,
    check_topic_name,
    collision_key,
    is_legal_topic_name,
    make_id,
)
from broker_lite.errors import InvalidTopic


@pytest.mark.parametrize("name", ["a", "A.b_c-9", "...", "x" * 249, "__consumer_offsets"])
def test_p100_legal_names(name: str) -> None:
    assert is_legal_topic_name(name)
    check_topic_name(name)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "the empty string is not allowed"),
        (".", "'.' is not allowed"),
        ("..", "'..' is not allowed"),
        ("x" * 250, f"the length of '{'x' * 250}' is longer than the max allowed length 249"),
        ("a b", "'a b' contains one or more characters other than ASCII alphanumerics"),
        ("a\n", "contains one or more characters"),
        ("\ufffd", "contains one or more characters"),
    ],
)
def test_p100_illegal_names_have_kafkas_text(name: str, reason: str) -> None:
    assert not is_legal_topic_name(name)
    with pytest.raises(InvalidTopic) as caught:
        check_topic_name(name)
    assert caught.value.message is not None
    assert caught.value.message.startswith("Topic name is invalid: ")
    assert reason in caught.value.message


def test_p101_dots_and_underscores_collide() -> None:
    assert collision_key("a.b_c") == collision_key("a_b.c") != collision_key("a-b-c")


def test_p113_ids_are_random_of_version_4() -> None:
    made = make_id(lambda size: bytes(range(0x60, 0x60 + size)))
    assert made[6] >> 4 == 4
    assert made[8] >> 6 == 0b10


def test_p21_ids_that_are_reserved_or_start_with_a_hyphen_are_not_given() -> None:
    answers = [b"\xf8" + bytes(15), b"\x01" * 16]
    made = make_id(lambda _: answers.pop(0))
    assert answers == []
    assert made[0] == 1
    assert made != METADATA_TOPIC_ID
