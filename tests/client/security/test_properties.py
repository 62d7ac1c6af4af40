import pytest

from broker_lite.client.security.properties import security_of
from broker_lite.errors import SettingsError


@pytest.mark.parametrize("protocol", ["", "TLS", "SASL"])
def test_what_is_no_protocol(protocol: str) -> None:
    with pytest.raises(SettingsError, match=r"must be one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL"):
        security_of({"security.protocol": protocol})


def test_sasl_over_tls_needs_both() -> None:
    with pytest.raises(SettingsError, match=r"sasl\.mechanism is missing"):
        security_of({"security.protocol": " sasl_ssl "})
    with pytest.raises(SettingsError, match=r"ssl\.truststore\.location: /nosuch"):
        security_of({"security.protocol": "SASL_SSL", "ssl.truststore.location": "/nosuch"})
