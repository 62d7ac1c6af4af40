"""What a broker answers about delegation tokens, from their creation to their end.

Ids are replaced by names, and times by minutes, so that two brokers can be compared.
"""

import base64
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final

from broker_lite.wire import messages
from tests.differential.compare_sasl import PREFIX, SASL_SETTINGS, Talk, scram_final
from tests.support.raw_client import RawClient

TOKEN_SETTINGS: Final = {
    **SASL_SETTINGS,
    "delegation.token.secret.key": "top-secret",
    "delegation.token.max.lifetime.ms": "7200000",
    "delegation.token.expiry.time.ms": "3600000",
    PREFIX + "plain.connections.max.reauth.ms": "0",
    PREFIX + "scram-sha-256.connections.max.reauth.ms": "0",
    PREFIX + "scram-sha-512.connections.max.reauth.ms": "0",
}
_RENEWER: Final = messages.CreateDelegationTokenRequest.CreatableRenewers
_OWNER: Final = messages.DescribeDelegationTokenRequest.DescribeDelegationTokenOwner


class Scenario:
    """The answers of one broker."""

    def __init__(self, plain_port: int, sasl_port: int) -> None:
        self._plain = plain_port
        self._sasl = sasl_port
        self._names: dict[str, str] = {}
        self.passwords: dict[str, bytes] = {}

    def run(self) -> Iterator[Any]:
        """What is answered, in order."""
        yield from self._without_authentication()
        with closing(self._log_in("alice")) as alice, closing(self._log_in("bob")) as bob:
            yield from self._creation(alice)
            self._settle(alice)
            yield from self._description(alice, bob)
            yield from self._renewal(alice, bob)
            yield from self._by_token(alice)
            yield from self._expiry(alice, bob)

    def _settle(self, talk: Talk, name: str = "", minutes: int | str | None = None) -> None:
        """Wait until all tokens are known, which a Kafka's brokers learn from its controller.

        Or until one of them ends in so many minutes; or until it is gone.
        """
        ends_s = time.monotonic() + 30
        while time.monotonic() < ends_s:
            told = talk.request("DescribeDelegationToken", 3, owners=None).tokens
            ends = {self._names[one.token_id]: _minutes(one.expiry_timestamp) for one in told}
            if ends.get(name) == minutes if name else len(ends) == len(self._names):
                return
            time.sleep(0.1)

    def _log_in(self, user: str) -> Talk:
        talk = Talk(self._sasl)
        assert talk.request("SaslHandshake", 1, mechanism="PLAIN").error_code == 0
        token = f"\0{user}\0{user}-secret".encode()
        assert talk.request("SaslAuthenticate", 2, auth_bytes=token).error_code == 0
        return talk

    def _without_authentication(self) -> Iterator[Any]:
        with RawClient("127.0.0.1", self._plain) as client:
            for version in (1, 2, 3):
                made = client.call("CreateDelegationToken", version, renewers=[], max_lifetime_ms=1)
                yield _told_creation(made)
                told = client.call("DescribeDelegationToken", version, owners=None)
                yield told.error_code, len(told.tokens)
            for version in (1, 2):
                for name, field in (
                    ("Renew", "renew_period_ms"),
                    ("Expire", "expiry_time_period_ms"),
                ):
                    asked = {"hmac": b"x", field: 5}
                    told = client.call(f"{name}DelegationToken", version, **asked)
                    yield told.error_code, told.expiry_timestamp_ms

    def _create(self, talk: Talk, name: str, version: int = 3, **fields: Any) -> Any:
        asked = {"renewers": [], "max_lifetime_ms": -1, **fields}
        made = talk.request("CreateDelegationToken", version, **asked)
        if not made.error_code:
            self._names[made.token_id] = name
            self.passwords[name] = bytes(made.hmac)
        return _told_creation(made), len(made.hmac), len(made.token_id)

    def _creation(self, talk: Talk) -> Iterator[Any]:
        bob = _RENEWER(principal_type="User", principal_name="bob")
        for version in (1, 2, 3):
            yield self._create(talk, f"v{version}", version)
        yield self._create(talk, "bobs", renewers=[bob, bob])
        for life_ms in (0, 600_000, 4_000_000, 1 << 50, -7):
            yield self._create(talk, f"life {life_ms}", max_lifetime_ms=life_ms)
        group = _RENEWER(principal_type="Group", principal_name="x")
        yield self._create(talk, "", renewers=[bob, group])
        yield self._create(talk, "", renewers=[_RENEWER(principal_type="", principal_name="x")])
        for kind, name in (
            ("User", "carol"),
            ("User", ""),
            ("Group", "g"),
            ("User", " "),
            ("", "c"),
        ):
            owner = {"owner_principal_type": kind, "owner_principal_name": name}
            yield owner, self._create(talk, f"of {kind} {name}", **owner)
        owner = {"owner_principal_type": None, "owner_principal_name": None}
        yield self._create(talk, "null", **owner)

    def _description(self, alice: Talk, bob: Talk) -> Iterator[Any]:
        def owner(name: str, kind: str = "User") -> Any:
            return _OWNER(principal_type=kind, principal_name=name)

        for talk in (alice, bob):
            for owners in (
                None, [], [owner("alice")], [owner("bob")], [owner("carol")],
                [owner("nobody"), owner("bob")], [owner("alice", "Group")],
            ):  # fmt: skip
                for version in (1, 3):
                    told = talk.request("DescribeDelegationToken", version, owners=owners)
                    yield told.error_code, sorted(map(self._described, told.tokens), key=str)

    def _described(self, token: Any) -> Any:
        name = self._names[token.token_id]
        assert bytes(token.hmac) == self.passwords[name]
        return (
            name,
            (token.principal_type, token.principal_name),
            (token.token_requester_principal_type, token.token_requester_principal_name),
            _minutes(token.expiry_timestamp),
            _minutes(token.max_timestamp),
            [(one.principal_type, one.principal_name) for one in token.renewers],
        )

    def _renew(self, talk: Talk, password: bytes, period_ms: int, version: int = 2) -> Any:
        asked = {"hmac": password, "renew_period_ms": period_ms}
        told = talk.request("RenewDelegationToken", version, **asked)
        return told.error_code, _minutes(told.expiry_timestamp_ms)

    def _expire(self, talk: Talk, password: bytes, period_ms: int, version: int = 2) -> Any:
        asked = {"hmac": password, "expiry_time_period_ms": period_ms}
        told = talk.request("ExpireDelegationToken", version, **asked)
        return told.error_code, _minutes(told.expiry_timestamp_ms)

    def _renewal(self, alice: Talk, bob: Talk) -> Iterator[Any]:
        for version in (1, 2):
            for period_ms in (-1, 0, 600_000, 1 << 50, 3_000_000):
                yield self._renew(alice, self.passwords["bobs"], period_ms, version)
        yield self._renew(bob, self.passwords["bobs"], 1_200_000)
        yield self._renew(bob, self.passwords["v3"], 1_200_000)
        yield self._renew(alice, self.passwords["life 600000"], 4_000_000)
        yield self._renew(alice, self.passwords["of User carol"], 60_000)
        yield self._renew(alice, b"unknown", 60_000)
        yield self._renew(alice, b"", 60_000)

    def _expiry(self, alice: Talk, bob: Talk) -> Iterator[Any]:
        yield self._expire(bob, self.passwords["v3"], 600_000)
        yield self._expire(bob, self.passwords["v3"], -1)
        yield self._expire(alice, self.passwords["of User carol"], -1)
        yield self._expire(bob, self.passwords["bobs"], 600_000)
        self._settle(alice, "bobs", 10)
        for version in (1, 2):
            yield self._expire(alice, self.passwords["v3"], 600_000, version)
        self._settle(alice, "v3", 10)
        yield self._expire(alice, self.passwords["v3"], 1 << 50)
        self._settle(alice, "v3", 120)
        yield self._expire(alice, self.passwords["v3"], 0)
        self._settle(alice, "v3", 0)
        time.sleep(0.01)  # it ends in the next millisecond
        yield self._expire(alice, self.passwords["v3"], 600_000)
        yield self._renew(alice, self.passwords["v3"], 600_000)
        yield self._renew(bob, self.passwords["v3"], 600_000)
        yield self._expire(bob, self.passwords["v3"], 600_000)
        told, talk = self._token_log_in("v3", "SCRAM-SHA-256")
        with closing(talk):
            yield told, talk.request("ApiVersions", 0)
        yield self._expire(alice, self.passwords["v3"], -1)
        self._settle(alice, "v3")
        yield self._expire(alice, self.passwords["v3"], -1)
        yield self._renew(alice, self.passwords["v3"], 600_000)
        yield self._expire(alice, b"unknown", 600_000)
        yield self._told_at_log_in("v3", "SCRAM-SHA-512")
        told = alice.request("DescribeDelegationToken", 3, owners=None)
        yield told.error_code, sorted(map(self._described, told.tokens), key=str)

    def _by_token(self, alice: Talk) -> Iterator[Any]:
        for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
            for name in ("v1", "of User carol", "of Group g"):
                told, talk = self._token_log_in(name, mechanism)
                yield name, told
                made = self._create(talk, "by a token")
                yield made
                yield self._renew(talk, self.passwords["v1"], 600_000)
                yield self._expire(talk, self.passwords["v1"], 600_000)
                answer = talk.request("DescribeDelegationToken", 3, owners=None)
                yield answer.error_code, len(answer.tokens)
                talk.close()
        yield self._told_at_log_in("v1", "SCRAM-SHA-256", password="wrong")
        for tail in ("tokenauth=TRUE", "TOKENAUTH=true", "tokenauth=false", "other=true"):
            yield tail, self._told_at_log_in("v1", "SCRAM-SHA-256", tail=tail)
        for head in ("n,a=alice,", "n,a={id},"):
            yield head, self._told_at_log_in("v1", "SCRAM-SHA-256", head=head)

    def _told_at_log_in(self, name: str, mechanism: str, **options: Any) -> Any:
        told, talk = self._token_log_in(name, mechanism, **options)
        talk.close()
        return told

    def _token_log_in(
        self,
        name: str,
        mechanism: str,
        *,
        password: str | None = None,
        tail: str = "tokenauth=true",
        head: str = "n,,",
    ) -> tuple[Any, Talk]:
        token_id = next(token_id for token_id, each in self._names.items() if each == name)
        if password is None:
            password = base64.b64encode(self.passwords[name]).decode()
        talk = Talk(self._sasl)
        assert talk.request("SaslHandshake", 1, mechanism=mechanism).error_code == 0
        first = f"n={token_id},r=abc,{tail}"
        message = head.format(id=token_id) + first
        answer = talk.request("SaslAuthenticate", 2, auth_bytes=message.encode())
        if answer.error_code:
            return (answer.error_code, answer.error_message), talk
        channel = base64.b64encode(head.format(id=token_id).encode()).decode()
        server_first = bytes(answer.auth_bytes).decode()
        final = scram_final(first, server_first, mechanism, password)
        if head == "n,,":
            answer = talk.request("SaslAuthenticate", 2, auth_bytes=final.encode())
            lifetime = answer.session_lifetime_ms
            return (answer.error_code, answer.error_message, round(lifetime / 60_000)), talk
        return ("goes on", channel == "biws"), talk


def _told_creation(made: Any) -> Any:
    return (
        made.error_code,
        (made.principal_type, made.principal_name),
        (made.token_requester_principal_type, made.token_requester_principal_name),
        *map(_minutes, (made.issue_timestamp_ms, made.expiry_timestamp_ms, made.max_timestamp_ms)),
    )


def _minutes(moment_ms: int) -> int | str:
    """A time as minutes from now, in steps of two; what is no time as it is."""
    if moment_ms < 1_000_000:
        return f"{moment_ms} ms"
    return 2 * round((moment_ms - time.time() * 1000) / 120_000)
