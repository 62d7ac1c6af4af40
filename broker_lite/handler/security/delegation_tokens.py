"""CreateDelegationToken (38), RenewDelegationToken (39), ExpireDelegationToken (40): tokens.

A client that has logged in by SASL, or by a certificate, gets a token (KIP-48). With its id and its
password other clients log in by SCRAM as the owner, until the token ends. v2 is flexible; v3 of
Create has owners (KIP-373).

A difference to Kafka: tokens that have ended are removed when a request about tokens comes, once
they are older than delegation.token.expiry.check.interval.ms; Kafka does it by a timer.

Not done: a timer that removes tokens.
"""

import os
from typing import Final

from broker_lite.control.cluster.metadata_changes import token_change, token_removal
from broker_lite.control.users.delegation_tokens import (
    DelegationToken,
    Lifetimes,
    expired_earlier,
    new_token,
    password_of,
    renewed,
)
from broker_lite.errors import BrokerError, ErrorCode
from broker_lite.handler import authorized
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.security.acls.acl import Operation, ResourceType
from broker_lite.security.principal import ANONYMOUS, USER, Principal
from broker_lite.wire import messages

_PLAIN: Final = "PLAINTEXT"
_TLS: Final = "SSL"
_NO_TIME: Final = -1
_ID_BYTES: Final = 16
_REQUESTER_SINCE: Final = 3


async def handle_create(context: HandlerContext, request: Request) -> Parts:
    """Make a token.

    Rule: P-166, X-70 (KafkaApis.allowTokenRequests).
    See: X-71.
    """
    body = decode(messages.CreateDelegationTokenRequest, request)
    types = messages.CreateDelegationTokenResponse
    requester, owner = context.principal, context.principal
    if body.owner_principal_name:
        owner = Principal(body.owner_principal_type or "", body.owner_principal_name)
    answer = types(principal_type=owner.kind, principal_name=owner.name)
    if request.api_version >= _REQUESTER_SINCE:
        answer.token_requester_principal_type = requester.kind
        answer.token_requester_principal_name = requester.name
    renewers = [Principal(one.principal_type, one.principal_name) for one in body.renewers]
    code = ErrorCode.NONE
    if not is_allowed(context):
        code = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    elif owner != requester and not authorized.is_allowed(
        context, Operation.CREATE_TOKENS, ResourceType.USER, str(owner)
    ):
        code = ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    elif any(one.kind != USER for one in renewers):
        code = ErrorCode.INVALID_PRINCIPAL_TYPE
    if code:
        answer.issue_timestamp_ms = answer.expiry_timestamp_ms = answer.max_timestamp_ms = _NO_TIME
        answer.error_code = int(code)
        return encode(types, answer, request)
    secret = context.cluster.settings.delegation_token_secret_key
    if secret is None:
        answer.error_code = int(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
        return encode(types, answer, request)
    token = new_token(
        owner,
        requester,
        renewers,
        body.max_lifetime_ms,
        _lifetimes(context),
        context.clock.now_ms(),
        os.urandom(_ID_BYTES),
    )
    try:
        sweep(context)
        context.cluster.write([token_change(token)])
    except BrokerError as error:
        answer.error_code = int(error.code)
        return encode(types, answer, request)
    answer.issue_timestamp_ms = token.issue_ms
    answer.expiry_timestamp_ms = token.expiry_ms
    answer.max_timestamp_ms = token.max_ms
    answer.token_id = token.token_id
    answer.hmac = password_of(secret, token.token_id)
    return encode(types, answer, request)


async def handle_renew(context: HandlerContext, request: Request) -> Parts:
    """Let a token be valid for longer.

    See: X-70, X-72.
    """
    body = decode(messages.RenewDelegationTokenRequest, request)
    types = messages.RenewDelegationTokenResponse
    code, expiry_ms = _changed(context, bytes(body.hmac), body.renew_period_ms, is_renewal=True)
    return encode(types, types(error_code=code, expiry_timestamp_ms=expiry_ms), request)


async def handle_expire(context: HandlerContext, request: Request) -> Parts:
    """Let a token expire earlier, or at once.

    See: X-70, X-73.
    """
    body = decode(messages.ExpireDelegationTokenRequest, request)
    types = messages.ExpireDelegationTokenResponse
    asked_ms = body.expiry_time_period_ms
    code, expiry_ms = _changed(context, bytes(body.hmac), asked_ms, is_renewal=False)
    return encode(types, types(error_code=code, expiry_timestamp_ms=expiry_ms), request)


def is_allowed(context: HandlerContext) -> bool:
    """True if the client is somebody, who is known by more than a token."""
    protocol, principal = context.listener.security_protocol, context.principal
    if protocol == _PLAIN or (protocol == _TLS and principal == ANONYMOUS):
        return False
    return not principal.is_by_token


def _changed(
    context: HandlerContext, password: bytes, asked_ms: int, *, is_renewal: bool
) -> tuple[int, int]:
    """Change when a token ends; return the error code and the new end."""
    if not is_allowed(context):
        return int(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED), _NO_TIME
    cluster, now_ms = context.cluster, context.clock.now_ms()
    secret = cluster.settings.delegation_token_secret_key
    if secret is None:
        return int(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED), 0
    sweep(context)
    token = cluster.delegation_tokens.find(secret, password)
    try:
        if is_renewal:
            changed: DelegationToken | None
            changed = renewed(token, context.principal, asked_ms, _lifetimes(context), now_ms)
        else:
            changed = expired_earlier(token, context.principal, asked_ms, now_ms)
        if changed is not None:
            cluster.write([token_change(changed)])
            return 0, changed.expiry_ms
        assert token is not None
        cluster.write([token_removal(token.token_id)])
    except BrokerError as error:
        return int(error.code), 0
    return 0, now_ms


def _lifetimes(context: HandlerContext) -> Lifetimes:
    settings = context.cluster.settings
    return Lifetimes(
        settings.delegation_token_max_lifetime_ms,
        settings.delegation_token_expiry_time_ms,
        settings.delegation_token_expiry_check_interval_ms,
    )


def sweep(context: HandlerContext) -> None:
    """Remove tokens that ended long ago.

    Raises:
        BrokerError: that cannot be written.
    """
    cluster = context.cluster
    before_ms = context.clock.now_ms() - _lifetimes(context).check_ms
    cluster.write(
        [token_removal(token.token_id) for token in cluster.delegation_tokens.expired(before_ms)]
    )
