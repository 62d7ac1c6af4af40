import pytest

from broker_lite.commands.console.deserializers import deserializer_of
from broker_lite.errors import ClientError, SettingsError


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("org.apache.kafka.common.serialization.StringDeserializer", b"a\xff", "a\ufffd"),
        ("org.apache.kafka.common.serialization.LongDeserializer", b"\xff" * 8, "-1"),
        ("IntegerDeserializer", b"\0\0\1\0", "256"),
        ("ShortDeserializer", b"\x80\0", "-32768"),
    ],
)
def test_what_is_printed(name: str, data: bytes, text: str) -> None:
    deserializer = deserializer_of({"key.deserializer": name}, "key.deserializer")
    assert deserializer is not None
    assert deserializer(data) == text.encode()


@pytest.mark.parametrize("properties", [{}, {"k": "a.ByteArrayDeserializer"}])
def test_bytes_as_they_are(properties: dict[str, str]) -> None:
    assert deserializer_of(properties, "k") is None


def test_bytes_of_another_size() -> None:
    deserializer = deserializer_of({"k": "LongDeserializer"}, "k")
    assert deserializer is not None
    with pytest.raises(ClientError, match=r"^LongDeserializer: 3 bytes instead of 8$"):
        deserializer(b"abc")


def test_one_that_is_not_known() -> None:
    with pytest.raises(SettingsError, match=r"^k=a\.Avro: not supported; use one of String"):
        deserializer_of({"k": "a.Avro"}, "k")
