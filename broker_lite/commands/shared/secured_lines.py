"""What `broker-lite serve` prints of a broker that is secured by one word, to copy and paste."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from broker_lite.security.one_word.client_settings import Access, of_java, properties_text
from broker_lite.settings import Settings, join_address
from broker_lite.settings.per_node import settings_of_node
from broker_lite.settings.sources.one_word import (
    ADMIN,
    CA_FILE,
    CLIENT_FILE,
    USER,
    plain_listener,
    secured_listeners,
    users_of,
)

_EVERY_ADDRESS: Final = ("0.0.0.0:", "[::]:", ":")
_MECHANISM: Final = "SCRAM-SHA-512"


def secured_lines(settings: Settings, address: str, data_dir: Path) -> Iterator[str]:
    """Yield the lines, with the passwords that everybody has and no others.

    Args:
        settings: with a word of security.
        address: HOST:PORT of the first listener of each broker.
        data_dir: with the CA's certificate.
    """
    protocol = secured_listeners(settings)[0].security_protocol
    bootstrap = ",".join(map(_reachable, address.split(",")))
    plain = plain_listener(settings)
    yield f"security: clients speak {protocol} to {bootstrap}"
    if plain is not None:
        where = (
            join_address(plain.host, plain.port) if plain.port else f"a free port of {plain.host}"
        )
        yield f"security: PLAINTEXT for health checks on {where} (--security-only: not)"
    if settings.broker_lite_security_fault:
        fault = settings.broker_lite_security_fault
        yield f"security: clients have to refuse the certificate: {fault} (--security-fault)"
    others = [one.name for one in users_of(settings).values() if not one.is_public]
    known = f"{ADMIN.name}/{ADMIN.password} (super user), {USER.name}/{USER.password}"
    yield f"users: {', '.join([known, *others])}"
    control = settings.broker_lite_control
    if control:
        url = f"http://{_reachable(control)}"
        files = "client.properties, librdkafka.json, ca.pem, truststore.p12, client.pem, client.p12"
        yield f"files for clients: {url}/v1/security/... with {files}"
        yield f"tokens: {url}/oauth/token"
    yield from ("", *_properties(settings, protocol, bootstrap, data_dir))


def _properties(settings: Settings, protocol: str, bootstrap: str, data_dir: Path) -> Iterator[str]:
    access = Access(bootstrap, protocol)
    if protocol.startswith("SASL"):
        access = access._replace(mechanism=_MECHANISM, user=USER.name, password=USER.password)
    texts = of_java(access)
    if protocol.endswith("SSL"):
        texts |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": f"{data_dir / CA_FILE}"}
    if settings.broker_lite_security == "mtls":
        texts |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": f"{data_dir / CLIENT_FILE}"}
    yield from properties_text(texts).splitlines()


def health_addresses(settings: Settings, address: str) -> str:
    """Return where a health check asks, for each broker, separated by commas.

    Args:
        settings: with a word of security or without.
        address: HOST:PORT of the first listener of each broker.
    """
    if not settings.broker_lite_security:
        return address
    found = []
    for step, main in enumerate(address.split(",")):
        own = settings_of_node(settings, step)
        plain = plain_listener(own)
        if plain is not None and plain.port:
            found.append(join_address(plain.host, plain.port))
        elif secured_listeners(own)[0].security_protocol.endswith("SSL"):
            found.append(f"tls:{main}")
        else:
            found.append(main)
    return ",".join(found)


def _reachable(address: str) -> str:
    """Return an address with a host that this machine can connect to."""
    for start in _EVERY_ADDRESS:
        if address.startswith(start):
            return f"localhost:{address.removeprefix(start)}"
    return address
