import pytest

from broker_lite.errors import SettingsError
from broker_lite.settings import Given, Listener, Settings, join_address, parse_listeners


def _parse(**texts: str) -> tuple[Listener, ...]:
    given = {name.replace("_", "."): Given(text, "test") for name, text in texts.items()}
    return parse_listeners(Settings(given))


def test_default() -> None:
    assert _parse() == (Listener(name="PLAINTEXT", host="127.0.0.1", port=9092),)


def test_several_names() -> None:
    """P-75: each listener with its own advertised address."""
    found = _parse(
        listeners="internal://:0, EXTERNAL://[::1]:9093",
        advertised_listeners="EXTERNAL://example.org:19093",
        listener_security_protocol_map="INTERNAL:PLAINTEXT,external:plaintext",
    )
    assert found == (
        Listener(name="INTERNAL", host="", port=0),
        Listener(
            name="EXTERNAL",
            host="::1",
            port=9093,
            advertised_host="example.org",
            advertised_port=19093,
        ),
    )


def test_controller_of_a_kraft_file_is_not_opened() -> None:
    found = _parse(
        listeners="PLAINTEXT://:9092,CONTROLLER://:9093",
        advertised_listeners="PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
        listener_security_protocol_map="CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL",
    )
    assert [listener.name for listener in found] == ["PLAINTEXT"]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"listeners": "SSL://:1"}, "listener.security.protocol.map: no protocol for listener SSL"),
        (
            {"listeners": "SSL://:1", "listener_security_protocol_map": "SSL:SSL"},
            "listener SSL: SSL is not supported, PLAINTEXT is",
        ),
        ({"listeners": "PLAINTEXT://:1,PLAINTEXT://:2"}, "listeners: PLAINTEXT is there twice"),
        ({"listeners": "PLAINTEXT://host"}, "'PLAINTEXT://host' is not NAME://HOST:PORT"),
        ({"listeners": "PLAINTEXT://:65536"}, "is not NAME://HOST:PORT"),
        ({"listeners": "PLAINTEXT://:99999999"}, "is not NAME://HOST:PORT"),
        ({"listeners": ":9092"}, "is not NAME://HOST:PORT"),
        ({"listeners": "CONTROLLER://:1"}, "listeners: none is left to open"),
        ({"advertised_listeners": "OTHER://a:1"}, "OTHER is not one of listeners"),
        ({"advertised_listeners": "PLAINTEXT://0.0.0.0:1"}, "nobody can connect to 0.0.0.0"),
        ({"advertised_listeners": "PLAINTEXT://[::]:1"}, "nobody can connect to ::"),
        ({"listener_security_protocol_map": "PLAINTEXT"}, "'PLAINTEXT' is not NAME:PROTOCOL"),
    ],
)
def test_faults(texts: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        _parse(**texts)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_ipv6_address_is_written_in_brackets() -> None:
    assert join_address("::1", 9092) == "[::1]:9092"
    assert join_address("localhost", 9092) == "localhost:9092"
