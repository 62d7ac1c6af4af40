"""AlterConfigs (33), IncrementalAlterConfigs (44): change configs.

AlterConfigs replaces all configs of a resource. IncrementalAlterConfigs (KIP-339) sets, deletes,
appends to and subtracts from single keys. The resources of a request are one change of the
metadata; if there are more than 64 resources, each change has 64 of them. A resource that fails
keeps its configs, and the others are changed all the same.

A difference to Kafka: more than 10,000 configs of one resource in a request are refused with
POLICY_VIOLATION, whether they change anything or not. Kafka refuses more than 10,000 changes,
counted over all resources.

Not done: nothing that a client asks for.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from broker_lite.control.cluster import eligible_replicas
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.cluster.config_rules import (
    ConfigOperation,
    Values,
    plan_operations,
    plan_replacement,
)
from broker_lite.control.metadata.image import BROKER_RESOURCE
from broker_lite.errors import BrokerError, InvalidRequest, KafkaStorageError, PolicyViolation
from broker_lite.handler.codec import code_and_message, decode, encode
from broker_lite.handler.configs import broker_loggers
from broker_lite.handler.configs.broker_loggers import BROKER_LOGGER_RESOURCE
from broker_lite.handler.configs.rights import denied
from broker_lite.handler.context import HandlerContext, KeyStores, Parts, Request
from broker_lite.handler.large import in_turns
from broker_lite.security.acls.acl import Operation
from broker_lite.wire import messages

RESOURCES_AT_A_TIME: Final = 64
CONFIGS_AT_A_TIME: Final = 1000
CONFIGS_OF_ONE_MAX: Final = 10_000
"""As many records as Kafka writes for one request (QuorumController.MAX_RECORDS_PER_USER_OP)."""

_Resource = TypeVar(
    "_Resource",
    "messages.AlterConfigsRequest.AlterConfigsResource",
    "messages.IncrementalAlterConfigsRequest.AlterConfigsResource",
)
_Result = TypeVar("_Result")
Plan = Callable[[HandlerContext, _Resource], Values]
Outcome = tuple[_Resource, Values | BrokerError]
"""A resource of the request with its new values, or with the error why it is not changed."""


async def handle_alter(context: HandlerContext, request: Request) -> Parts:
    """Replace all configs of resources.

    Rule: P-129.
    See: P-127, P-128.
    """
    body = decode(messages.AlterConfigsRequest, request)
    result = messages.AlterConfigsResponse.AlterConfigsResourceResponse
    responses = await _alter(
        context, body.resources, _replacement, result, validate_only=body.validate_only
    )
    response = messages.AlterConfigsResponse(responses=responses)
    return encode(messages.AlterConfigsResponse, response, request)


async def handle_incremental(context: HandlerContext, request: Request) -> Parts:
    """Change single configs of resources.

    Rule: P-129.
    See: P-126, P-127.
    """
    body = decode(messages.IncrementalAlterConfigsRequest, request)
    result = messages.IncrementalAlterConfigsResponse.AlterConfigsResourceResponse
    responses = await _alter(
        context, body.resources, _operations, result, validate_only=body.validate_only
    )
    response = messages.IncrementalAlterConfigsResponse(responses=responses)
    return encode(messages.IncrementalAlterConfigsResponse, response, request)


def _replacement(
    context: HandlerContext, resource: "messages.AlterConfigsRequest.AlterConfigsResource"
) -> Values:
    configs = [(config.name, config.value) for config in resource.configs]
    return plan_replacement(
        context.cluster,
        resource.resource_type,
        resource.resource_name,
        configs,
        node_id=context.node_id,
        denied=denied(context, Operation.ALTER_CONFIGS, resource),
    )


def _operations(
    context: HandlerContext,
    resource: "messages.IncrementalAlterConfigsRequest.AlterConfigsResource",
) -> Values:
    operations = [
        ConfigOperation(config.name, config.config_operation, config.value)
        for config in resource.configs
    ]
    refusal = denied(context, Operation.ALTER_CONFIGS, resource)
    if resource.resource_type == BROKER_LOGGER_RESOURCE:
        return broker_loggers.plan(context.node_id, resource.resource_name, operations, refusal)
    return plan_operations(
        context.cluster,
        resource.resource_type,
        resource.resource_name,
        operations,
        node_id=context.node_id,
        denied=refusal,
    )


async def _alter(
    context: HandlerContext,
    resources: list[_Resource],
    plan: Plan[_Resource],
    result: Callable[..., _Result],
    *,
    validate_only: bool,
) -> list[_Result]:
    """Alter the resources, a few at a time; other connections have their turn in between."""
    counts = Counter((resource.resource_type, resource.resource_name) for resource in resources)
    results: list[_Result] = []
    async for some in in_turns(_changes(resources), at_least=1):
        if context.key_stores is not None:
            outcomes = await _alter_with_stores(
                context, context.key_stores, some, counts, plan, validate_only=validate_only
            )
        else:
            outcomes = _plan(context, some, counts, plan)
            if not validate_only:
                outcomes = _write(context.cluster, outcomes)
        results += [
            result(
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
                **code_and_message(outcome if isinstance(outcome, BrokerError) else None),
            )
            for resource, outcome in outcomes
        ]
    return results


async def _alter_with_stores(
    context: HandlerContext,
    key_stores: KeyStores,
    resources: Sequence[_Resource],
    counts: Mapping[tuple[int, str], int],
    plan: Plan[_Resource],
    *,
    validate_only: bool,
) -> list[Outcome[_Resource]]:
    """Alter some resources; if the broker is one of them, read its key stores before."""
    own = (BROKER_RESOURCE, str(context.node_id))
    if not any((one.resource_type, one.resource_name) == own for one in resources):
        outcomes = _plan(context, resources, counts, plan)
        return outcomes if validate_only else _write(context.cluster, outcomes)
    async with key_stores.turn:
        told: Callable[[], None] | BrokerError | None = None
        for resource, outcome in _plan(context, resources, counts, plan):
            is_own = (resource.resource_type, resource.resource_name) == own
            if is_own and not isinstance(outcome, BrokerError):
                told = await _read_stores(context, key_stores, outcome, validate_only=validate_only)
        # Others have changed configs of topics and groups meanwhile, but not of this broker.
        outcomes = _plan(context, resources, counts, plan)
        if isinstance(told, BrokerError):
            outcomes = [
                (one, told if (one.resource_type, one.resource_name) == own else outcome)
                for one, outcome in outcomes
            ]
        if validate_only:
            return outcomes
        written = _write(context.cluster, outcomes)
        is_written = not any(isinstance(outcome, KafkaStorageError) for _, outcome in written)
        if told is not None and not isinstance(told, BrokerError) and is_written:
            told()
        return written


async def _read_stores(
    context: HandlerContext, key_stores: KeyStores, values: Values, *, validate_only: bool
) -> Callable[[], None] | BrokerError:
    """Return what puts the stores into use that the broker has after a change, or why it cannot."""
    cluster, name = context.cluster, str(context.node_id)
    own = dict(cluster.configs(BROKER_RESOURCE, name))
    for config, text in values.items():
        if text is None:
            own.pop(config, None)
        else:
            own[config] = text
    before = cluster.settings_of(context.node_id)
    after = before.with_dynamic(own, cluster.configs(BROKER_RESOURCE, ""))
    try:
        return await key_stores.read(before, after, may_reload=not validate_only)
    except InvalidRequest as error:
        return error.with_traceback(None)


def _changes(resources: Sequence[_Resource]) -> Iterator[list[_Resource]]:
    """Split resources into the groups that are altered as one change each."""
    some: list[_Resource] = []
    config_count = 0
    for resource in resources:
        count = len(resource.configs)
        too_many = config_count + count > CONFIGS_AT_A_TIME
        if some and (too_many or len(some) == RESOURCES_AT_A_TIME):
            yield some
            some, config_count = [], 0
        some.append(resource)
        config_count += count
    if some:
        yield some


def _plan(
    context: HandlerContext,
    resources: Sequence[_Resource],
    counts: Mapping[tuple[int, str], int],
    plan: Plan[_Resource],
) -> list[Outcome[_Resource]]:
    """Return the outcome for each resource; a resource that is named twice fails each time.

    Args:
        context: of the broker that is asked.
        resources: some resources of a request.
        counts: how often each resource is in the request.
        plan: returns the new values of a resource.

    See: P-127 (ConfigAdminManager.preprocess).
    """
    outcomes: list[Outcome[_Resource]] = []
    for resource in resources:
        try:
            if counts[resource.resource_type, resource.resource_name] > 1:
                raise InvalidRequest("Each resource must appear at most once.")
            if len(resource.configs) > CONFIGS_OF_ONE_MAX:
                raise PolicyViolation("Unable to perform excessively large batch operation.")
            values = plan(context, resource)
            named = {config.name for config in resource.configs}
            of = (resource.resource_type, resource.resource_name)
            eligible_replicas.check_change(context.cluster.features, of, named, values)
            outcomes.append((resource, values))
        except BrokerError as error:
            # The traceback refers to this frame: a cycle, which only the garbage collector frees.
            outcomes.append((resource, error.with_traceback(None)))
    return outcomes


def _write(cluster: Cluster, outcomes: Sequence[Outcome[_Resource]]) -> list[Outcome[_Resource]]:
    """Put the planned values into force; no other request was handled since they were planned."""
    planned = [
        (resource.resource_type, resource.resource_name, outcome)
        for resource, outcome in outcomes
        if not isinstance(outcome, BrokerError)
    ]
    try:
        cluster.alter_configs(one for one in planned if one[0] != BROKER_LOGGER_RESOURCE)
    except KafkaStorageError as error:
        return [
            (resource, outcome if isinstance(outcome, BrokerError) else error)
            for resource, outcome in outcomes
        ]
    broker_loggers.put(values for kind, _, values in planned if kind == BROKER_LOGGER_RESOURCE)
    return list(outcomes)
