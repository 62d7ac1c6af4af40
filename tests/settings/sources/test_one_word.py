from pathlib import Path

import pytest

from broker_lite.errors import SettingsError
from broker_lite.security.sasl.jaas import parse_module
from broker_lite.settings import Settings, load_settings, parse_listeners
from broker_lite.settings.sources.one_word import (
    plain_listener,
    secured,
    secured_listeners,
    users_of,
)

FOLDER = Path("/data")
WORD = "broker.lite.security"


def made(word: str, env: dict[str, str] | None = None, **texts: str) -> Settings:
    named = {name.replace("_", "."): text for name, text in texts.items()}
    return secured(load_settings(None, env or {}, {WORD: word, **named}), FOLDER)


def listeners(settings: Settings) -> list[tuple[str, str, int, str]]:
    return [
        (one.name, one.host, one.port, one.security_protocol) for one in parse_listeners(settings)
    ]


@pytest.mark.parametrize(
    ("word", "protocol"),
    [
        *(("ssl", "SSL"), ("mtls", "SSL")),
        *(("sasl_plaintext", "SASL_PLAINTEXT"), ("sasl_ssl", "SASL_SSL")),
    ],
)
def test_the_listener_of_the_default(word: str, protocol: str) -> None:
    settings = made(word)
    assert listeners(settings) == [
        (protocol, "127.0.0.1", 9092, protocol),
        ("PLAINTEXT", "127.0.0.1", 19092, "PLAINTEXT"),
    ]
    assert [one.port for one in secured_listeners(settings)] == [9092]
    plain = plain_listener(settings)
    assert plain is not None
    assert plain.port == 19092


@pytest.mark.parametrize(("port", "plain"), [(0, 0), (1, 10001), (55535, 65535), (65535, 55535)])
def test_the_port_for_health_checks(port: int, plain: int) -> None:
    settings = made("ssl", listeners=f"PLAINTEXT://:{port}")
    assert listeners(settings)[1] == ("PLAINTEXT", "127.0.0.1", plain, "PLAINTEXT")


def test_only_the_secured_listener() -> None:
    settings = made("ssl", broker_lite_security_only="true")
    assert listeners(settings) == [("SSL", "127.0.0.1", 9092, "SSL")]
    assert plain_listener(settings) is None


def test_advertised_addresses_and_controllers_stay() -> None:
    settings = made(
        "ssl",
        {
            "KAFKA_LISTENERS": "PLAINTEXT://:9092,CONTROLLER://:9093",
            "KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://broker:29092",
            "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
        },
    )
    first, second = parse_listeners(settings)
    assert (first.name, first.advertised_host, first.advertised_port) == ("SSL", "broker", 29092)
    assert second.advertised_host is None


def test_listeners_with_names_of_their_own_keep_them() -> None:
    settings = made(
        "sasl_plaintext",
        listeners="IN://:9092,OUT://:9093",
        listener_security_protocol_map="IN:PLAINTEXT,OUT:PLAINTEXT",
    )
    assert listeners(settings) == [
        ("IN", "", 9092, "SASL_PLAINTEXT"),
        ("OUT", "", 9093, "SASL_PLAINTEXT"),
        ("HEALTH", "127.0.0.1", 19092, "PLAINTEXT"),
    ]
    for name in ("in", "out"):
        assert f"listener.name.{name}.plain.sasl.jaas.config" in settings.given


def test_listeners_that_speak_it_already_stay_with_all_others() -> None:
    settings = made("ssl", listeners="SSL://:9093,PLAINTEXT://:9092")
    assert [one[0] for one in listeners(settings)] == ["SSL", "PLAINTEXT"]
    assert settings.value_for_listener("SSL", "ssl.keystore.type") == "PEM"


def test_no_listener_can_speak_it() -> None:
    with pytest.raises(SettingsError, match="no listener can speak SASL_PLAINTEXT"):
        made("sasl_plaintext", listeners="SSL://:9093")


def test_keys_in_the_data_directory() -> None:
    settings = made("ssl")
    location = settings.value_for_listener("SSL", "ssl.keystore.location")
    assert location == str(FOLDER / "broker-lite-server.pem")
    assert settings.value_for_listener("SSL", "ssl.client.auth") == "none"


def test_admin_is_the_super_user() -> None:
    assert made("ssl").super_users == "User:admin"
    assert made("ssl", super_users="User:eve").super_users == "User:eve"


def test_mutual_tls() -> None:
    settings = made("mtls")
    assert settings.value_for_listener("SSL", "ssl.client.auth") == "required"
    location = settings.value_for_listener("SSL", "ssl.truststore.location")
    assert location == str(FOLDER / "broker-lite-ca.pem")


def test_keys_that_somebody_has_stay() -> None:
    settings = made("ssl", ssl_keystore_location="/mine.pem", ssl_keystore_type="PEM")
    assert settings.value_for_listener("SSL", "ssl.keystore.location") == "/mine.pem"


def test_users_of_plain_are_written_so_that_they_are_read_alike() -> None:
    hard = "b\\o\"b; ='{}"
    settings = made("sasl_plaintext", broker_lite_security_users=f"bob:{hard}\neve:a:b")
    text = settings.given["listener.name.sasl_plaintext.plain.sasl.jaas.config"].text
    assert parse_module(text).options == {
        "user_admin": "admin-secret",
        "user_user": "user-secret",
        "user_bob": hard,
        "user_eve": "a:b",
    }


def test_users() -> None:
    users = users_of(made("sasl_plaintext", broker_lite_security_users=" a.b@c:x \n\nuser:mine"))
    assert {name: one.password for name, one in users.items()} == {
        "admin": "admin-secret",
        "user": "mine",
        "a.b@c": "x",
    }
    assert [name for name, one in users.items() if one.is_public] == ["admin"]
    assert "mine" not in repr(users)


@pytest.mark.parametrize("text", ["hidden", ":hidden", "a b:hidden", "a:", 'a":hidden', "ok:x\nno"])
def test_a_wrong_user_is_told_without_a_password(text: str) -> None:
    with pytest.raises(SettingsError, match=r"--set: user \d is not NAME:PASSWORD") as error:
        made("sasl_plaintext", broker_lite_security_users=text)
    assert "hidden" not in str(error.value)


def test_too_many_users() -> None:
    lines = "\n".join(f"u{number}:x" for number in range(999))
    with pytest.raises(SettingsError, match="more than 1000 users"):
        made("sasl_plaintext", broker_lite_security_users=lines)


@pytest.mark.parametrize(
    ("name", "text"), [("users", "bob:hidden"), ("san", "x"), ("only", "true")]
)
def test_the_word_is_needed(name: str, text: str) -> None:
    with pytest.raises(SettingsError, match=f"--set: {WORD}.{name} needs {WORD}") as error:
        made("", **{f"broker_lite_security_{name}": text})
    assert "hidden" not in str(error.value)


def test_without_a_word_nothing_changes() -> None:
    settings = load_settings(None, {})
    assert secured(settings, FOLDER) is settings


def test_another_word_is_refused() -> None:
    with pytest.raises(SettingsError, match="sasl_ssl"):
        load_settings(None, {"KAFKA_BROKER_LITE_SECURITY": "tls"})
