import pytest

from broker_lite.commands.topics.partition_names import partition_choice
from broker_lite.errors import SettingsError

EVERY = [(topic, index) for topic in ("a", "ab", "b") for index in range(3)]


def chosen(
    topic: str | None = None, partitions: str | None = None, both: str | None = None
) -> list[str]:
    choice = partition_choice(topic, partitions, both)
    return [f"{name}{index}" for name, index in EVERY if choice(name, index)]


@pytest.mark.parametrize(
    ("topic", "partitions", "names"),
    [
        (None, None, "a0 a1 a2 ab0 ab1 ab2 b0 b1 b2"),
        ("a", None, "a0 a1 a2"),
        ("a.*", "0", "a0 ab0"),
        (None, "0,2", "a0 a2 ab0 ab2 b0 b2"),
        ("a,b", "7", ""),
    ],
)
def test_by_topic_and_by_number(topic: str | None, partitions: str | None, names: str) -> None:
    assert chosen(topic, partitions) == names.split()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a", "a0 a1 a2"),
        ("a:1", "a1"),
        ("a:0-2", "a0 a1"),
        ("a:1-", "a1 a2"),
        ("a:-1", "a0"),
        ("a:-", "a0 a1 a2"),
        ("a:", "a0 a1 a2"),
        (":1", "a1 ab1 b1"),
        ("a.*:2,b", "a2 ab2 b0 b1 b2"),
        ("a:0, a:2", "a0 a2"),
    ],
)
def test_by_both_at_once(text: str, names: str) -> None:
    assert chosen(both=text) == names.split()


@pytest.mark.parametrize("text", ["a:x", "a:1:2", "a:1-2-3"])
def test_what_is_no_choice(text: str) -> None:
    with pytest.raises(SettingsError, match="not REGEX:N or REGEX:N-M"):
        partition_choice(None, None, text)


def test_what_is_no_number() -> None:
    with pytest.raises(SettingsError, match="--partitions 1,x: not numbers with commas"):
        partition_choice(None, "1,x", None)


@pytest.mark.parametrize(("topic", "partitions"), [("a", None), (None, "0")])
def test_one_way_or_the_other(topic: str | None, partitions: str | None) -> None:
    with pytest.raises(SettingsError, match="--topic-partitions excludes"):
        partition_choice(topic, partitions, "a")
