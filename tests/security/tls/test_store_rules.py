"""Settings of stores that do not go together; the texts are those of a Kafka 4.3.1."""

import pytest

from broker_lite.security.tls.store_files import Store
from broker_lite.security.tls.store_rules import Mismatched, check_keys, check_trust


@pytest.mark.parametrize(
    ("store", "text"),
    [
        (
            Store("JKS", "/a", "x", key="k", certificates="c"),
            "SSL private key can be specified only for PEM, but key store type is JKS.",
        ),
        (
            Store("PEM", None, key="k"),
            "SSL private key is specified, but certificate chain is not specified.",
        ),
        (
            Store("PEM", "/a", key="k", certificates="c"),
            "Both SSL key store location and separate private key are specified.",
        ),
        (
            Store("PEM", None, certificates="c"),
            "SSL certificate chain is specified, but private key is not specified",
        ),
        (
            Store("PEM", "/a", "x"),
            "SSL key store password cannot be specified with PEM format, only key password may be"
            " specified",
        ),
        (
            Store("JKS", None, "x"),
            "SSL key store is not specified, but key store password is specified.",
        ),
        (
            Store("JKS", "/a"),
            "SSL key store is specified, but key store password is not specified.",
        ),
    ],
)
def test_a_key_store_x67(store: Store, text: str) -> None:
    with pytest.raises(Mismatched) as caught:
        check_keys(store)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("store", "text"),
    [
        (
            Store("JKS", None, certificates="c"),
            "SSL trust store certs can be specified only for PEM, but trust store type is JKS.",
        ),
        (
            Store("PEM", "/a", certificates="c"),
            "Both SSL trust store location and separate trust certificates are specified.",
        ),
        (Store("PEM", "/a", "x"), "SSL trust store password cannot be specified for PEM format."),
        (
            Store("JKS", None, "x"),
            "SSL trust store is not specified, but trust store password is specified.",
        ),
    ],
)
def test_a_trust_store_x67(store: Store, text: str) -> None:
    with pytest.raises(Mismatched) as caught:
        check_trust(store)
    assert str(caught.value) == text


def test_what_goes_together() -> None:
    for store in (Store("PEM", "/a"), Store("PEM", None, key="k", certificates="c"), _p12()):
        check_keys(store)
    for store in (Store("JKS", "/a"), Store("PEM", None, certificates="c"), Store("JKS", None)):
        check_trust(store)


def _p12() -> Store:
    return Store("PKCS12", "/a", "x", key_password="x")
