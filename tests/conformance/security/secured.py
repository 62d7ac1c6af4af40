"""A broker with a listener of each protocol, ours or a real Kafka, and the cases that clients try.

The same certificates, users and settings are for both. Every client has a user of its name, who may
do everything; so may those whom a listener without SASL knows.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import trustme

from tests.conformance.security.denials import ACTIONS, DENIALS, prepare, topic_of
from tests.differential.compare_sasl import HASHES, token, upsertion
from tests.support.broker_process import BrokerProcess
from tests.support.certificates import Certificates, write_certificates
from tests.support.raw_client import RawClient
from tests.support.reference_kafka import ReferenceKafka, free_port

MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")


class SecuredClient(NamedTuple):
    """One client; all have all mechanisms.

    Attributes:
        needs: programs that this machine must have.
        renews: whether it logs in again before its session ends. Else the broker closes the
            connection, and the client connects anew, which costs it a transaction.
        steps: what it does where all is right.
        actions: what it does without a right that it needs.
    """

    needs: tuple[str, ...] = ()
    renews: bool = True
    steps: tuple[str, ...] = ("produce", "group", "transaction", "renewal")
    actions: frozenset[str] = frozenset(ACTIONS)


CLIENTS: Final[Mapping[str, SecuredClient]] = {
    "confluent": SecuredClient(),
    "aiokafka": SecuredClient(renews=False),
    "kafka_python": SecuredClient(),
    "java": SecuredClient(("java", "javac", "mvn")),
    "franz": SecuredClient(("go",), actions=frozenset(ACTIONS) - {"offsets"}),
    "sarama": SecuredClient(("go",)),
    "kafkajs": SecuredClient(("node", "npm")),
    "rskafka": SecuredClient(
        ("cargo",),
        renews=False,
        steps=("produce", "read", "renewal"),
        actions=frozenset({"produce", "read", "describe", "create"}),
    ),
}
SESSION_MS: Final = 2500
RENEWAL_MS: Final = 3500
"""How long a client goes on: longer than a session."""
SHORT: Final = "short-sessions"
"""The case of a client that does not renew them."""
_SASL: Final = ("SASL", "SASLTLS", "STEADY", "STEADYTLS", "FEW")
_PROTOCOLS: Final = {
    "SASL": "SASL_PLAINTEXT",
    "SASLTLS": "SASL_SSL",
    "STEADY": "SASL_PLAINTEXT",
    "STEADYTLS": "SASL_SSL",
    "TLS": "SSL",
    "MUTUAL": "SSL",
    "FEW": "SASL_PLAINTEXT",
}
_CERTIFIED: Final = "alice"
"""The common name in the client's certificate."""
_MODULES: Final = "org.apache.kafka.common.security."


class Secured(NamedTuple):
    """A running broker.

    Attributes:
        addresses: HOST:PORT of each listener.
        files: its CA, and a client's certificate.
        other_ca: a CA that did not sign anything here.
        log: the file that it writes its log to.
    """

    addresses: Mapping[str, str]
    files: Certificates
    other_ca: Path
    log: Path


@contextmanager
def broker_lite(folder: Path) -> Iterator[Secured]:
    """Run a broker of ours."""
    folder.mkdir()
    plain, found = free_port(), _prepared(folder)
    listeners = ",".join(f"{name}://{address}" for name, address in found.addresses.items())
    settings = _settings(found.files)
    settings["broker.lite.log.level"] = "debug"
    settings["listeners"] = f"PLAINTEXT://127.0.0.1:{plain},{listeners}"
    words = [f"{name}={text}" for name, text in settings.items()]
    with BrokerProcess(folder / "data", settings=words, port=plain, log_path=found.log):
        _populate(plain)
        yield found


@contextmanager
def kafka(folder: Path) -> Iterator[Secured]:
    """Run a real Kafka."""
    folder.mkdir()
    found = _prepared(folder)
    more = "".join(f",{name}://{address}" for name, address in found.addresses.items())
    broker = ReferenceKafka(
        folder,
        settings=_settings(found.files),
        more_listeners=more,
        is_short_lived=True,
    )
    with broker:
        _populate(broker.port)
        yield found


def _prepared(folder: Path) -> Secured:
    other_ca = folder / "other_ca.pem"
    trustme.CA().cert_pem.write_to_path(str(other_ca))
    addresses = {name: f"127.0.0.1:{free_port()}" for name in _PROTOCOLS}
    return Secured(addresses, write_certificates(folder), other_ca, folder / "server.out")


def _settings(files: Certificates) -> dict[str, str]:
    protocols = {"PLAINTEXT": "PLAINTEXT", "CONTROLLER": "PLAINTEXT", **_PROTOCOLS}
    settings = {
        "listener.security.protocol.map": ",".join(f"{k}:{v}" for k, v in protocols.items()),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(files.server),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(files.ca),
        "listener.name.mutual.ssl.client.auth": "required",
        "listener.name.sasl.connections.max.reauth.ms": str(SESSION_MS),
        "listener.name.sasltls.connections.max.reauth.ms": str(SESSION_MS),
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        "listener.name.few.sasl.enabled.mechanisms": "SCRAM-SHA-256",
        "group.initial.rebalance.delay.ms": "0",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": ";".join(f"User:{name}" for name in ("ANONYMOUS", _CERTIFIED, *CLIENTS)),
        "listener.name.mutual.ssl.principal.mapping.rules": "RULE:^CN=([^,]+),.*$/$1/",
    }
    users = "".join(f' user_{name}="{password_of(name)}"' for name in (*CLIENTS, *DENIALS))
    modules = {
        "plain": f"plain.PlainLoginModule required{users}",
        "scram-sha-256": "scram.ScramLoginModule required",
        "scram-sha-512": "scram.ScramLoginModule required",
        "oauthbearer": "oauthbearer.OAuthBearerLoginModule required "
        'unsecuredLoginStringClaim_sub="broker" unsecuredValidatorRequiredScope="kafka"',
    }
    for listener in _SASL:
        for mechanism, module in modules.items():
            key = f"listener.name.{listener.lower()}.{mechanism}.sasl.jaas.config"
            settings[key] = f"{_MODULES}{module};"
    return settings


def _populate(plain_port: int) -> None:
    with RawClient("127.0.0.1", plain_port) as client:
        for mechanism in HASHES:
            upsertions = [upsertion(name, mechanism, password_of(name)) for name in CLIENTS]
            answer = client.call(
                "AlterUserScramCredentials", 0, deletions=[], upsertions=upsertions
            )
            assert {each.error_code for each in answer.results} == {0}
        prepare(client, CLIENTS)


def password_of(name: str) -> str:
    """The password of a user."""
    return f"{name}-secret"


def working_cases(client: str, broker: Secured) -> Iterator[str]:
    """The lines of cases in which all is right, for each mechanism and protocol."""
    is_short = CLIENTS[client].renews
    for listener in ("SASL", "SASLTLS") if is_short else ("STEADY", "STEADYTLS"):
        for mechanism in MECHANISMS:
            name = f"{_PROTOCOLS[listener]}.{mechanism}"
            yield _line(client, broker, name, "works", listener, mechanism)
    if not is_short:
        for listener in ("SASL", "SASLTLS"):
            name = f"{_PROTOCOLS[listener]}.{SHORT}"
            yield _line(client, broker, name, "lasts", listener, "PLAIN")
    yield _line(client, broker, "SSL", "works", "TLS")
    yield _line(client, broker, "mTLS", "works", "MUTUAL", certificate=str(broker.files.client))


def refused_cases(client: str, broker: Secured) -> Iterator[str]:
    """The lines of cases in which something is wrong, or a right is missing."""
    for listener in ("SASL", "SASLTLS"):
        for mechanism in MECHANISMS:
            name = f"{_PROTOCOLS[listener]}.{mechanism}.wrong-password"
            yield _line(
                client, broker, name, "fails", listener, mechanism, password="wrong", scope="other"
            )
    other = str(broker.other_ca)
    yield _line(client, broker, "SASL_SSL.wrong-CA", "fails", "SASLTLS", "PLAIN", ca=other)
    yield _line(client, broker, "SSL.wrong-CA", "fails", "TLS", ca=other)
    yield _line(client, broker, "mTLS.no-certificate", "fails", "MUTUAL")
    yield _line(client, broker, "PLAIN.unsupported", "fails", "FEW", "PLAIN")
    for case, denial in DENIALS.items():
        if denial.action in CLIENTS[client].actions:
            yield _line(
                client,
                broker,
                case,
                "denied",
                "STEADY",
                "PLAIN",
                user=case,
                password=password_of(case),
                action=denial.action,
            )


def _line(
    client: str,
    broker: Secured,
    name: str,
    kind: str,
    listener: str,
    mechanism: str = "",
    **different: str,
) -> str:
    protocol = _PROTOCOLS[listener]
    words = {
        "bootstrap": broker.addresses[listener],
        "protocol": protocol,
        "topic": topic_of(client, name),
        "renewal_ms": str(RENEWAL_MS if listener in {"SASL", "SASLTLS"} else 0),
    }
    if protocol.endswith("SSL"):
        words["ca"] = str(broker.files.ca)
    if mechanism:
        words |= {"mechanism": mechanism, "user": client}
    if mechanism == "OAUTHBEARER":
        words["scope"] = different.get("scope", "kafka")
        words["token"] = token(int(time.time()), sub=client, scope=words["scope"])
    elif mechanism:
        words["password"] = different.get("password", password_of(client))
    words |= different
    return " ".join((name, kind, *(f"{key}={text}" for key, text in words.items())))
