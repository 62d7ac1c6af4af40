"""ListGroups (16), DescribeGroups (15), DeleteGroups (42): groups, for administrators.

- ListGroups: v4 adds states and a filter by state (KIP-518), v5 types (KIP-848).
- DescribeGroups: v3 adds authorized operations (KIP-430), v4 static members, v6
  error_message, and error 69 where earlier versions show a dead group (KIP-1043).
- DeleteGroups: v3 has error_message.

Not done: share and streams groups, which this broker does not have.
"""

from broker_lite.errors import BrokerError, ErrorCode
from broker_lite.handler.authorized import GROUP_OPERATIONS
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.flushed import answers_when_flushed
from broker_lite.handler.groups.coordinated import foreign_groups
from broker_lite.wire import messages


async def handle_list(context: HandlerContext, request: Request) -> Parts:
    """List groups of all types.

    See: G-102, C-33.
    """
    body = decode(messages.ListGroupsRequest, request)
    try:
        context.groups.check_all_loaded(context.node_id)
        response = context.groups.coordinator.admin.list_groups(body)
        foreign = foreign_groups(context, (group.group_id for group in response.groups))
        if foreign:
            response.groups = [each for each in response.groups if each.group_id not in foreign]
    except BrokerError as error:
        response = messages.ListGroupsResponse(error_code=error.code)
    return encode(messages.ListGroupsResponse, response, request)


async def handle_describe(context: HandlerContext, request: Request) -> Parts:
    """Describe classic groups.

    See: G-103.
    """
    body = decode(messages.DescribeGroupsRequest, request)
    group = messages.DescribeGroupsResponse.DescribedGroup
    try:
        foreign = foreign_groups(context, body.groups)
        context.groups.check_loaded(each for each in body.groups if each not in foreign)
        admin = context.groups.coordinator.admin
        response = admin.describe_groups(body, request.api_version, foreign)
    except BrokerError as error:
        response = messages.DescribeGroupsResponse(
            groups=[group(group_id=group_id, error_code=error.code) for group_id in body.groups]
        )
    if body.include_authorized_operations:
        for described in response.groups:
            if described.error_code == ErrorCode.NONE:
                described.authorized_operations = GROUP_OPERATIONS
    return encode(messages.DescribeGroupsResponse, response, request)


@answers_when_flushed
async def handle_delete(context: HandlerContext, request: Request) -> Parts:
    """Delete groups with their offsets.

    See: G-104, C-72.
    """
    body = decode(messages.DeleteGroupsRequest, request)
    result = messages.DeleteGroupsResponse.DeletableGroupResult
    try:
        names = body.groups_names
        late = await _unreplicated(context, names)
        response = context.groups.delete_groups(body, foreign_groups(context, names).union(late))
        late.update(await _unreplicated(context, [each for each in names if each not in late]))
        for each in response.results:
            each.error_code = late.get(each.group_id, each.error_code)
    except BrokerError as error:
        response = messages.DeleteGroupsResponse(
            results=[
                result(group_id=group_id, error_code=error.code)
                for group_id in dict.fromkeys(body.groups_names)
            ]
        )
    return encode(messages.DeleteGroupsResponse, response, request)


async def _unreplicated(context: HandlerContext, group_ids: list[str]) -> dict[str, ErrorCode]:
    """Wait until what was written of groups is replicated; return those where it is not in time.

    DeleteGroups waits before it deletes, too: Kafka looks for share groups then, by an event of its
    own.

    See: C-72 (GroupCoordinatorService.deleteGroups).
    """
    if not context.cluster.logs.commits.lagging:
        return {}
    foreign = foreign_groups(context, group_ids)
    return await context.groups.unreplicated(each for each in group_ids if each not in foreign)
