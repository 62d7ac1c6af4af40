"""DescribeDelegationToken (41): the delegation tokens of clients, with their passwords.

v2 is flexible; v3 tells who asked for a token (KIP-373).

Without an authorizer, everybody sees all tokens, as in Kafka.

Not done: leaving out tokens that have ended, which Kafka does not do either until they are removed.
"""

from typing import Final

from broker_lite.control.users.delegation_tokens import DelegationToken, password_of
from broker_lite.errors import ErrorCode
from broker_lite.handler import authorized
from broker_lite.handler.codec import decode, encode_long
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.large import in_turns
from broker_lite.handler.security.delegation_tokens import is_allowed, sweep
from broker_lite.security.acls.acl import Operation, ResourceType
from broker_lite.security.principal import Principal
from broker_lite.wire import messages

_REQUESTER_SINCE: Final = 3


async def handle(context: HandlerContext, request: Request) -> Parts:
    """Tell the tokens, all or those of some owners.

    Rule: X-74 (DelegationTokenManager.filterToken).
    """
    body = decode(messages.DescribeDelegationTokenRequest, request)
    types = messages.DescribeDelegationTokenResponse
    answer = types()
    secret = context.cluster.settings.delegation_token_secret_key
    if not is_allowed(context):
        answer.error_code = int(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
    elif secret is None:
        answer.error_code = int(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
    elif body.owners is None or body.owners:
        sweep(context)
        asked = body.owners
        owners = (
            None
            if asked is None
            else {Principal(one.principal_type, one.principal_name) for one in asked}
        )
        async for token in in_turns([*context.cluster.delegation_tokens.by_id.values()]):
            if (owners is None or any(map(token.is_of, owners))) and _may_see(context, token):
                answer.tokens.append(_described(token, secret, request.api_version))
    return await encode_long(types, answer, request)


def _may_see(context: HandlerContext, token: DelegationToken) -> bool:
    """True if a token is the client's, or it has the right to see it."""
    return (
        context.authorizer is None
        or token.is_of(context.principal)
        or authorized.is_allowed(
            context, Operation.DESCRIBE, ResourceType.DELEGATION_TOKEN, token.token_id
        )
        or authorized.is_allowed(
            context, Operation.DESCRIBE_TOKENS, ResourceType.USER, str(token.owner)
        )
    )


def _described(
    token: DelegationToken, secret: str, version: int
) -> "messages.DescribeDelegationTokenResponse.DescribedDelegationToken":
    types = messages.DescribeDelegationTokenResponse
    described = types.DescribedDelegationToken(
        principal_type=token.owner.kind,
        principal_name=token.owner.name,
        issue_timestamp=token.issue_ms,
        expiry_timestamp=token.expiry_ms,
        max_timestamp=token.max_ms,
        token_id=token.token_id,
        hmac=password_of(secret, token.token_id),
        renewers=[
            types.DescribedDelegationTokenRenewer(principal_type=one.kind, principal_name=one.name)
            for one in token.renewers
        ],
    )
    if version >= _REQUESTER_SINCE:
        described.token_requester_principal_type = token.requester.kind
        described.token_requester_principal_name = token.requester.name
    return described
