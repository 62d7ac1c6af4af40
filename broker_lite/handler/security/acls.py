"""DescribeAcls (29), CreateAcls (30), DeleteAcls (31): the rights of users.

- v1 adds pattern types (KIP-290); v2 is flexible; v3 adds users as resources (KIP-373).

This broker has no authorizer, so all of them are answered with SECURITY_DISABLED. A request with a
type, operation or permission that is unknown (0) closes the connection, as in Kafka.

Not done: an authorizer. So there are no ACLs, and everybody may do everything.
"""

from collections.abc import Callable
from typing import Any, Final

from broker_lite.errors import ErrorCode
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.context import CloseConnection, HandlerContext, Parts, Request
from broker_lite.wire import messages

_UNKNOWN: Final = 0
_NO_AUTHORIZER: Final = "No Authorizer is configured."
_NO_AUTHORIZER_TO_DESCRIBE: Final = "No Authorizer is configured on the broker"


async def handle_describe(context: HandlerContext, request: Request) -> Parts:
    """Refuse to describe ACLs.

    Rule: P-162, X-41.
    """
    body = decode(messages.DescribeAclsRequest, request)
    _check(
        body.resource_type_filter, body.pattern_type_filter, body.operation, body.permission_type
    )
    response = messages.DescribeAclsResponse(
        error_code=ErrorCode.SECURITY_DISABLED, error_message=_NO_AUTHORIZER_TO_DESCRIBE
    )
    return encode(messages.DescribeAclsResponse, response, request)


async def handle_create(context: HandlerContext, request: Request) -> Parts:
    """Refuse to create ACLs.

    Rule: P-163, X-41.
    """
    body = decode(messages.CreateAclsRequest, request)
    for creation in body.creations:
        _check(
            creation.resource_type,
            creation.resource_pattern_type,
            creation.operation,
            creation.permission_type,
        )
    results = _refusals(messages.CreateAclsResponse.AclCreationResult, len(body.creations))
    response = messages.CreateAclsResponse(results=results)
    return encode(messages.CreateAclsResponse, response, request)


async def handle_delete(context: HandlerContext, request: Request) -> Parts:
    """Refuse to delete ACLs.

    Rule: P-162, X-41.
    """
    body = decode(messages.DeleteAclsRequest, request)
    for one in body.filters:
        _check(
            one.resource_type_filter, one.pattern_type_filter, one.operation, one.permission_type
        )
    results = _refusals(messages.DeleteAclsResponse.DeleteAclsFilterResult, len(body.filters))
    response = messages.DeleteAclsResponse(filter_results=results)
    return encode(messages.DeleteAclsResponse, response, request)


def _refusals(result: Callable[..., Any], count: int) -> list[Any]:
    code = ErrorCode.SECURITY_DISABLED
    return [result(error_code=code, error_message=_NO_AUTHORIZER) for _ in range(count)]


def _check(*elements: int) -> None:
    """Close the connection if the request has an unknown type, operation or permission.

    Rule: P-162 (CreateAclsRequest.validate).
    """
    if _UNKNOWN in elements:
        raise CloseConnection("an ACL with an unknown element")
