import pytest

from broker_lite.client.address import Address, parse_addresses
from broker_lite.errors import SettingsError


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("localhost:9092", Address("localhost", 9092)),
        (" kafka-1.example:1 ", Address("kafka-1.example", 1)),
        ("127.0.0.1:65535", Address("127.0.0.1", 65535)),
        ("[::1]:9092", Address("::1", 9092)),
        ("[fe80::1%eth0]:9092", Address("fe80::1%eth0", 9092)),
        ("PLAINTEXT://host:9092", Address("host", 9092)),
        ("snake_case:9092", Address("snake_case", 9092)),
    ],
)
def test_an_address(text: str, address: Address) -> None:
    assert Address.parse(text) == address


@pytest.mark.parametrize(
    "text", ["", "host", "host:", ":9092", "host:0", "host:65536", "host:x", "::1:9092", "a b:1"]
)
def test_what_is_no_address_is_one_line(text: str) -> None:
    with pytest.raises(SettingsError, match="not an address HOST:PORT"):
        Address.parse(text)


@pytest.mark.parametrize("text", ["host:9092", "[::1]:9092"])
def test_written_as_it_was_read(text: str) -> None:
    assert str(Address.parse(text)) == text


def test_several_with_commas() -> None:
    assert parse_addresses("a:1, b:2,") == (Address("a", 1), Address("b", 2))


@pytest.mark.parametrize("text", ["", " ", ","])
def test_none_at_all(text: str) -> None:
    with pytest.raises(SettingsError, match="no bootstrap server is given"):
        parse_addresses(text)
