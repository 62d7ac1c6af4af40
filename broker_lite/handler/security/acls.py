"""DescribeAcls (29), CreateAcls (30), DeleteAcls (31): the rights of users.

- v1 adds pattern types (KIP-290); v2 is flexible; v3 adds users as resources (KIP-373).

ACLs are kept in the metadata log, as in Kafka, and hold for the next request of every client.
Without an authorizer all three are answered with SECURITY_DISABLED. A request with a type,
operation or permission that is unknown (0) closes the connection, as in Kafka.

Not done: log lines of the decisions, as Kafka writes them to kafka.authorizer.logger.

A difference to Kafka: a DeleteAcls request closes the connection if its filters select more than
1,000,000 ACLs together. Each filter may select the same ones again.
"""

from collections.abc import Iterator
from typing import Any, Final, cast

from broker_lite.control.users.acl_rules import AclFilter
from broker_lite.errors import BrokerError, SecurityDisabled
from broker_lite.handler.authorized import check_cluster
from broker_lite.handler.codec import code_and_message, decode, encode, encode_long
from broker_lite.handler.context import CloseConnection, HandlerContext, Parts, Request
from broker_lite.handler.large import in_turns, lazily
from broker_lite.handler.security.acl_changes import AclSelection, create_acls, delete_acls
from broker_lite.security.acls.acl import Acl, Operation, PatternType, Permission, ResourceType
from broker_lite.wire import messages
from broker_lite.wire.structs import Struct

SELECTED_MAX: Final = 1_000_000
"""The most ACLs in the answer to one DeleteAcls request."""

_UNKNOWN: Final = 0
_NO_AUTHORIZER: Final = "No Authorizer is configured."
_NO_AUTHORIZER_TO_DESCRIBE: Final = "No Authorizer is configured on the broker"


async def handle_describe(context: HandlerContext, request: Request) -> Parts:
    """Answer the ACLs that a filter selects, grouped by their patterns.

    Rule: X-59.
    See: P-163, X-41.
    """
    body = decode(messages.DescribeAclsRequest, request)
    types = messages.DescribeAclsResponse
    asked = _filter(body)
    try:
        check_cluster(context, Operation.DESCRIBE)
        if context.authorizer is None:
            raise SecurityDisabled(_NO_AUTHORIZER_TO_DESCRIBE)
    except BrokerError as error:
        return encode(types, types(**code_and_message(error)), request)
    found: dict[tuple[ResourceType, str, PatternType], list[Any]] = {}
    async for acl in in_turns(list(context.cluster.acls.ids), at_least=128):
        if asked.selects(acl):
            description = types.AclDescription(
                principal=acl.principal,
                host=acl.host,
                operation=acl.operation,
                permission_type=acl.permission,
            )
            found.setdefault(acl[:3], []).append(description)
    resources = (
        types.DescribeAclsResource(
            resource_type=resource_type, resource_name=name, pattern_type=pattern_type, acls=acls
        )
        for (resource_type, name, pattern_type), acls in found.items()
    )
    response = types(error_message="", resources=lazily(len(found), resources))
    return await encode_long(types, response, request)


async def handle_create(context: HandlerContext, request: Request) -> Parts:
    """Create ACLs; those that are there already are a success, too.

    Rule: X-60.
    See: P-162, X-41.
    """
    body = decode(messages.CreateAclsRequest, request)
    await check_elements(request.api_key, body)
    try:
        _check_may_alter(context)
        outcomes = await create_acls(
            context.cluster, [_acl(one) async for one in in_turns(body.creations)]
        )
    except BrokerError as error:
        outcomes = [error.with_traceback(None)] * len(body.creations)
    types = messages.CreateAclsResponse
    results = (_created(outcome) for outcome in outcomes)
    response = types(results=lazily(len(outcomes), results))
    return await encode_long(types, response, request)


def _created(outcome: BrokerError | None) -> "messages.CreateAclsResponse.AclCreationResult":
    result = messages.CreateAclsResponse.AclCreationResult
    if outcome is None:
        return result(error_message="")
    return result(**code_and_message(outcome))


async def handle_delete(context: HandlerContext, request: Request) -> Parts:
    """Delete the ACLs that filters select, and answer which ones these were.

    See: P-163, X-41, X-60.
    """
    body = decode(messages.DeleteAclsRequest, request)
    types = messages.DeleteAclsResponse
    filters = [_filter(one) async for one in in_turns(body.filters)]
    selection = AclSelection(context.cluster.acls.ids)
    try:
        _check_may_alter(context)
        for one in filters:
            await selection.add(one)
            if selection.count > SELECTED_MAX:
                raise CloseConnection(f"DeleteAcls selects more than {SELECTED_MAX} ACLs")
        failed = await delete_acls(context.cluster, selection.ids)
    except BrokerError as error:
        refused = types.DeleteAclsFilterResult(**code_and_message(error))
        return encode(types, types(filter_results=[refused] * len(filters)), request)

    def results() -> Iterator[Any]:
        for outcome in selection.outcomes:
            if isinstance(outcome, BrokerError):
                yield types.DeleteAclsFilterResult(**code_and_message(outcome))
                continue
            matching = (_matching(acl, failed.get(acl)) for acl in outcome)
            yield types.DeleteAclsFilterResult(
                error_message=None, matching_acls=lazily(len(outcome), matching)
            )

    response = types(filter_results=lazily(len(filters), results()))
    return await encode_long(types, response, request)


def _matching(
    acl: Acl, error: BrokerError | None
) -> "messages.DeleteAclsResponse.DeleteAclsMatchingAcl":
    return messages.DeleteAclsResponse.DeleteAclsMatchingAcl(
        **code_and_message(error),
        resource_type=acl.resource_type,
        resource_name=acl.name,
        pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission,
    )


def _check_may_alter(context: HandlerContext) -> None:
    """Raise BrokerError if ACLs cannot be changed, or not by this client."""
    check_cluster(context, Operation.ALTER)
    if context.authorizer is None:
        raise SecurityDisabled(_NO_AUTHORIZER)


async def check_elements(api_key: int, body: Struct) -> None:
    """Close the connection if a request about ACLs has an element that Kafka cannot read.

    Args:
        api_key: of the request; those of other APIs have none.
        body: of the request.

    See: P-162 (CreateAclsRequest.validate, DeleteAclsRequest.normalizeAndValidate).
    """
    asked = cast("Any", body)
    if api_key == messages.CreateAclsRequest.api_key:
        async for creation in in_turns(asked.creations):
            _check(
                creation.resource_type,
                creation.resource_pattern_type,
                creation.operation,
                creation.permission_type,
            )
    elif api_key == messages.DeleteAclsRequest.api_key:
        async for each in in_turns(asked.filters):
            _filter(each)
    elif api_key == messages.DescribeAclsRequest.api_key:
        _filter(asked)


def _filter(
    asked: "messages.DescribeAclsRequest | messages.DeleteAclsRequest.DeleteAclsFilter",
) -> AclFilter:
    _check(
        asked.resource_type_filter,
        asked.pattern_type_filter,
        asked.operation,
        asked.permission_type,
    )
    return AclFilter(
        ResourceType(asked.resource_type_filter),
        asked.resource_name_filter,
        PatternType(asked.pattern_type_filter),
        asked.principal_filter,
        asked.host_filter,
        Operation(asked.operation),
        Permission(asked.permission_type),
    )


def _acl(creation: "messages.CreateAclsRequest.AclCreation") -> Acl:
    return Acl(
        ResourceType(creation.resource_type),
        creation.resource_name,
        PatternType(creation.resource_pattern_type),
        creation.principal,
        creation.host,
        Operation(creation.operation),
        Permission(creation.permission_type),
    )


def _check(*elements: int) -> None:
    """Close the connection if the request has an unknown type, operation or permission.

    See: P-162 (CreateAclsRequest.validate).
    """
    if _UNKNOWN in elements:
        raise CloseConnection("an ACL with an unknown element")
