"""ListGroups (16), DescribeGroups (15), DeleteGroups (42): groups, for administrators.

- ListGroups: v4 adds states and a filter by state (KIP-518), v5 types (KIP-848).
- DescribeGroups: v3 adds authorized operations (KIP-430), v4 static members, v6
  error_message, and error 69 where earlier versions show a dead group (KIP-1043).
- DeleteGroups: v3 has error_message.

Not done: showing a group that a request names more than ten times as often as that.
"""

from copy import copy

from broker_lite.errors import BrokerError, ErrorCode
from broker_lite.handler.authorized import denied_names, is_allowed_on_cluster
from broker_lite.handler.codec import decode, encode, encode_long
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.denied import denied_names_in_turns
from broker_lite.handler.flushed import answers_when_flushed
from broker_lite.handler.groups.coordinated import foreign_groups, is_foreign
from broker_lite.handler.groups.one_by_one import add_operations, denied_first, one_by_one
from broker_lite.security.acls.acl import Operation, ResourceType
from broker_lite.wire import messages

_DENIED = ErrorCode.GROUP_AUTHORIZATION_FAILED


async def handle_list(context: HandlerContext, request: Request) -> Parts:
    """List groups of all types.

    Who may describe the cluster sees all groups.

    Rule: X-53 (KafkaApis.handleListGroupsRequest).
    See: G-102, C-33.
    """
    body = decode(messages.ListGroupsRequest, request)
    try:
        context.groups.check_all_loaded(context.node_id)
        response = context.groups.coordinator.admin.list_groups(body)
        hidden = foreign_groups(context, (group.group_id for group in response.groups))
        if not is_allowed_on_cluster(context, Operation.DESCRIBE):
            names = (group.group_id for group in response.groups)
            kind = ResourceType.GROUP
            hidden |= await denied_names_in_turns(context, Operation.DESCRIBE, kind, names)
        if hidden:
            response.groups = [each for each in response.groups if each.group_id not in hidden]
    except BrokerError as error:
        response = messages.ListGroupsResponse(error_code=error.code)
    return encode(messages.ListGroupsResponse, response, request)


async def handle_describe(context: HandlerContext, request: Request) -> Parts:
    """Describe classic groups; those that the client may not describe come first.

    See: G-103, X-53 (KafkaApis.handleDescribeGroupsRequest).
    """
    body = decode(messages.DescribeGroupsRequest, request)
    message, version = messages.DescribeGroupsResponse, request.api_version
    denied, group_ids = await denied_first(context, body.groups)

    async def describe(group_id: str) -> "messages.DescribeGroupsResponse.DescribedGroup":
        if group_id in denied:
            return message.DescribedGroup(group_id=group_id, error_code=_DENIED)
        try:
            elsewhere = is_foreign(context, group_id)
            admin = context.groups.coordinator.admin
            group = admin.describe_group(group_id, version, is_foreign=elsewhere)
        except BrokerError as error:
            return message.DescribedGroup(group_id=group_id, error_code=error.code)
        if body.include_authorized_operations:
            add_operations(context, group)
        return group

    groups = await one_by_one(group_ids, describe, message, version)
    return await encode_long(message, message(groups=groups), request)


@answers_when_flushed
async def handle_delete(context: HandlerContext, request: Request) -> Parts:
    """Delete groups with their offsets; those that the client may not delete come last.

    See: G-104, C-72, X-53 (KafkaApis.handleDeleteGroupsRequest).
    """
    body = decode(messages.DeleteGroupsRequest, request)
    denied = denied_names(context, Operation.DELETE, ResourceType.GROUP, body.groups_names)
    refused = [each for each in dict.fromkeys(body.groups_names) if each in denied]
    if denied:
        body = copy(body)
        body.groups_names = [each for each in body.groups_names if each not in denied]
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
    response.results += [result(group_id=each, error_code=_DENIED) for each in refused]
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
