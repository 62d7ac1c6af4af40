"""What sasl.mechanism and sasl.jaas.config say; secrets are in no error."""

import base64
import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_lite.client.security.logins import login_of
from broker_lite.errors import SettingsError

BEARER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"


def properties(mechanism: str, jaas: str) -> dict[str, str]:
    return {"sasl.mechanism": mechanism, "sasl.jaas.config": jaas}


def bearer(options: str) -> dict[str, str]:
    return properties("OAUTHBEARER", f"{BEARER} {options};")


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({}, "sasl.mechanism is missing: it is one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHB"),
        ({"sasl.mechanism": "GSSAPI"}, "sasl.mechanism=GSSAPI: not supported, only PLAIN, SCRAM"),
        ({"sasl.mechanism": "PLAIN"}, "sasl.jaas.config is missing"),
        (
            properties("PLAIN", 'M required username="a;'),
            "sasl.jaas.config: a quoted text does not",
        ),
        (properties("PLAIN", "M required username=a;"), "sasl.jaas.config: password is missing"),
        (properties("PLAIN", "M required password=hunter2;"), "sasl.jaas.config: username is miss"),
        (bearer(""), "sasl.jaas.config: unsecuredLoginStringClaim_sub is missing, and sasl.oauth"),
        (bearer("unsecuredLoginStringClaim_sub=a unsecuredLoginNumberClaim_n=b"), "sasl.jaas.conf"),
        (bearer("unsecuredLoginStringClaim_sub=a unsecuredLoginLifetimeSeconds=-"), "sasl.jaas.c"),
        (bearer('unsecuredLoginStringClaim_sub=a unsecuredLoginExtension_auth="b"'), "sasl.jaas.c"),
    ],
)
def test_properties_that_cannot_be_used(given: dict[str, str], reason: str) -> None:
    with pytest.raises(SettingsError) as caught:
        login_of(given)
    assert str(caught.value).startswith(reason)
    assert "hunter2" not in str(caught.value)


def test_classes_of_kafka_and_of_ones_own() -> None:
    handler = "sasl.login.callback.handler.class"
    kafka = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
    given = bearer("unsecuredLoginStringClaim_sub=a")
    assert login_of({**given, handler: kafka}).mechanism == "OAUTHBEARER"
    with pytest.raises(SettingsError, match=r"^sasl\.login\.callback\.handler\.class: classes of"):
        login_of({**given, handler: "org.acme.Handler"})


def test_users_and_passwords() -> None:
    plain = login_of(properties("PLAIN", 'M required username="a" password="b;\\"";'))
    assert plain.begin().first() == b'\0a\0b;"'
    scram = login_of(properties("SCRAM-SHA-256", "M required username=a password=b;"))
    first, second = scram.begin().first(), scram.begin().first()
    assert first.startswith(b"n,,n=a,r=")
    assert first != second
    token = "M required username=id password=b tokenauth=true;"
    scram = login_of(properties("SCRAM-SHA-512", token))
    assert scram.begin().first().endswith(b",tokenauth=true")


def test_claims_of_an_unsecured_token() -> None:
    login = login_of(
        bearer(
            'unsecuredLoginStringClaim_me="alice" unsecuredLoginPrincipalClaimName="me"'
            ' unsecuredLoginNumberClaim_age="12" unsecuredLoginListClaim_scope="|a|b"'
            ' unsecuredLoginLifetimeSeconds="60" unsecuredLoginExtension_trace="x"'
        )
    )
    message = login.begin().first().decode()
    assert message.endswith("\x01trace=x\x01\x01")
    part = message.partition("Bearer ")[2].split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    assert claims["exp"] - claims["iat"] == 60
    assert {name: claims[name] for name in ("me", "age", "scope")} == {
        "me": "alice",
        "age": 12,
        "scope": ["a", "b"],
    }


def test_a_jaas_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "jaas.conf"
    monkeypatch.setenv("KAFKA_OPTS", f"-Djava.security.auth.login.config={path}")
    mechanism = {"sasl.mechanism": "PLAIN"}
    with pytest.raises(SettingsError, match=r"jaas\.conf: No such file"):
        login_of(mechanism)
    path.write_text("KafkaServer { M required; };")
    with pytest.raises(SettingsError, match=r"jaas\.conf: it has no section KafkaClient"):
        login_of(mechanism)
    path.write_text('KafkaClient { M required username="a" password="b"; };')
    assert login_of(mechanism).begin().first() == b"\0a\0b"


@given(st.sampled_from(["PLAIN", "SCRAM-SHA-256", "OAUTHBEARER"]), st.text(max_size=80))
def test_any_text_instead_of_jaas(mechanism: str, text: str) -> None:
    for jaas in (text, f"{BEARER} {text};", f'M required username="{text}" password="{text}";'):
        with suppress(SettingsError):
            login_of(properties(mechanism, jaas))
