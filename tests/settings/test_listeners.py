import pytest

from broker_lite.errors import SettingsError
from broker_lite.settings import (
    Given,
    Listener,
    Settings,
    join_address,
    parse_listeners,
    with_first_address,
)


def _parse(**texts: str) -> tuple[Listener, ...]:
    given = {name.replace("_", "."): Given(text, "test") for name, text in texts.items()}
    return parse_listeners(Settings(given))


def test_default() -> None:
    assert _parse() == (Listener(name="PLAINTEXT", host="127.0.0.1", port=9092),)


def test_x01_protocols_of_several_listeners() -> None:
    listeners = "PLAINTEXT://:1,SSL://:2,IN://:3,SASL_SSL://:4"
    with pytest.raises(SettingsError, match="no protocol for listener IN"):
        _parse(listeners=listeners)
    protocols = "PLAINTEXT:PLAINTEXT,SSL:SSL,IN:SASL_PLAINTEXT,SASL_SSL:sasl_ssl"
    found = _parse(listeners=listeners, listener_security_protocol_map=protocols)
    told = [each.security_protocol for each in found]
    assert told == ["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]


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
    ("text", "host", "port"),
    [
        ("localhost", "localhost", None),
        ("host.docker.internal:19092", "host.docker.internal", 19092),
        ("192.0.2.1:1", "192.0.2.1", 1),
        ("[2001:DB8::1]", "2001:DB8::1", None),
        ("[::1]:65535", "::1", 65535),
    ],
)
def test_the_address_for_clients_behind_the_gateway(text: str, host: str, port: int) -> None:
    (listener,) = _parse(broker_lite_gateway_advertised=text)
    assert (listener.gateway_host, listener.gateway_port) == (host, port)
    assert (listener.advertised_host, listener.advertised_port) == (None, None)


def test_an_advertised_address_is_that_of_clients_behind_the_gateway_too() -> None:
    """One port is told for the one listener that has no address of its own."""
    inside, outside = _parse(
        listeners="INSIDE://:9092,OUTSIDE://:9093",
        advertised_listeners="INSIDE://broker:9092",
        listener_security_protocol_map="INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT",
        broker_lite_gateway_advertised="localhost:19093",
    )
    assert (inside.gateway_host, inside.gateway_port) == (None, None)
    assert (outside.gateway_host, outside.gateway_port) == ("localhost", 19093)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"listeners": "TLS://:1"}, "listener.security.protocol.map: no protocol for listener TLS"),
        (
            {"listeners": "S://:1", "listener_security_protocol_map": "S:SASL_TLS"},
            "S: SASL_TLS is not supported, only PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL",
        ),
        ({"listeners": "PLAINTEXT://:1,PLAINTEXT://:2"}, "listeners: PLAINTEXT is given twice"),
        ({"listeners": "PLAINTEXT://host"}, "'PLAINTEXT://host' is not NAME://HOST:PORT"),
        ({"listeners": "PLAINTEXT://:65536"}, "is not NAME://HOST:PORT"),
        ({"listeners": "PLAINTEXT://:99999999"}, "is not NAME://HOST:PORT"),
        ({"listeners": ":9092"}, "is not NAME://HOST:PORT"),
        ({"listeners": "CONTROLLER://:1"}, "listeners: there is none for clients"),
        ({"advertised_listeners": "OTHER://a:1"}, "OTHER is not in listeners"),
        ({"advertised_listeners": "PLAINTEXT://0.0.0.0:1"}, "clients cannot connect to 0.0.0.0"),
        ({"advertised_listeners": "PLAINTEXT://[::]:1"}, "clients cannot connect to ::"),
        ({"listener_security_protocol_map": "PLAINTEXT"}, "'PLAINTEXT' is not NAME:PROTOCOL"),
        *(
            ({"broker_lite_gateway_advertised": text}, f"{text!r} is not HOST or HOST:PORT")
            for text in ("::1", "[::1", "a b", ":9092", "h:", "h:0", "h:65536", "h:x", "http://h")
        ),
        ({"broker_lite_gateway_advertised": "0.0.0.0:1"}, "clients cannot connect to 0.0.0.0"),
        (
            {
                "broker_lite_gateway_advertised": "localhost:9092",
                "listeners": "A://:1,B://:2",
                "listener_security_protocol_map": "A:PLAINTEXT,B:PLAINTEXT",
            },
            "broker.lite.gateway.advertised: a port belongs to one listener",
        ),
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


@pytest.mark.parametrize(
    ("listeners", "host", "port", "expected"),
    [
        ("PLAINTEXT://:9092", "::1", 0, "PLAINTEXT://[::1]:0"),
        ("PLAINTEXT://:9092", "[::1]", 0, "PLAINTEXT://[::1]:0"),
        ("PLAINTEXT://a:1,plain://b:2", None, 7, "PLAINTEXT://a:7,plain://b:2"),
        ("A://[::1]:1,B://b:2", None, None, "A://[::1]:1,B://b:2"),
    ],
)
def test_the_first_listener_gets_another_address(
    listeners: str, host: str | None, port: int | None, expected: str
) -> None:
    given = {
        "listeners": Given(listeners, "test"),
        "listener.security.protocol.map": Given(
            "PLAINTEXT:PLAINTEXT,PLAIN:PLAINTEXT,A:PLAINTEXT,B:PLAINTEXT", "test"
        ),
    }
    assert with_first_address(Settings(given), host, port) == expected
