"""DescribeClientQuotas (48), AlterClientQuotas (49): quotas of users and clients.

Quotas are kept in the metadata log, as in Kafka, and can be described (KIP-546). An error in one
entity does not affect the other entities of the request.

They are in force when the answer is sent (see control.quotas).

Not done: connection_creation_rate of the name of a host, which is kept and described, but has no
effect; client.quota.callback.class.

A difference to Kafka: an AlterClientQuotas request closes the connection if an entry has more than
100 parts of an entity or more than 100 operations.
"""

import ipaddress
from collections.abc import Mapping
from socket import gaierror
from typing import Final

import anyio

from broker_lite.control.cluster.metadata_changes import quota_changes
from broker_lite.control.users.quota_rules import (
    IP,
    Entity,
    FilterComponent,
    QuotaChange,
    QuotaFilter,
    duplicate,
    entity_of,
    plan_quotas,
)
from broker_lite.errors import BrokerError, ClusterAuthorizationFailed, ErrorCode, InvalidRequest
from broker_lite.handler.authorized import check_cluster, is_allowed_on_cluster
from broker_lite.handler.codec import code_and_message, decode, encode, encode_long
from broker_lite.handler.context import CloseConnection, HandlerContext, Parts, Request
from broker_lite.handler.large import in_turns, lazily
from broker_lite.handler.security.changes_in_turns import write_in_turns
from broker_lite.security.acls.acl import Operation
from broker_lite.wire import messages

_DENIED: Final = "Cluster authorization failed."
_PARTS_MAX: Final = 100
_HOST_LETTERS_MAX: Final = 255
HOSTS_MAX: Final = 100
"""So many names of one request are looked up; further names count as no address."""


async def handle_describe(context: HandlerContext, request: Request) -> Parts:
    """Answer the quotas of some entities.

    See: P-161, X-59.
    """
    body = decode(messages.DescribeClientQuotasRequest, request)
    types = messages.DescribeClientQuotasResponse
    if not is_allowed_on_cluster(context, Operation.DESCRIBE_CONFIGS):
        denied = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        response = types(error_code=denied, error_message=_DENIED, entries=None)
        return encode(types, response, request)
    quotas = context.cluster.client_quotas
    components = [
        FilterComponent(one.entity_type, one.match_type, one.match)
        async for one in in_turns(body.components)
    ]
    try:
        selected = QuotaFilter(components, is_strict=body.strict)
    except BrokerError as error:
        response = types(error_code=error.code, error_message=error.message, entries=None)
        return encode(types, response, request)
    entities = [
        entity
        async for entity in in_turns(list(quotas))
        if entity in quotas and selected.has(entity)
    ]
    entries = (
        types.EntryData(
            entity=[types.EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
            values=[types.ValueData(key=k, value=v) for k, v in quotas.get(entity, {}).items()],
        )
        for entity in entities
    )
    response = types(error_message="", entries=lazily(len(entities), entries))
    return await encode_long(types, response, request)


async def handle_alter(context: HandlerContext, request: Request) -> Parts:
    """Set and remove quotas.

    See: P-160, X-60.
    """
    body = decode(messages.AlterClientQuotasRequest, request)
    types = messages.AlterClientQuotasResponse
    try:
        check_cluster(context, Operation.ALTER_CONFIGS)
    except ClusterAuthorizationFailed as error:
        response = types(
            entries=[
                types.EntryData(
                    entity=[
                        types.EntityData(entity_type=one.entity_type, entity_name=one.entity_name)
                        for one in entry.entity
                    ],
                    **code_and_message(error),
                )
                async for entry in in_turns(body.entries)
            ]
        )
        return encode(types, response, request)
    addresses = await _addresses(body.entries)
    planned: dict[Entity, Mapping[str, float | None]] = {}
    outcomes: dict[Entity, BrokerError | None] = {}
    async for entry in in_turns(body.entries):
        entity = entity_of([(one.entity_type, one.entity_name) for one in entry.entity])
        if entity in outcomes:  # the first entry of the entity is done all the same
            outcomes[entity] = InvalidRequest(duplicate(entity))
            continue
        changes = [QuotaChange(op.key, op.value, op.remove) for op in entry.ops]
        current = context.cluster.client_quotas.get(entity, {})
        try:
            planned[entity] = plan_quotas(current, entity, changes, addresses.__contains__)
            outcomes[entity] = None
        except BrokerError as error:
            outcomes[entity] = error.with_traceback(None)  # the traceback would keep its frames
    if not body.validate_only:
        outcomes.update(await write_in_turns(context.cluster, planned, quota_changes))
        context.cluster.watchers.quotas_changed()
    entries = (
        types.EntryData(
            entity=[types.EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
            **code_and_message(outcome),
        )
        for entity, outcome in outcomes.items()
    )
    response = types(entries=lazily(len(outcomes), entries))
    return await encode_long(types, response, request)


async def _addresses(entries: "list[messages.AlterClientQuotasRequest.EntryData]") -> set[str]:
    """Return the names of entities that are IP addresses or names of hosts that have one."""
    names: set[str] = set()
    async for entry in in_turns(entries):
        if max(len(entry.entity), len(entry.ops)) > _PARTS_MAX:
            raise CloseConnection(f"a quota of more than {_PARTS_MAX} parts or operations")
        names.update(
            part.entity_name for part in entry.entity if part.entity_type == IP and part.entity_name
        )
    literal = {name for name in names if _is_literal(name)}
    hosts = sorted(name for name in names - literal if len(name) <= _HOST_LETTERS_MAX)
    return literal | {host for host in hosts[:HOSTS_MAX] if await _is_host(host)}


def _is_literal(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


async def _is_host(name: str) -> bool:
    try:
        await anyio.getaddrinfo(name, None)
    except (gaierror, UnicodeError):
        return False
    return True
