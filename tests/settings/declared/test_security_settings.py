import pytest

from broker_lite.settings import SETTINGS, ConfigType, load_settings
from broker_lite.settings.declared.security_settings import (
    OF_LISTENERS,
    SASL_SETTINGS,
    TLS_SETTINGS,
)

SECRETS = {
    "sasl.jaas.config",
    "ssl.key.password",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.password",
    "ssl.truststore.certificates",
    "ssl.truststore.password",
}


def test_secrets_are_not_shown() -> None:
    assert {each.name for each in (*SASL_SETTINGS, *TLS_SETTINGS) if each.is_sensitive} == SECRETS


NUMBERS = {
    name
    for name in OF_LISTENERS
    if SETTINGS[name].kind in (ConfigType.INT, ConfigType.LONG, ConfigType.SHORT)
}
WORDS = {
    "ssl.client.auth": "required",
    "sasl.oauthbearer.assertion.algorithm": "ES256",
    "sasl.oauthbearer.assertion.claim.jti.include": "true",
    "broker.lite.kernel.tls": "true",
    "ssl.allow.dn.changes": "true",
    "ssl.allow.san.changes": "true",
}


@pytest.mark.parametrize("name", sorted(OF_LISTENERS))
def test_a_listener_has_its_own(name: str) -> None:
    text = "7" if name in NUMBERS else WORDS.get(name, "own")
    settings = load_settings(overrides={f"listener.name.client.{name}": text})
    own = settings.value_for_listener("CLIENT", name)
    assert own == SETTINGS[name].parse(text)
    assert settings.value_for_listener("OTHER", name) == settings.value(name) != own
    changed = settings.with_dynamic({f"listener.name.other.{name}": text})
    assert changed.value_for_listener("OTHER", name) == own


def test_a_mechanism_of_a_listener_has_its_own() -> None:
    name, listener = "connections.max.reauth.ms", "listener.name.client."
    settings = load_settings(
        overrides={f"{listener}{name}": "5", f"{listener}scram-sha-256.{name}": "7"}
    ).with_dynamic({f"{listener}plain.{name}": "6"})
    told = [settings.value_for_listener("CLIENT", name, each) for each in ("PLAIN", "X", "")]
    assert told == [6, 5, 5]
    assert settings.value_for_listener("CLIENT", name, "SCRAM-SHA-256") == 7
    assert settings.own_of_listener("CLIENT", name, "X") is None
