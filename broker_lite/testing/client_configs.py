"""The settings of Python's clients, which take objects, and the table of all clients.

The others' are in security.one_word.client_settings.
"""

import base64
import json
import os
import ssl
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Final, TypeAlias

from broker_lite.security.one_word.client_settings import Access, of_java, of_kafkajs, of_librdkafka

_TOKEN_S: Final = 3600
_OAUTHBEARER: Final = "OAUTHBEARER"

Config: TypeAlias = dict[str, str] | dict[str, object]


def of_kafka_python(access: Access) -> dict[str, object]:
    """Return the arguments of kafka-python's classes."""
    return _of_python(access, "kafka.net.sasl.oauth")


def of_aiokafka(access: Access) -> dict[str, object]:
    """Return the arguments of aiokafka's classes."""
    return _of_python(access, "aiokafka.abc")


def unsecured_token(user: str, now_s: float) -> str:
    """Return a token that nobody has signed, as Kafka accepts it without a validator."""
    issued_s = int(now_s)
    claims = {"sub": user, "iat": issued_s, "exp": issued_s + _TOKEN_S}
    return f"{_part({'alg': 'none'})}.{_part(claims)}."


def _of_python(access: Access, tokens_module: str) -> dict[str, object]:
    found: dict[str, object] = {"bootstrap_servers": access.bootstrap}
    if access.protocol != "PLAINTEXT":
        found["security_protocol"] = access.protocol
    if access.ca:
        found["ssl_context"] = _context(access)
    if access.mechanism == _OAUTHBEARER:
        found["sasl_mechanism"] = _OAUTHBEARER
        found["sasl_oauth_token_provider"] = _token_provider(tokens_module, access.user)
    elif access.mechanism:
        found["sasl_mechanism"] = access.mechanism
        found["sasl_plain_username"] = access.user
        found["sasl_plain_password"] = access.password
    return found


def _context(access: Access) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=access.ca)
    if access.client_certificate:
        # Python reads a key from a file only; this one is in memory.
        with os.fdopen(os.memfd_create("key"), "wb") as file:
            file.write(f"{access.client_key}{access.client_certificate}".encode())
            file.flush()
            context.load_cert_chain(f"/proc/self/fd/{file.fileno()}")
    return context


def _token_provider(module: str, user: str) -> object:
    """Return an object of the class that a client wants tokens from."""
    base = import_module(module).AbstractTokenProvider

    def token(_self: object) -> str:
        return unsecured_token(user, time.time())

    async def async_token(_self: object) -> str:
        return unsecured_token(user, time.time())

    is_async = module.startswith("aiokafka")
    made: object = type("Tokens", (base,), {"token": async_token if is_async else token})()
    return made


def _part(value: Mapping[str, object]) -> str:
    data = json.dumps(value, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


MAKERS: Final[Mapping[str, Callable[[Access], Config]]] = {
    "confluent": of_librdkafka,
    "librdkafka": of_librdkafka,
    "java": of_java,
    "aiokafka": of_aiokafka,
    "kafka-python": of_kafka_python,
    "kafkajs": of_kafkajs,
}
"""What makes the settings of each client."""
