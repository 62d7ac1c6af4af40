"""How our own client logs in to a listener, by properties that Kafka's tools read, too."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from broker_lite.client import Client
from broker_lite.errors import ClientError
from tests.support.secured_broker import MECHANISMS, sasl

_SCOPE: Final = ' unsecuredLoginListClaim_scope=",kafka";'


def over_tls(properties: Mapping[str, str], authority: Path) -> dict[str, str]:
    """The same properties for a listener of SASL_SSL."""
    trust = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(authority)}
    return {**properties, **trust, "security.protocol": "SASL_SSL"}


def logins() -> list[dict[str, str]]:
    """Properties of clients that get in, and of some that do not."""
    right = [sasl(mechanism) for mechanism in MECHANISMS]
    bearer = right[-1]["sasl.jaas.config"].removesuffix(";")
    right[-1] = {**right[-1], "sasl.jaas.config": bearer + _SCOPE}
    return [*right, *(sasl(mechanism, "wrong") for mechanism in MECHANISMS)]


def login(port: int, properties: Mapping[str, str]) -> str:
    """What a client is told, without the address; `in` if it gets in."""
    address = f"127.0.0.1:{port}"
    try:
        with Client(address, properties=properties) as client:
            return "in" if client.nodes() else "there is no broker"
    except ClientError as error:
        return f"{type(error).__name__}: {str(error).removeprefix(address)}"
