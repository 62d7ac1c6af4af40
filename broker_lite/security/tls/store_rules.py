"""Which settings of a key store and a trust store go together; the texts are Kafka's."""

from broker_lite.security.tls.store_files import Store


class Mismatched(ValueError):
    """Settings of a store do not go together; the text is Kafka's."""


def check_keys(store: Store) -> None:
    """Check the settings of a key store.

    Raises:
        Mismatched: they do not go together.

    Rule: X-67 (DefaultSslEngineFactory).
    """
    if store.key is not None:
        if not store.is_pem:
            what = f"can be specified only for PEM, but key store type is {store.kind}."
            raise Mismatched(f"SSL private key {what}")
        if store.certificates is None:
            raise Mismatched(
                "SSL private key is specified, but certificate chain is not specified."
            )
        if store.location is not None:
            raise Mismatched("Both SSL key store location and separate private key are specified.")
    elif store.certificates is not None:
        raise Mismatched("SSL certificate chain is specified, but private key is not specified")
    if store.is_pem and store.password is not None:
        raise Mismatched(
            "SSL key store password cannot be specified with PEM format, only key password may be"
            " specified"
        )
    if store.key is None and not store.is_pem:
        if store.location is None and store.password is not None:
            raise Mismatched("SSL key store is not specified, but key store password is specified.")
        if store.location is not None and store.password is None:
            raise Mismatched("SSL key store is specified, but key store password is not specified.")


def check_trust(store: Store) -> None:
    """Check the settings of a trust store.

    Raises:
        Mismatched: they do not go together.
    """
    if store.certificates is not None:
        if not store.is_pem:
            what = f"can be specified only for PEM, but trust store type is {store.kind}."
            raise Mismatched(f"SSL trust store certs {what}")
        if store.location is not None:
            raise Mismatched(
                "Both SSL trust store location and separate trust certificates are specified."
            )
    if store.is_pem and store.password is not None:
        raise Mismatched("SSL trust store password cannot be specified for PEM format.")
    if store.location is None and store.certificates is None and store.password is not None:
        raise Mismatched("SSL trust store is not specified, but trust store password is specified.")
