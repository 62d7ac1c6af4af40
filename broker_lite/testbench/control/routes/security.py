"""What clients need to reach a broker that is secured by one word: settings, keys, certificates.

The settings of a broker without security are its address.
"""

import base64
from typing import Final, Literal

import msgspec

from broker_lite.security.one_word.client_settings import (
    Access,
    of_java,
    of_librdkafka,
    properties_text,
)
from broker_lite.settings.sources.one_word import ADMIN, MECHANISMS, plain_listener, users_of
from broker_lite.testbench.control.access import (
    MECHANISM,
    access_of,
    bootstrap,
    kept_of,
    main_listener,
    user_of,
)
from broker_lite.testbench.control.resource import Call, Raw, Resource

_TEXT: Final = "text/plain; charset=utf-8"
_PEM: Final = "application/x-pem-file"
_OCTETS: Final = "application/octet-stream"

Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"]


class Who(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """As whom a client comes, and how it logs in.

    Attributes:
        user: one of the broker's users. The password of one that was given at the start is not
            told: PASSWORD stands in its place.
        mechanism: of SASL, where the broker has it.
    """

    user: str = "user"
    mechanism: Mechanism = MECHANISM


class Whose(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Whose key and certificate it is.

    Attributes:
        user: one of the broker's users.
    """

    user: str = "user"


class UserView(msgspec.Struct, kw_only=True):
    """A user.

    Attributes:
        name: of the user.
        password: of a user that everybody has; null for another one.
        is_super: whether the user may do anything.
    """

    name: str
    password: str | None
    is_super: bool


class SecurityView(msgspec.Struct, kw_only=True):
    """How clients reach the broker.

    Attributes:
        security: ssl, mtls, sasl_plaintext or sasl_ssl; empty without.
        protocol: that clients speak, such as SASL_SSL.
        bootstrap: HOST:PORT of each broker, separated by commas.
        plaintext: the same of the listener for health checks; empty if there is none.
        mechanisms: by which clients log in; empty if they do not.
        users: of the broker.
    """

    security: str
    protocol: str
    bootstrap: str
    plaintext: str
    mechanisms: list[str]
    users: list[UserView]


async def get_security(call: Call) -> SecurityView:
    """Tell how clients reach the broker, and as whom."""
    life, settings = call.bench.life, call.bench.life.cluster.settings
    main, plain = main_listener(settings), plain_listener(settings)
    users = users_of(settings).values() if settings.broker_lite_security else ()
    return SecurityView(
        security=settings.broker_lite_security,
        protocol=main.security_protocol,
        bootstrap=bootstrap(life, main, call.caller.host),
        plaintext="" if plain is None else bootstrap(life, plain, call.caller.host),
        mechanisms=[*MECHANISMS] if main.security_protocol.startswith("SASL") else [],
        users=[
            UserView(
                name=one.name,
                password=one.password if one.is_public else None,
                is_super=one.name == ADMIN.name,
            )
            for one in users
        ],
    )


async def client_properties(call: Call) -> Raw:
    """Give the properties of a Java client, as for Kafka's own tools."""
    return Raw(_TEXT, properties_text(of_java(_access(call))).encode())


async def librdkafka_settings(call: Call) -> dict[str, str]:
    """Give the settings of librdkafka and of clients made of it, such as confluent-kafka."""
    return of_librdkafka(_access(call))


async def ca_certificate(call: Call) -> Raw:
    """Give the certificate of the CA, as PEM."""
    return Raw(_PEM, kept_of(call.bench.life).ca.encode())


async def trust_store(call: Call) -> Raw:
    """Give the certificate of the CA, as PKCS12; the password is changeit."""
    return Raw(_OCTETS, base64.b64decode(kept_of(call.bench.life).truststore))


async def client_certificate(call: Call) -> Raw:
    """Give the private key and the certificate of a user, as PEM."""
    return Raw(_PEM, _store(call)["pem"].encode())


async def client_key_store(call: Call) -> Raw:
    """Give the private key and the certificate of a user, as PKCS12; the password is changeit."""
    return Raw(_OCTETS, base64.b64decode(_store(call)["p12"]))


def _access(call: Call) -> Access:
    who = call.query
    assert isinstance(who, Who)
    return access_of(call.bench.life, call.caller.host, who.user, who.mechanism)


def _store(call: Call) -> "dict[str, str]":
    whose = call.query
    assert isinstance(whose, Whose)
    kept = kept_of(call.bench.life)
    return dict(kept.clients[user_of(call.bench.life, whose.user).name])


RESOURCES = (
    Resource("GET", "/v1/security", get_security, answer=SecurityView),
    Resource("GET", "/v1/security/client.properties", client_properties, answer=Raw, query=Who),
    Resource(
        "GET", "/v1/security/librdkafka.json", librdkafka_settings, answer=dict[str, str], query=Who
    ),
    Resource("GET", "/v1/security/ca.pem", ca_certificate, answer=Raw),
    Resource("GET", "/v1/security/truststore.p12", trust_store, answer=Raw),
    Resource("GET", "/v1/security/client.pem", client_certificate, answer=Raw, query=Whose),
    Resource("GET", "/v1/security/client.p12", client_key_store, answer=Raw, query=Whose),
)
