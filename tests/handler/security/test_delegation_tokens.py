"""Delegation tokens through their handlers; every answer of Kafka is in tests/differential.

Also tests: broker_lite.control.users.delegation_tokens, broker_lite.errors.token_exceptions.
Also tests: broker_lite.handler.security.describe_tokens.
"""

from pathlib import Path
from typing import Any

import pytest

from broker_lite.handler.context import ListenerInfo
from broker_lite.security.acls.acl import (
    Acl,
    Operation,
    PatternType,
    Permission,
    ResourceType,
)
from broker_lite.security.acls.authorizer import Authorizer
from broker_lite.security.acls.index import AclIndex
from broker_lite.security.principal import ANONYMOUS, Principal, TokenPrincipal
from broker_lite.wire import messages
from tests.support.handler_broker import HandlerBroker, handler_broker

SASL = ListenerInfo("SASL", "SASL_PLAINTEXT")
SETTINGS = {"delegation.token.secret.key": "top-secret"}
ALICE, BOB = Principal("User", "alice"), Principal("User", "bob")
RENEWER = messages.CreateDelegationTokenRequest.CreatableRenewers
DAY_MS = 86_400_000


def make(broker: HandlerBroker, version: int = 3, *renewers: str, **fields: Any) -> Any:
    wanted = [RENEWER(principal_type="User", principal_name=name) for name in renewers]
    asked = {"max_lifetime_ms": -1, "renewers": wanted, **fields}
    return broker.call("CreateDelegationToken", version, **asked)


def renew(broker: HandlerBroker, hmac: bytes, period_ms: int = -1) -> tuple[int, int]:
    told = broker.call("RenewDelegationToken", 2, hmac=hmac, renew_period_ms=period_ms)
    return told.error_code, told.expiry_timestamp_ms


def expire(broker: HandlerBroker, hmac: bytes, period_ms: int = -1) -> tuple[int, int]:
    told = broker.call("ExpireDelegationToken", 2, hmac=hmac, expiry_time_period_ms=period_ms)
    return told.error_code, told.expiry_timestamp_ms


def described(broker: HandlerBroker, version: int = 3) -> dict[str, int]:
    told = broker.call("DescribeDelegationToken", version, owners=None)
    assert told.error_code == 0
    return {one.token_id: one.expiry_timestamp for one in told.tokens}


def now_ms(broker: HandlerBroker) -> int:
    return broker.clock.now_ms()


def test_x71_x72_x73_a_token_lives_also_after_a_restart(tmp_path: Path) -> None:
    with handler_broker(tmp_path / "data", SETTINGS, SASL) as broker:
        broker.context.principal = ALICE
        made = make(broker, 1, "bob")
        assert made.expiry_timestamp_ms == now_ms(broker) + DAY_MS
        assert made.max_timestamp_ms == now_ms(broker) + 7 * DAY_MS
    with handler_broker(tmp_path / "data", SETTINGS, SASL) as broker:
        broker.context.principal = BOB
        assert renew(broker, made.hmac, 1000) == (0, now_ms(broker) + 1000)
        assert expire(broker, made.hmac, 500) == (0, now_ms(broker) + 500)
        assert described(broker, 1) == {made.token_id: now_ms(broker) + 500}
        assert expire(broker, made.hmac) == (0, now_ms(broker))
        assert described(broker) == {}
        assert renew(broker, made.hmac) == (62, 0)
    with handler_broker(tmp_path / "data", SETTINGS, SASL) as broker:
        broker.context.principal = ALICE
        assert described(broker) == {}


def test_p166_x70_who_may_not_ask(tmp_path: Path) -> None:
    with handler_broker(tmp_path / "data", SETTINGS, SASL) as broker:
        plain = ListenerInfo("PLAINTEXT")
        tls = ListenerInfo("TLS", "SSL")
        by_token = TokenPrincipal("User", "alice")
        assert by_token == ALICE
        for listener, principal, code in (
            (SASL, ALICE, 0),
            (tls, ALICE, 0),
            (plain, ALICE, 64),
            (tls, ANONYMOUS, 64),
            (SASL, by_token, 64),
        ):
            broker.context.listener, broker.context.principal = listener, principal
            assert make(broker).error_code == code
            assert renew(broker, b"x") == ((64, -1) if code else (62, 0))
            assert expire(broker, b"x") == ((64, -1) if code else (62, 0))
            told = broker.call("DescribeDelegationToken", 3, owners=None)
            assert told.error_code == code
    with handler_broker(tmp_path / "other", {}, SASL) as broker:
        broker.context.principal = ALICE
        assert make(broker).error_code == 61
        assert renew(broker, b"x") == (61, 0)
        assert broker.call("DescribeDelegationToken", 1, owners=None).error_code == 61


def test_x74_owners(tmp_path: Path) -> None:
    owner = messages.DescribeDelegationTokenRequest.DescribeDelegationTokenOwner
    with handler_broker(tmp_path / "data", SETTINGS, SASL) as broker:
        broker.context.principal = ALICE
        ids = {make(broker, 3, "bob").token_id}
        make(broker)

        def told(*names: str) -> set[str]:
            owners = [owner(principal_type="User", principal_name=name) for name in names]
            answer = broker.call("DescribeDelegationToken", 3, owners=owners)
            return {one.token_id for one in answer.tokens}

        assert (told(), told("bob"), len(told("carol", "alice"))) == (set(), ids, 2)


def test_x72_tokens_end_by_the_clock(tmp_path: Path) -> None:
    with handler_broker(tmp_path / "data", SETTINGS, SASL) as broker:
        broker.context.principal = ALICE
        made = make(broker, 3, max_lifetime_ms=60_000)
        broker.clock.step(60_001)
        assert renew(broker, made.hmac) == (66, 0)
        assert expire(broker, made.hmac, 5) == (66, 0)
        assert len(described(broker)) == 1
        broker.clock.step(3_600_000)
        assert described(broker) == {}


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_x75_keys_are_made_once_and_go_with_the_token(tmp_path: Path, mechanism: str) -> None:
    with handler_broker(tmp_path / "data", SETTINGS, SASL) as broker:
        broker.context.principal = ALICE
        made = make(broker)
        tokens = broker.cluster.delegation_tokens

        def credential() -> Any:
            return tokens.credential("top-secret", made.token_id, mechanism, bytes)

        first = credential()
        assert first is not None
        assert first.iterations == 4096
        assert credential() is first
        expire(broker, made.hmac)
        assert credential() is None


def test_x70_x74_rights_to_tokens_of_others(tmp_path: Path) -> None:
    with handler_broker(tmp_path / "data", SETTINGS, SASL) as broker:
        index = AclIndex()
        broker.context.authorizer = Authorizer(index)
        broker.context.principal = ALICE
        for_bob = {"owner_principal_type": "User", "owner_principal_name": "bob"}
        assert make(broker, **for_bob).error_code == 65
        own = make(broker).token_id
        index.add(_allowed("User:alice", Operation.CREATE_TOKENS, ResourceType.USER, "User:bob"))
        of_bob = make(broker, **for_bob).token_id
        carol = broker.context.principal = Principal("User", "carol")
        assert described(broker) == {}
        right = Operation.DESCRIBE, ResourceType.DELEGATION_TOKEN, own
        index.add(_allowed(str(carol), *right))
        assert set(described(broker)) == {own}
        index.add(_allowed(str(carol), Operation.DESCRIBE_TOKENS, ResourceType.USER, "User:bob"))
        assert set(described(broker)) == {own, of_bob}
        broker.context.principal = BOB
        assert set(described(broker)) == {of_bob}


def _allowed(principal: str, operation: Operation, kind: ResourceType, name: str) -> Acl:
    return Acl(
        resource_type=kind,
        name=name,
        pattern_type=PatternType.LITERAL,
        principal=principal,
        host="*",
        operation=operation,
        permission=Permission.ALLOW,
    )
