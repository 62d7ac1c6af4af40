"""A broker with a plain listener and secured ones, and what clients write to reach them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from broker_lite.testing import Broker
from tests.differential.compare_sasl import upsertion
from tests.support.certificates import Certificates, write_certificates
from tests.support.raw_client import RawClient
from tests.support.reference_kafka import free_port

_PACKAGE: Final = "org.apache.kafka.common.security."
_PLAIN: Final = f"{_PACKAGE}plain.PlainLoginModule"
_SCRAM: Final = f"{_PACKAGE}scram.ScramLoginModule"
_OAUTHBEARER: Final = f"{_PACKAGE}oauthbearer.OAuthBearerLoginModule"
SESSION_MS: Final = 1500
"""How long a session lasts that began by PLAIN."""
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
PASSWORDS: Final = {"alice": "alice-secret", "carol": "carol-secret"}
"""alice is a user of PLAIN, carol one of SCRAM."""
_PROTOCOLS: Final = {
    "PLAINTEXT": "PLAINTEXT",
    "TLS": "SSL",
    "MTLS": "SSL",
    "SASL": "SASL_PLAINTEXT",
    "BOTH": "SASL_SSL",
}


class SecuredBroker(NamedTuple):
    """A running broker.

    Attributes:
        addresses: HOST:PORT by listener.
        files: certificates.
        control: the URL of its control API.
    """

    addresses: Mapping[str, str]
    files: Certificates
    control: str

    def tls(self, **more: str) -> dict[str, str]:
        """What a client of TLS writes; a dot of a name is an underscore."""
        return {
            "security.protocol": "SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.files.ca),
            **_dotted(more),
        }

    def mtls(self, **more: str) -> dict[str, str]:
        """What a client with a certificate writes."""
        location = str(self.files.client)
        return {
            **self.tls(),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": location,
            **_dotted(more),
        }

    def sasl_ssl(self, mechanism: str, password: str | None = None) -> dict[str, str]:
        """What a client of a mechanism writes, for SASL over TLS."""
        return {**self.tls(), **sasl(mechanism, password), "security.protocol": "SASL_SSL"}


def sasl(mechanism: str, password: str | None = None) -> dict[str, str]:
    """What a client of a mechanism writes."""
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": _jaas(mechanism, password),
    }


def _jaas(mechanism: str, password: str | None) -> str:
    if mechanism == "OAUTHBEARER":
        return f'{_OAUTHBEARER} required unsecuredLoginStringClaim_sub="dave";'
    module, user = (_PLAIN, "alice") if mechanism == "PLAIN" else (_SCRAM, "carol")
    password = PASSWORDS[user] if password is None else password
    return f'{module} required username="{user}" password="{password}";'


def write_properties(path: Path, properties: Mapping[str, str]) -> Path:
    """Write a file as --command-config takes it."""
    lines = (f"{name}={text}\n" for name, text in properties.items())
    path.write_text("".join(lines))
    return path


@contextmanager
def secured_broker(folder: Path) -> Iterator[SecuredBroker]:
    """Run a broker with a listener of each kind."""
    files = write_certificates(folder)
    addresses = {name: f"127.0.0.1:{free_port()}" for name in _PROTOCOLS}
    control = free_port()
    listeners = ",".join(f"{name}://{address}" for name, address in addresses.items())
    given = {
        "listeners": listeners,
        "listener.security.protocol.map": ",".join(f"{a}:{b}" for a, b in _PROTOCOLS.items()),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(files.server),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(files.ca),
        "listener.name.mtls.ssl.client.auth": "required",
        **_sasl_settings("listener.name.sasl."),
        **_sasl_settings("listener.name.both."),
        "group.initial.rebalance.delay.ms": "0",
        "broker.lite.control": f"127.0.0.1:{control}",
    }
    with Broker(given):
        _make_carol(addresses["PLAINTEXT"])
        yield SecuredBroker(addresses, files, f"http://127.0.0.1:{control}")


def _sasl_settings(prefix: str) -> dict[str, str]:
    token = f'{_OAUTHBEARER} required unsecuredLoginStringClaim_sub="broker";'
    return {
        f"{prefix}sasl.enabled.mechanisms": ",".join(MECHANISMS),
        f"{prefix}plain.sasl.jaas.config": f'{_PLAIN} required user_alice="{PASSWORDS["alice"]}";',
        f"{prefix}scram-sha-256.sasl.jaas.config": f"{_SCRAM} required;",
        f"{prefix}scram-sha-512.sasl.jaas.config": f"{_SCRAM} required;",
        f"{prefix}oauthbearer.sasl.jaas.config": token,
        f"{prefix}plain.connections.max.reauth.ms": str(SESSION_MS),
    }


def _make_carol(bootstrap: str) -> None:
    host, _, port = bootstrap.rpartition(":")
    with RawClient(host, int(port)) as client:
        for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
            new = upsertion("carol", mechanism, PASSWORDS["carol"])
            answer = client.call("AlterUserScramCredentials", 0, deletions=[], upsertions=[new])
            assert answer.results[0].error_code == 0


def _dotted(properties: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "."): text for name, text in properties.items()}
