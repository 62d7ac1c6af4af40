"""The same exchanges of SASL with two brokers: what each answers, and when it closes.

A step is a tuple of what to send: ("versions", version), ("handshake", version, mechanism),
("wait", seconds), ("token", version, bytes), ("raw", bytes), ("frame", bytes), ("metadata",),
("scram", version, mechanism, user, password).
"""

import base64
import hashlib
import hmac
import json
import random
import socket
import ssl
import struct
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

from broker_lite.wire import messages
from tests.support.reference_kafka import free_port

Step = tuple[Any, ...]

PREFIX: Final = "listener.name.sasl."
PROTOCOLS: Final = "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT"
_SECURITY: Final = "org.apache.kafka.common.security."
SASL_SETTINGS: Final = {
    PREFIX + "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
    PREFIX + "plain.sasl.jaas.config": f"{_SECURITY}plain.PlainLoginModule required "
    'user_alice="alice-secret" user_bob="bob-secret";',
    PREFIX + "scram-sha-256.sasl.jaas.config": f"{_SECURITY}scram.ScramLoginModule required;",
    PREFIX + "scram-sha-512.sasl.jaas.config": f"{_SECURITY}scram.ScramLoginModule required;",
    PREFIX
    + "oauthbearer.sasl.jaas.config": f"{_SECURITY}oauthbearer.OAuthBearerLoginModule required "
    'unsecuredLoginStringClaim_sub="broker" unsecuredValidatorRequiredScope="kafka";',
    "connections.max.reauth.ms": "600000",
}
HASHES: Final = {"SCRAM-SHA-256": (1, "sha256"), "SCRAM-SHA-512": (2, "sha512")}
CLOSED: Final = "closed"
_ANSWER_S: Final = 5.0


def ports_and_settings(plain_port: int | None = None) -> tuple[int, int, dict[str, str]]:
    """Ports of a plain and a SASL listener, and the settings that have them."""
    plain, sasl = plain_port or free_port(), free_port()
    addresses = f"PLAINTEXT://127.0.0.1:{plain},SASL://127.0.0.1:{sasl}"
    return (
        plain,
        sasl,
        {
            "listeners": addresses,
            "advertised.listeners": addresses,
            "listener.security.protocol.map": PROTOCOLS,
            **SASL_SETTINGS,
        },
    )


def upsertion(user: str, mechanism: str, password: str, iterations: int = 4096) -> Any:
    """A SCRAM credential, as AlterUserScramCredentials has it."""
    number, name = HASHES[mechanism]
    salt = b"salt of " + user.encode()
    return messages.AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
        name=user,
        mechanism=number,
        iterations=iterations,
        salt=salt,
        salted_password=hashlib.pbkdf2_hmac(name, password.encode(), salt, iterations),
    )


class Talk:
    """One connection to a SASL listener; with a context, TLS comes first."""

    def __init__(self, port: int, tls: ssl.SSLContext | None = None) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), _ANSWER_S)
        if tls is not None:
            self._socket = tls.wrap_socket(self._socket, server_hostname="localhost")
        self._correlation_id = 0
        self.told = ""

    def close(self) -> None:
        """Close it."""
        self._socket.close()

    def frame(self, data: bytes) -> bytes | None:
        """Send a frame and return the one that comes back; None for a close."""
        try:
            self._socket.sendall(struct.pack(">i", len(data)) + data)
            return self.receive()
        except ConnectionError:
            return None

    def announce(self, size: int) -> bytes | None:
        """Announce a frame, send nothing of it, and return what comes back."""
        self._socket.sendall(struct.pack(">i", size))
        return self.receive()

    def receive(self) -> bytes | None:
        """Return the next frame; None for a close."""
        head = self._read(4)
        return None if head is None else self._read(struct.unpack(">i", head)[0])

    def request(self, name: str, version: int, **fields: Any) -> Any:
        """Send a request and return its answer; None for a close."""
        kind = getattr(messages, f"{name}Request")
        answer = self.ask(kind, version, kind.encode(kind(**fields), version))
        if answer is None:
            return None
        start = 5 if _is_flexible(kind, version) and kind.api_key != 18 else 4
        return getattr(messages, f"{name}Response").decode(answer, version, start)[0]

    def ask(self, kind: Any, version: int, body: bytes) -> bytes | None:
        """Send a request and return the frame that comes back; None for a close."""
        self._correlation_id += 1
        head = struct.pack(">hhih", kind.api_key, version, self._correlation_id, -1)
        return self.frame(head + b"\0" * _is_flexible(kind, version) + body)

    def _read(self, count: int) -> bytes | None:
        data = b""
        while len(data) < count:
            try:
                chunk = self._socket.recv(count - len(data))
            except ConnectionError:
                return None
            if not chunk:
                return None
            data += chunk
        return data


def _is_flexible(kind: Any, version: int) -> bool:
    return kind.flexible_from is not None and version >= kind.flexible_from


def scram_final(
    talk_first: str, server_first: str, mechanism: str, password: str, tail: str = ""
) -> str:
    """The final message of a client, for a first one without its header `n,,`."""
    name = HASHES[mechanism][1]
    fields = dict(field.split("=", 1) for field in server_first.split(","))
    salted = hashlib.pbkdf2_hmac(
        name, password.encode(), base64.b64decode(fields["s"]), int(fields["i"])
    )
    client_key = hmac.digest(salted, b"Client Key", name)
    without_proof = f"c=biws,r={fields['r']}"
    signed = f"{talk_first},{server_first},{without_proof}".encode()
    signature = hmac.digest(hashlib.new(name, client_key).digest(), signed, name)
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    return f"{without_proof},p={base64.b64encode(proof).decode()}{tail}"


def outcome(port: int, steps: Sequence[Step], tls: ssl.SSLContext | None = None) -> list[Any]:
    """What a broker answers to each step, up to its close."""
    talk = Talk(port, tls)
    found: list[Any] = []
    try:
        for step in steps:
            told = take(talk, step)
            found.append(told)
            if told == CLOSED:
                return found
        if _has_failed(found[-1]):
            found.append(CLOSED if talk.receive() is None else "more")
        return found
    except TimeoutError:
        return [*found, "silent"]
    finally:
        talk.close()


def _has_failed(told: Any) -> bool:
    return isinstance(told, tuple) and told[0] in (33, 34, 58)


def take(talk: Talk, step: Step) -> Any:
    """What a broker answers to one step."""
    what, *rest = step
    if what == "wait":
        time.sleep(rest[0])
        return what
    if what == "versions":
        if rest[0] > 5:  # no version that the codec has
            head = struct.pack(">hhihx", 18, rest[0], 7, -1)
            data = talk.frame(head)
            return CLOSED if data is None else ("versions", *struct.unpack_from(">h", data, 4))
        software = {"client_software_name": "t", "client_software_version": "1"}
        answer = talk.request("ApiVersions", rest[0], **(software if rest[0] >= 3 else {}))
        return CLOSED if answer is None else ("versions", answer.error_code)
    if what == "handshake":
        answer = talk.request("SaslHandshake", rest[0], mechanism=rest[1])
        return CLOSED if answer is None else (answer.error_code, sorted(answer.mechanisms))
    if what == "token":
        return _token(talk, rest[0], rest[1])
    if what == "token?":
        told = _token(talk, *rest)
        talk.told = told[2].decode()
        return told[0]
    if what == "nonce":
        nonce = talk.told.partition(",")[0]
        return _token(talk, rest[0], f"c=biws,{nonce}{rest[1]}".encode())
    if what == "scram":
        return _scram(talk, *rest)
    if what == "metadata":
        return _metadata(talk)
    answer = talk.announce(rest[0]) if what == "announce" else talk.frame(rest[0])
    return CLOSED if answer is None else answer


def _metadata(talk: Talk) -> Any:
    topic = messages.MetadataRequest.MetadataRequestTopic(name="none")
    answer = talk.request("Metadata", 4, topics=[topic], allow_auto_topic_creation=False)
    if answer is None:
        return CLOSED
    told = (answer.topics[0].error_code,)
    return told if _has_failed(told) else "metadata"


def _token(talk: Talk, version: int, token: bytes) -> Any:
    answer = talk.request("SaslAuthenticate", version, auth_bytes=token)
    if answer is None:
        return CLOSED
    lifetime = answer.session_lifetime_ms
    told = "to the end of a token" if 0 < lifetime < 590_000 else lifetime
    return answer.error_code, answer.error_message, bytes(answer.auth_bytes), told


def _scram(talk: Talk, version: int, mechanism: str, user: str, password: str) -> Any:
    first = f"n={user},r=clientnonce"
    told = _token(talk, version, f"n,,{first}".encode())
    if told == CLOSED or told[0]:
        return told
    server_first = told[2].decode()
    final = scram_final(first, server_first, mechanism, password)
    code, message, token, lifetime = _token(talk, version, final.encode())
    fields = dict(field.split("=", 1) for field in server_first.split(","))
    assert fields["r"].startswith("clientnonce")
    return code, message, token[:2], lifetime, fields["s"], fields["i"]


def _b64(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def token(now: int, header: Any = None, tail: str = "", **claims: Any) -> str:
    """An unsecured token."""
    body = {"sub": "alice", "exp": now + 300, "iat": now - 5, "scope": "kafka", **claims}
    return f"{_b64(header or {'alg': 'none'})}.{_b64(body)}.{tail}"


def bearer(text: str, wanted: str = "", scheme: str = "Bearer") -> bytes:
    """The first message of a client of OAUTHBEARER."""
    return f"n,{wanted},\x01auth={scheme} {text}\x01\x01".encode()


PLAIN_TOKENS: Final = (
    b"\0alice\0alice-secret",
    b"alice\0alice\0alice-secret",
    b"bob\0alice\0alice-secret",
    b"bob\0alice\0wrong",
    b"\0alice\0wrong",
    b"\0nobody\0secret",
    b"\0\0secret",
    b"\0alice\0",
    b"",
    b"alice",
    b"\0alice",
    b"\0alice\0alice-secret\0",
    b"\0a\0b\0c\0d",
    b"\0\xff\xfe\0x",
)
SCRAM_FIRSTS: Final = (
    b"",
    b"n,,",
    b"y,,n=carol,r=abc",
    b"n,,n=carol,r=",
    b"n,,n=ca=rol,r=abc",
    b"n,,n=nobody,r=abc",
    b"n,a=carol,n=carol,r=abc",
    b"n,a=alice,n=carol,r=abc",
    b"n,,n=carol,r=abc,tokenauth=true",
    b"p=tls-unique,,n=carol,r=abc",
    b"\xff\xff",
)
SCRAM_FINALS: Final = (
    b"",
    b"c=biws",
    b"c=biws,r=abc,p=AAAA",
    b"c=biws,r=clientnonce,p=",
)


def token_cases(now: int) -> list[bytes]:
    """Messages of clients of OAUTHBEARER."""
    good = token(now)
    tokens = [
        good,
        token(now, exp=now - 10),
        token(now, exp="never"),
        token(now, exp=None),
        token(now, sub=""),
        token(now, sub=7),
        token(now, iat=now + 1000),
        token(now, iat=None),
        token(now, iat="x"),
        token(now, scope="other"),
        token(now, scope=["kafka", "x"]),
        token(now, scope=None),
        token(now, header={"alg": "HS256"}),
        token(now, tail="c2ln"),
        "abc",
        "a.b.",
    ]
    return [
        *(bearer(text) for text in tokens),
        bearer(good, "a=alice"),
        bearer(good, "a=bob"),
        bearer(good, scheme="BEARER"),
        bearer(good, scheme="Basic"),
        b"n,,\x01\x01",
        b"",
        b"\x01",
        b"n,,\x01auth=Bearer " + good.encode() + b"\x01trace=abc\x01\x01",
    ]


def cases(now: int, seed: int, count: int) -> Iterator[list[Step]]:
    """All exchanges, and `count` random ones."""
    for message in PLAIN_TOKENS:
        for version in (0, 1, 2):
            yield [("versions", 3), ("handshake", 1, "PLAIN"), ("token", version, message)]
        yield [("handshake", 0, "PLAIN"), ("raw", message)]
    for mechanism in HASHES:
        for message in SCRAM_FIRSTS:
            first = ("token", 2, message)
            if message == b"n,a=carol,n=carol,r=abc":
                continue  # its answer has a nonce
            yield [("handshake", 1, mechanism), first]
        hello: Step = ("token?", 2, b"n,,n=carol,r=clientnonce")
        for message in SCRAM_FINALS:
            yield [("handshake", 1, mechanism), hello, ("token", 2, message)]
        yield [("handshake", 1, mechanism), hello, ("nonce", 2, ",p=AAAA")]
        yield [("handshake", 1, mechanism), hello, ("nonce", 2, f",p={'A' * 44}")]
        yield [("handshake", 1, mechanism), hello, ("nonce", 2, f",p={'A' * 43}=")]
        for user, password in (("carol", "carol-secret"), ("carol", "wrong"), ("dave", "x")):
            yield [("handshake", 1, mechanism), ("scram", 2, mechanism, user, password)]
            yield [("handshake", 1, mechanism), ("scram", 0, mechanism, user, password)]
    for message in token_cases(now):
        yield [("handshake", 1, "OAUTHBEARER"), ("token", 2, message)]
        yield [("handshake", 1, "OAUTHBEARER"), ("token", 2, message), ("token", 2, b"\x01")]
    good: Step = ("token", 2, PLAIN_TOKENS[0])
    hello: Step = ("handshake", 1, "PLAIN")
    yield from (
        [("versions", 3), ("versions", 3)],
        [("versions", 99), ("versions", 0), hello, good, ("metadata",)],
        [hello, good, hello],
        [hello, good, hello, good, hello],
        [hello, good, good, ("metadata",)],
        [hello, good, hello, ("token", 2, b"\0bob\0bob-secret")],
        [hello, good, hello, ("token", 2, b"\0alice\0wrong")],
        [hello, good, ("handshake", 1, "OAUTHBEARER"), good],
        [hello, good, ("handshake", 1, "NONE")],
        [hello, good, hello, hello],
        [hello, good, hello, ("versions", 0)],
        [hello, hello],
        [hello, ("versions", 3)],
        [("handshake", 1, "GSSAPI")],
        [("handshake", 0, "")],
        [("handshake", 0, "PLAIN"), ("raw", PLAIN_TOKENS[0]), ("metadata",)],
        [("metadata",)],
        [good],
        [("announce", 524_289)],
        [("announce", -1)],
        [hello, ("announce", 600_000)],
        [("frame", b"")],
        [("frame", b"\0" * 9)],
        [("frame", b"\xff" * 40)],
    )
    yield from _random_cases(now, seed, count, good, hello)


def _random_cases(now: int, seed: int, count: int, good: Step, hello: Step) -> Iterator[list[Step]]:
    """Steps in any order."""
    dice = random.Random(seed)
    steps: list[Step] = [
        ("versions", 3), ("versions", 0), ("versions", 77), hello, good, ("metadata",),
        ("handshake", 1, "SCRAM-SHA-256"), ("handshake", 0, "PLAIN"),
        ("handshake", 1, "OAUTHBEARER"), ("token", 1, bearer(token(now))), ("token", 0, b"x"),
    ]  # fmt: skip
    for _ in range(count):
        chosen = dice.choices(steps, k=dice.randint(2, 5))
        raw = [i for i, step in enumerate(chosen) if step[:2] == ("handshake", 0)]
        yield chosen[: raw[0] + 1] if raw else chosen
