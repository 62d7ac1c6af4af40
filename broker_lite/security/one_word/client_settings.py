"""What clients have to be told to reach a broker, in the words of each client library.

Certificates and keys are in the settings themselves, as PEM, so no file is needed.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

_SCRAM: Final = "SCRAM-"
_OAUTHBEARER: Final = "OAUTHBEARER"
_MODULES: Final[Mapping[str, str]] = {
    "PLAIN": "plain.PlainLoginModule",
    "SCRAM-SHA-256": "scram.ScramLoginModule",
    "SCRAM-SHA-512": "scram.ScramLoginModule",
}
_OAUTH_MODULE: Final = "oauthbearer.OAuthBearerLoginModule"


class Access(NamedTuple):
    """How a client reaches a broker, and as whom; `repr` leaves secrets out.

    Attributes:
        bootstrap: HOST:PORT of each broker, separated by commas.
        protocol: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.
        ca: PEM of the CA; empty without TLS.
        client_key: PEM of the client's private key; empty without one.
        client_certificate: PEM of the client's certificate; empty without one.
        mechanism: of SASL; empty without it.
        user: of SASL.
        password: of SASL.
    """

    bootstrap: str
    protocol: str = "PLAINTEXT"
    ca: str = ""
    client_key: str = ""
    client_certificate: str = ""
    mechanism: str = ""
    user: str = ""
    password: str = ""

    def __repr__(self) -> str:  # type: ignore[explicit-override]
        return f"Access({self.bootstrap!r}, {self.protocol!r}, {self.user!r})"


def of_java(access: Access) -> dict[str, str]:
    """Return the properties of Kafka's own clients."""
    texts = {"bootstrap.servers": access.bootstrap}
    if access.protocol != "PLAINTEXT":
        texts["security.protocol"] = access.protocol
    if access.mechanism:
        texts["sasl.mechanism"] = access.mechanism
        texts |= _java_login(access)
    if access.ca:
        texts["ssl.truststore.type"] = "PEM"
        texts["ssl.truststore.certificates"] = access.ca
    if access.client_certificate:
        texts["ssl.keystore.type"] = "PEM"
        texts["ssl.keystore.key"] = access.client_key
        texts["ssl.keystore.certificate.chain"] = access.client_certificate
    return texts


def _java_login(access: Access) -> dict[str, str]:
    if access.mechanism == _OAUTHBEARER:
        options = f'unsecuredLoginStringClaim_sub="{_quoted(access.user)}"'
        module = _OAUTH_MODULE
    else:
        user, password = _quoted(access.user), _quoted(access.password)
        options = f'username="{user}" password="{password}"'
        module = _MODULES[access.mechanism]
    return {
        "sasl.jaas.config": f"org.apache.kafka.common.security.{module} required {options};",
    }


def of_librdkafka(access: Access) -> dict[str, str]:
    """Return the settings of librdkafka, and of the clients in many languages that are made of it.

    librdkafka reads protocols in small letters; some of these clients accept nothing else.
    """
    texts = {"bootstrap.servers": access.bootstrap}
    if access.protocol != "PLAINTEXT":
        texts["security.protocol"] = access.protocol.lower()
    if access.mechanism:
        texts["sasl.mechanism"] = access.mechanism
    if access.mechanism == _OAUTHBEARER:
        texts["enable.sasl.oauthbearer.unsecure.jwt"] = "true"
        texts["sasl.oauthbearer.config"] = f"principal={access.user}"
    elif access.mechanism:
        texts["sasl.username"] = access.user
        texts["sasl.password"] = access.password
    if access.ca:
        texts["ssl.ca.pem"] = access.ca
    if access.client_certificate:
        texts["ssl.certificate.pem"] = access.client_certificate
        texts["ssl.key.pem"] = access.client_key
    return texts


def of_kafkajs(access: Access) -> dict[str, object]:
    """Return the options of kafkajs.

    Raises:
        ValueError: kafkajs cannot log in by the mechanism without a function that makes tokens.
    """
    found: dict[str, object] = {"brokers": access.bootstrap.split(",")}
    if access.ca:
        tls: dict[str, object] = {"ca": [access.ca]}
        if access.client_certificate:
            tls |= {"cert": access.client_certificate, "key": access.client_key}
        found["ssl"] = tls
    if access.mechanism == _OAUTHBEARER:
        raise ValueError("kafkajs needs a function that makes tokens for OAUTHBEARER")
    if access.mechanism:
        found["sasl"] = {
            "mechanism": access.mechanism.lower(),
            "username": access.user,
            "password": access.password,
        }
    return found


def key_and_certificate(pem: str) -> tuple[str, str]:
    """Split PEM of a private key and its certificate."""
    start = pem.index("-----BEGIN CERTIFICATE-----")
    return pem[:start], pem[start:]


def properties_text(texts: Mapping[str, str]) -> str:
    """Return the text of a Java properties file."""
    return "".join(f"{name}={_property(text)}\n" for name, text in texts.items())


def _property(text: str) -> str:
    return text.rstrip("\n").replace("\\", "\\\\").replace("\n", "\\n\\\n  ")


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
