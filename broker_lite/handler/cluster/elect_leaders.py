"""ElectLeaders (43): make the preferred replica, or any other one, the leader.

- v1 adds the type of the election and a top-level error (KIP-460).

Not done: timeout_ms, because the answer waits for nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.cluster.controller import Alteration
from broker_lite.control.cluster.electing import plan_election
from broker_lite.control.cluster.elections import Election
from broker_lite.errors import ClusterAuthorizationFailed, ErrorCode, KafkaStorageError
from broker_lite.handler.authorized import check_cluster
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.large import in_turns, some_at_a_time
from broker_lite.security.acls.acl import Operation
from broker_lite.wire import messages

PARTITIONS_AT_A_TIME: Final = 256
"""So many elections are one change of the metadata."""
_ERROR_SINCE: Final = 1
_ELECTIONS: Final[Mapping[int, Election]] = {0: Election.PREFERRED, 1: Election.UNCLEAN}
_TEXTS: Final = {
    ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE: "The preferred leader was not available.",
    ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE: "Eligible topic partition leaders are not available.",
    ErrorCode.ELECTION_NOT_NEEDED: "Leader election not needed for topic partition.",
}


class _Asked(NamedTuple):
    """One partition of the request; its result is added to `results`."""

    results: list[Any]
    topic: str
    partition: int


class _Outcome(NamedTuple):
    code: ErrorCode = ErrorCode.NONE
    text: str | None = None


async def handle(context: HandlerContext, request: Request) -> Parts:
    """Elect leaders; if the request asks for all partitions, tell those that need an election.

    Rule: P-146 (ReplicationControlManager.electLeaders).
    See: C-40, X-60.
    """
    body = decode(messages.ElectLeadersRequest, request)
    election = _ELECTIONS.get(body.election_type)
    types = messages.ElectLeadersResponse
    try:
        check_cluster(context, Operation.ALTER)
    except ClusterAuthorizationFailed as error:
        response = _refused(body, request.api_version, _Outcome(error.code, error.message))
        return encode(types, response, request)
    if election is None and body.topic_partitions != []:
        text = f"Unknown election type {body.election_type}"
        response = _refused(body, request.api_version, _Outcome(ErrorCode.INVALID_REQUEST, text))
    elif body.topic_partitions is None:
        response = types(
            replica_election_results=[
                types.ReplicaElectionResult(topic=name) for name in context.cluster.topics
            ]
        )
    else:
        response = types(
            replica_election_results=[
                types.ReplicaElectionResult(topic=asked.topic) for asked in body.topic_partitions
            ]
        )
    if election is not None:
        every = body.topic_partitions is None
        asked_ones = _asked(context.cluster, body, response)
        async for some in in_turns(some_at_a_time(asked_ones, PARTITIONS_AT_A_TIME), at_least=1):
            _elect(context.cluster, some, election, tells_needless=not every)
    return encode(messages.ElectLeadersResponse, response, request)


def _refused(
    body: messages.ElectLeadersRequest, version: int, outcome: _Outcome
) -> messages.ElectLeadersResponse:
    """Refuse the whole request."""
    types = messages.ElectLeadersResponse
    return types(
        error_code=outcome.code if version >= _ERROR_SINCE else ErrorCode.NONE,
        replica_election_results=[
            types.ReplicaElectionResult(
                topic=asked.topic,
                partition_result=[_result(index, outcome) for index in asked.partitions],
            )
            for asked in body.topic_partitions or ()
        ],
    )


def _asked(
    cluster: Cluster,
    body: messages.ElectLeadersRequest,
    response: messages.ElectLeadersResponse,
) -> Iterator[_Asked]:
    """Return the partitions that the request asks for, one by one."""
    results = response.replica_election_results
    if body.topic_partitions is None:
        for result in results:
            topic = cluster.topics.get(result.topic)
            for index in range(0 if topic is None else topic.partition_count):
                yield _Asked(result.partition_result, result.topic, index)
        return
    for asked, result in zip(body.topic_partitions, results, strict=True):
        for index in asked.partitions:
            yield _Asked(result.partition_result, asked.topic, index)


def _elect(
    cluster: Cluster, some: Sequence[_Asked], election: Election, *, tells_needless: bool
) -> None:
    """Elect the leaders of some partitions, and add their results."""
    outcomes: dict[tuple[str, int], _Outcome] = {}
    altered: dict[tuple[str, int], Alteration] = {}
    for _, name, index in some:
        if (name, index) not in outcomes:
            outcomes[name, index] = _plan(cluster, name, index, election, altered)
    try:
        cluster.controller.alter_all(altered.values())
    except KafkaStorageError as error:
        outcomes.update(dict.fromkeys(altered, _Outcome(error.code, error.message)))
    for results, name, index in some:
        outcome = outcomes[name, index]
        if tells_needless or outcome.code is not ErrorCode.ELECTION_NOT_NEEDED:
            results.append(_result(index, outcome))


def _plan(
    cluster: Cluster,
    name: str,
    index: int,
    election: Election,
    altered: dict[tuple[str, int], Alteration],
) -> _Outcome:
    topic = cluster.topics.get(name)
    if topic is None:
        return _Outcome(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}")
    if not 0 <= index < topic.partition_count:
        text = f"No such partition as {name}-{index}"
        return _Outcome(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)
    after = plan_election(cluster, topic, index, election)
    if isinstance(after, ErrorCode):
        return _Outcome(after, _TEXTS[after])
    altered[name, index] = Alteration(topic, index, [after])
    return _Outcome()


def _result(index: int, outcome: _Outcome) -> "messages.ElectLeadersResponse.PartitionResult":
    return messages.ElectLeadersResponse.PartitionResult(
        partition_id=index, error_code=outcome.code, error_message=outcome.text
    )
