"""A broker that was asked for security it does not have does not start."""

from pathlib import Path

import pytest

from broker_lite.errors import SettingsError
from broker_lite.settings import load_settings


@pytest.mark.parametrize(
    "line",
    [
        "sasl.oauthbearer.jwt.validator.class=com.acme.Validator",
        "ssl.provider=BC",
        "ssl.engine.factory.class=com.acme.Engine",
        "principal.builder.class=com.acme.Builder",
    ],
)
def test_a_file_that_asks_for_security(line: str, tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text(line)
    name = line.partition("=")[0]
    with pytest.raises(SettingsError) as caught:
        load_settings(path)
    assert str(caught.value) == (
        f"{path}: {name} asks for security that broker-lite does not have; without it, the broker "
        "is open to everybody"
    )


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("KAFKA_SSL_KEYSTORE_FILENAME", "kafka.jks"),
        ("KAFKA_LISTENER_NAME_SASL__SSL_SSL_PROVIDER", "BC"),
    ],
)
def test_a_variable_that_asks_for_security(variable: str, text: str) -> None:
    with pytest.raises(SettingsError, match=f"^{variable}: .* asks for security"):
        load_settings(env={variable: text})


def test_a_default_asks_for_nothing(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text("ssl.provider=\nssl.secure.random.implementation=")
    warnings: list[str] = []
    load_settings(path, {"KAFKA_OPTS": "-Xmx1g"}, warnings=warnings)
    assert len(warnings) == 2
