import pytest

from broker_lite.coordinator.embedded_protocol import (
    parse_assignment,
    parse_subscription,
    read_version,
    serialize_assignment,
    serialize_subscription,
    subscribed_topics,
)
from broker_lite.wire import DecodeError, messages

Subscription = messages.ConsumerProtocolSubscription

# topics a; user data x; owned a: 1; generation 3; rack r
GOLDEN = {
    0: "0000 00000001 0001 61 00000001 78",
    1: "0001 00000001 0001 61 00000001 78 00000001 0001 61 00000001 00000001",
    2: "0002 00000001 0001 61 00000001 78 00000001 0001 61 00000001 00000001 00000003",
    3: "0003 00000001 0001 61 00000001 78 00000001 0001 61 00000001 00000001 00000003 0001 72",
}


@pytest.mark.parametrize("version", range(4), ids=lambda version: f"G-76-v{version}")
def test_subscription(version: int) -> None:
    value = Subscription(topics=["a"], user_data=b"x")
    if version >= 1:
        value.owned_partitions = [Subscription.TopicPartition(topic="a", partitions=[1])]
    if version >= 2:
        value.generation_id = 3
    if version >= 3:
        value.rack_id = "r"
    data = bytes.fromhex(GOLDEN[version])
    assert serialize_subscription(value, version) == data
    assert parse_subscription(data) == value
    assert subscribed_topics([data]) == {"a"}  # G-75: every version begins with version 0


def test_g76_later_versions_are_read_as_the_last_known() -> None:
    data = b"\x00\x09" + bytes.fromhex(GOLDEN[3])[2:] + b"more"
    assert read_version(data) == 9
    assert parse_subscription(data).rack_id == "r"
    assert serialize_subscription(Subscription(), 9)[:2] == b"\x00\x03"


@pytest.mark.parametrize("version", range(4), ids=lambda version: f"G-76-v{version}")
def test_assignment(version: int) -> None:
    data = serialize_assignment({"a": [0, 2], "b": []}, version)
    expected = "0000 00000002 0001 61 00000002 00000000 00000002 0001 62 00000000 ffffffff"
    assert data == version.to_bytes(2, "big") + bytes.fromhex(expected)[2:]
    assert parse_assignment(data) == ({"a": [0, 2], "b": []}, b"")
    with_user_data = data[:-4] + bytes.fromhex("00000001 78")
    assert parse_assignment(with_user_data)[1] == b"x"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="G-75-empty"),
        pytest.param(b"\x00", id="G-75-short"),
        pytest.param(b"\xff\xff" + bytes(8), id="G-75-negative-version"),
        pytest.param(b"\x00\x00\x00\x00\x00\x05", id="G-75-cut"),
        pytest.param(b"\x00\x00\xff\xff\xff\xff", id="G-75-null-topics"),
    ],
)
def test_unreadable_subscription(data: bytes) -> None:
    good = serialize_subscription(Subscription(topics=["a"]), 0)
    assert subscribed_topics([good, data]) is None
    with pytest.raises(DecodeError):
        parse_subscription(data)


def test_g75_nobody_subscribes_to_nothing() -> None:
    assert subscribed_topics([]) == frozenset()
