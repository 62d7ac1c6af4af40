"""Key stores that variables of other images name."""

from pathlib import Path

import pytest

from broker_lite.docker_entry.secrets import with_secrets
from broker_lite.docker_entry.sources import read_sources
from broker_lite.errors import SettingsError
from broker_lite.settings import load_settings


def test_the_variables_of_key_stores(tmp_path: Path) -> None:
    for name, text in (("store", "store-secret\n"), ("key", "key-secret\n\n"), ("trust", "t\n")):
        (tmp_path / f"{name}-creds").write_text(text)
    found = read_sources(
        {
            "KAFKA_SSL_KEYSTORE_FILENAME": "kafka.jks",
            "KAFKA_SSL_KEYSTORE_CREDENTIALS": "store-creds",
            "KAFKA_SSL_KEY_CREDENTIALS": "key-creds",
            "KAFKA_SSL_TRUSTSTORE_FILENAME": "trust.jks",
            "KAFKA_SSL_TRUSTSTORE_CREDENTIALS": "trust-creds",
            "KAFKA_SSL_CLIENT_AUTH": "required",
        },
        exists=lambda _: False,
        is_mount=lambda _: False,
        secrets=tmp_path,
    )
    warnings: list[str] = []
    settings = load_settings(
        None, found.environment, surroundings=found.surroundings, warnings=warnings
    )
    assert settings.ssl_keystore_location == str(tmp_path / "kafka.jks")
    assert settings.ssl_truststore_location == str(tmp_path / "trust.jks")
    assert settings.ssl_keystore_password == "store-secret"
    assert settings.ssl_key_password == "key-secret"
    assert settings.ssl_truststore_password == "t"
    assert warnings == []


def test_other_variables_stay() -> None:
    given = {"KAFKA_SSL_KEYSTORE_LOCATION": "/a", "PATH": "/bin"}
    assert with_secrets(given) == given


def test_a_password_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "odd").write_bytes(b"\xff\xfe")
    for name, reason in (("none", "No such file or directory"), ("odd", "it is not UTF-8 text")):
        with pytest.raises(SettingsError) as caught:
            with_secrets({"KAFKA_SSL_KEY_CREDENTIALS": name}, tmp_path)
        told = f"KAFKA_SSL_KEY_CREDENTIALS: {tmp_path / name} cannot be read: {reason}"
        assert str(caught.value) == told
